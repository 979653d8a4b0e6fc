"""Effective IPv4 settings: the larger of `all` and the interface's own, from the kernel's array."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.probes import links, sysctls
from fabricdoc.probes.facts import READ_ERRORS
from tests.netlink_messages import inet_conf, nest, words
from tests.sysfs import write

pytestmark = pytest.mark.unit

ALL = {"rp_filter": 1, "arp_ignore": 0, "arp_announce": 2}


def test_the_interfaces_own_values_are_in_its_message() -> None:
    spec = inet_conf(rp_filter=2, arp_announce=1, arp_ignore=8)
    assert sysctls.own_values(spec) == {"rp_filter": 2, "arp_announce": 1, "arp_ignore": 8}


def test_an_interface_without_ipv4_has_none() -> None:
    assert sysctls.own_values(b"") == {}
    assert sysctls.own_values(nest([(10, nest([(1, words(0))]))])) == {}


def test_an_older_kernels_shorter_array_gives_what_it_holds() -> None:
    assert sysctls.own_values(nest([(2, nest([(1, words(*range(1, 9)))]))])) == {"rp_filter": 8}


def test_the_larger_value_counts() -> None:
    assert sysctls.effective({"rp_filter": 2, "arp_ignore": 1, "arp_announce": 0}, ALL) == {
        "rp_filter": 2,
        "arp_ignore": 1,
        "arp_announce": 2,
    }


def test_a_half_that_is_not_known_makes_the_whole_unknown() -> None:
    unreadable = {"unknown": "/proc/sys/net/ipv4/conf/all/rp_filter: Permission denied"}
    found = sysctls.effective({"rp_filter": 2, "arp_ignore": 1}, {**ALL, "rp_filter": unreadable})
    assert found == {
        "rp_filter": unreadable,
        "arp_ignore": 1,
        "arp_announce": {"unknown": "the interface has no IPv4 configuration"},
    }


def test_the_values_for_all_are_files(tmp_path: Path) -> None:
    base = "proc/sys/net/ipv4/conf/all"
    write(tmp_path, {f"{base}/rp_filter": "1", f"{base}/arp_ignore": "x"})
    found = sysctls.read_all(str(tmp_path))
    assert found["rp_filter"] == 1
    assert "invalid literal" in found["arp_ignore"]["unknown"]
    assert "No such file" in found["arp_announce"]["unknown"]


def test_the_numbers_are_those_of_this_machines_header() -> None:
    header = Path("/usr/include/linux/ip.h")
    if not header.exists():
        pytest.skip("linux-libc-dev is not installed")
    names = re.findall(r"IPV4_DEVCONF_(\w+)(?:=1)?,", header.read_text())
    for name, number in sysctls.NUMBERS.items():
        assert names.index(name.upper()) + 1 == number, name


def test_this_kernels_message_agrees_with_its_files() -> None:
    for link in links.read_links():
        for name, value in link.own_sysctls.items():
            path = Path(f"/proc/sys/net/ipv4/conf/{link.fields['name']}/{name}")
            assert int(path.read_text()) == value, path


@given(st.binary(max_size=160))
def test_any_bytes_are_values_or_an_error_that_a_fact_can_hold(data: bytes) -> None:
    for spec in (data, nest([(2, data)]), nest([(2, nest([(1, data)]))])):
        try:
            found = sysctls.own_values(spec)
        except READ_ERRORS:
            continue
        assert set(found) <= set(sysctls.NUMBERS)
