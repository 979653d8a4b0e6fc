"""Addresses that come back after a reboot, in the words of the probe."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.checks.persistence import check_persistence
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Address
from tests.fabrics.altering import changed
from tests.fabrics.recorded import RECORDED
from tests.fabrics.spark import spark_one_cable
from tests.unit.checks.judged import ids, only, texts

pytestmark = pytest.mark.unit

SEARCHED = "not found in netplan, systemd-networkd, NetworkManager, ifupdown, ifcfg"
PORT = "enp1s0f0np0"


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_fabrics_are_silent(name: str) -> None:
    assert ids(check_persistence, RECORDED[name]()) == []


@pytest.mark.parametrize(
    ("told", "lost"),
    [
        (SEARCHED, True),
        (f"{SEARCHED}; /run/systemd/network/10-x.network ends with the boot", True),
        ("/etc/netplan/40-cx7.yaml names it, without its address", True),
        ("/etc/netplan/40-cx7.yaml holds 192.168.100.10, not 192.168.100.99", True),
        ("/etc/netplan/40-cx7.yaml holds 192.168.100.10", False),
        ("/etc/netplan/40-cx7.yaml asks for a lease (DHCP)", False),
        ("its address is a lease (DHCP); not named in netplan", False),
        ("/etc/netplan/40-cx7.yaml is named after it and may not be read", False),
        (Unknown(unknown="inside a container (docker): the host's files are not seen"), False),
    ],
)
def test_the_words_of_the_probe(told: Any, lost: bool) -> None:
    fabric = changed(spark_one_cable(), "spark-a", "netdev", PORT, persistence=told)
    assert ids(check_persistence, fabric) == ([("address-not-persistent", "warning", "spark-a")] if lost else [])


def test_the_fix_is_a_file_for_netplan_with_all_lost_ports() -> None:
    fabric = changed(spark_one_cable(), "spark-a", "netdev", "*", persistence=SEARCHED)
    found = only(check_persistence, fabric, "address-not-persistent")
    assert texts(found)[1] == f"{PORT} 192.168.100.10/24: {SEARCHED}"
    assert found.fix[1:] == (
        "network: {version: 2, ethernets: {",
        "  enP2p1s0f0np0: {dhcp4: no, link-local: [], mtu: 9000, addresses: [192.168.101.10/24]},",
        "  enp1s0f0np0: {dhcp4: no, link-local: [], mtu: 9000, addresses: [192.168.100.10/24]},",
        "}}",
    )


def test_an_unknown_mtu_is_left_out_of_the_file() -> None:
    fabric = changed(spark_one_cable(), "spark-a", "netdev", PORT, persistence=SEARCHED, mtu=Unknown(unknown="x"))
    line = only(check_persistence, fabric, "address-not-persistent").fix[2]
    assert line == f"  {PORT}: {{dhcp4: no, link-local: [], addresses: [192.168.100.10/24]}},"


@pytest.mark.parametrize(
    "addresses",
    [
        (),
        (Address(ip="169.254.7.8", prefix=16, family="ipv4", scope="link"),),
        (Address(ip="fe80::1", prefix=64, family="ipv6", scope="link"),),
    ],
)
def test_what_comes_by_itself_can_not_be_lost(addresses: tuple[Address, ...]) -> None:
    fabric = changed(spark_one_cable(), "spark-a", "netdev", PORT, persistence=SEARCHED, addresses=addresses)
    assert ids(check_persistence, fabric) == []


def test_ports_that_are_no_fabric_are_the_users_matter() -> None:
    assert ids(check_persistence, changed(spark_one_cable(), "*", "netdev", "enP7s7", persistence=SEARCHED)) == []
