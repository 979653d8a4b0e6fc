"""RTM_NEWLINK messages: the kernel's fields, VLAN, macvlan and bond membership, IPv4 settings, hostile bytes."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.probes import links
from fabricdoc.probes.facts import READ_ERRORS, is_unknown
from tests.netlink_messages import Attributes, inet_conf, link_body, nest, words

pytestmark = pytest.mark.unit

MAC = bytes.fromhex("4ebcea000001")
NAME = (3, b"enp1s0f0np0\0")


def read(attributes: Attributes = (), index: int = 4) -> links.Link:
    return links.link(link_body(index, [NAME, *attributes]))


def kind(name: bytes, data: Attributes = ()) -> tuple[int, bytes]:
    return 18, nest([(1, name + b"\0"), (2, nest(data))])


def test_a_port_is_what_the_kernel_says() -> None:
    found = read(
        [
            (1, MAC),
            (4, words(9000)),
            (16, b"\6"),
            (33, b"\1"),
            (35, words(3)),
            (38, b"p0\0"),
            (52, nest([(53, b"spark-left\0"), (53, b"enxaabb\0")])),
            (56, b"0000:01:00.0\0"),
            (57, b"pci\0"),
            (26, inet_conf(rp_filter=2, arp_ignore=1, arp_announce=3)),
        ]
    )
    assert found.fields == {
        "name": "enp1s0f0np0",
        "ifindex": 4,
        "mac": "4e:bc:ea:00:00:01",
        "mtu": 9000,
        "carrier": True,
        "operstate": "up",
        "carrier_changes": 3,
        "phys_port_name": "p0",
        "kind": None,
        "altnames": ["spark-left", "enxaabb"],
        "vlan_id": None,
        "bond_mode": None,
    }
    assert found[1:] == (0, 0, False, ("pci", "0000:01:00.0"), {"rp_filter": 2, "arp_ignore": 1, "arp_announce": 3})


def test_what_the_kernel_leaves_out_is_unknown() -> None:
    found = read()
    for name in ("mac", "mtu", "carrier", "carrier_changes", "phys_port_name"):
        assert is_unknown(found.fields[name]), name
    assert found.fields["operstate"] == "unknown"
    assert (found.parent, found.own_sysctls) == (("", ""), {})


@pytest.mark.parametrize(("state", "word"), [(2, "down"), (3, "lowerlayerdown"), (5, "dormant"), (6, "up")])
def test_operstates_are_sysfs_words(state: int, word: str) -> None:
    assert read([(16, bytes([state]))]).fields["operstate"] == word
    assert is_unknown(read([(16, b"\x63")]).fields["operstate"])


def test_a_vlan_has_its_number_and_what_it_sits_on() -> None:
    found = read([(5, words(4)), kind(b"vlan", [(1, struct.pack("=H", 4094))])], index=9)
    assert (found.fields["kind"], found.fields["vlan_id"], found.lower, found.elsewhere) == ("vlan", 4094, 4, False)


@pytest.mark.parametrize("name", [b"macvlan", b"ipvlan", b"macvtap"])
def test_other_stacked_interfaces_have_what_they_sit_on(name: bytes) -> None:
    found = read([(5, words(4)), kind(name, [(1, b"\4\0\0\0")])])
    assert (found.lower, found.fields["vlan_id"], found.fields["bond_mode"]) == (4, None, None)


def test_what_is_below_may_be_in_another_namespace() -> None:
    assert read([(5, words(4)), (37, words(0)), kind(b"macvlan")]).elsewhere is True


@pytest.mark.parametrize("name", [b"veth", b"netkit", b"gre"])
def test_a_peer_is_nothing_to_sit_on(name: bytes) -> None:
    assert read([(5, words(7)), kind(name)]).lower == 0


@pytest.mark.parametrize(
    ("number", "word"), [(0, "balance-rr"), (1, "active-backup"), (4, "802.3ad"), (6, "balance-alb"), (7, "mode 7")]
)
def test_bond_modes_are_the_bonding_drivers_words(number: int, word: str) -> None:
    assert read([kind(b"bond", [(1, bytes([number]))])]).fields["bond_mode"] == word


def test_a_member_knows_its_master() -> None:
    assert read([(10, words(9)), (18, nest([(4, b"bond\0")]))]).master == 9


@pytest.mark.parametrize(("name", "word"), [("vlan", "vlan"), ("bond", "bond")])
def test_a_kind_without_data_has_no_number(name: str, word: str) -> None:
    found = read([(18, nest([(1, name.encode())]))])
    assert (found.fields["kind"], found.fields["vlan_id"], found.fields["bond_mode"]) == (word, None, None)


def test_numbers_are_those_of_this_machines_header() -> None:
    header = Path("/usr/include/linux/if_link.h")
    if not header.exists():
        pytest.skip("linux-libc-dev is not installed")
    text = header.read_text()
    names = re.findall(r"^\s*(IFLA_\w+),", text[text.index("IFLA_UNSPEC,") : text.index("__IFLA_MAX")], re.MULTILINE)
    for name in ("AF_SPEC", "EXT_MASK", "LINK", "LINK_NETNSID", "PARENT_DEV_NAME", "PARENT_DEV_BUS_NAME", "PROP_LIST"):
        assert names.index(f"IFLA_{name}") == getattr(links, f"IFLA_{name}"), name


def test_this_kernels_interfaces_are_read() -> None:
    found = {one.fields["name"]: one for one in links.read_links()}
    assert found["lo"].fields["ifindex"] >= 1
    assert set(found["lo"].own_sysctls) == {"rp_filter", "arp_ignore", "arp_announce"}


@given(st.binary(max_size=200), st.booleans())
def test_any_bytes_are_a_link_or_an_error_that_a_fact_can_hold(data: bytes, led: bool) -> None:
    body = link_body(4, [NAME]) + data if led else data
    try:
        found = links.link(body)
    except READ_ERRORS:
        return
    assert isinstance(found.fields["name"], str)


@given(st.lists(st.tuples(st.sampled_from([1, 4, 5, 10, 16, 18, 26, 33, 35, 37, 38, 52, 57]), st.binary(max_size=40))))
def test_attributes_of_any_length_are_read_or_refused(attributes: list[tuple[int, bytes]]) -> None:
    try:
        found = read(attributes)
    except READ_ERRORS:
        return
    assert found.fields["ifindex"] == 4
