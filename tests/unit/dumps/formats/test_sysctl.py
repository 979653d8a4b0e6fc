"""sysctl: the settings that decide ARP, and names."""

from __future__ import annotations

import pytest

from fabricdoc.dumps.formats.sysctl import setting
from tests.unit.dumps.texts import facts, fixture, tools

pytestmark = pytest.mark.unit

TEXT = fixture("sysctl.txt")


def test_everything() -> None:
    assert facts(TEXT) == {
        ("sysctl", "net.ipv4.conf.all.arp_ignore"): 1,
        ("sysctl", "net.ipv4.conf.all.rp_filter"): 2,
        ("sysctl", "net.ipv4.conf.enp1s0f0np0.arp_ignore"): 0,
        ("sysctl", "net.ipv4.conf.enp1s0f0np0.40.rp_filter"): 1,
        ("host", "ip_forward"): True,
        ("host", "hostname"): "spark-a",
    }
    assert tools(TEXT) == [("sysctl", 1, 7)]


def test_forwarding_is_on_or_off() -> None:
    assert facts("net.ipv4.ip_forward = 0\n") == {("host", "ip_forward"): False}


@pytest.mark.parametrize(
    ("name", "value"), [("net.ipv4.conf.all.rp_filter", "x"), ("net.ipv4.ip_forward", "7"), ("a.b", "1")]
)
def test_what_tells_nothing(name: str, value: str) -> None:
    assert setting(name, value, 1) == []


def test_settings_of_any_other_kind_stand_in_the_same_output() -> None:
    text = "abi.vsyscall32 = 1\ncrypto.fips_enabled = 0\nsunrpc.tcp_max_slots = 65536\nnet.ipv4.ip_forward = 1\n"
    assert tools(text) == [("sysctl", 1, 4)]
    assert facts(text) == {("host", "ip_forward"): True}


@pytest.mark.parametrize("name", ["kernel.hostname", "kernel.osrelease", "kernel.random.boot_id"])
def test_names_of_the_host(name: str) -> None:
    (told,) = setting(name, "x-1", 4)
    assert (told.path[0], told.value, told.line) == ("host", "x-1", 4)
    assert setting(name, "", 4) == []


def test_an_interface_with_a_dot_is_written_with_a_slash() -> None:
    (told,) = setting("net.ipv4.conf.enp1s0f0np0/40.arp_announce", "2", 1)
    assert told.path == ("sysctl", "net.ipv4.conf.enp1s0f0np0.40.arp_announce")


@pytest.mark.parametrize(
    "name", ["net.ipv6.conf.all.rp_filter", "net.ipv4.conf.all.rp_filters", "net.ipv4.conf.all.mtu"]
)
def test_other_settings_are_passed_over(name: str) -> None:
    assert setting(name, "1", 1) == []
