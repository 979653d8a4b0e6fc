"""Interfaces out of single facts; sysctls count when both values are known, or one can't be topped."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.dumps.merging_netdevs import NOT_TOLD, netdevs

pytestmark = pytest.mark.unit


def effective(setting: str, **told: int) -> Any:
    values = {f"net.ipv4.conf.{who}.{setting}": value for who, value in told.items()}
    (one,) = netdevs({("netdev", "e0"): {"name": "e0"}, ("sysctl",): values})
    return one[setting]


@pytest.mark.parametrize(
    ("setting", "told", "value"),
    [
        ("rp_filter", {"all": 0, "e0": 1}, 1),
        ("rp_filter", {"all": 1, "e0": 0}, 1),
        ("rp_filter", {"all": 2}, 2),
        ("rp_filter", {"e0": 2}, 2),
        ("rp_filter", {"all": 0}, NOT_TOLD),
        ("arp_ignore", {"all": 1}, NOT_TOLD),
        ("arp_announce", {"all": 2}, 2),
        ("arp_announce", {"e1": 2}, NOT_TOLD),
    ],
)
def test_effective_settings(setting: str, told: dict[str, int], value: Any) -> None:
    assert effective(setting, **told) == value


def test_an_address_makes_its_interface() -> None:
    (one,) = netdevs({("address", "e0"): {"10.0.0.1/24": "global", "fe80::1/64": "link"}})
    assert one["name"] == "e0"
    assert [(entry["ip"], entry["prefix"], entry["family"]) for entry in one["addresses"]] == [
        ("10.0.0.1", 24, "ipv4"), ("fe80::1", 64, "ipv6"),
    ]  # fmt: skip
    assert (one["mtu"], one["qos"], one["ifindex"]) == (NOT_TOLD, NOT_TOLD, 0)


def test_qos_is_unknown_or_whole() -> None:
    (one,) = netdevs({("qos", "e0"): {"trust": "pcp", "source": "mlnx_qos"}})
    assert one["qos"]["trust"] == "pcp"
    assert one["qos"]["pfc"] == NOT_TOLD
    assert one["qos"]["source"] == "mlnx_qos"


def test_order() -> None:
    found = netdevs({("netdev", "b"): {}, ("netdev", "a"): {"ifindex": 7}, ("netdev", "c"): {"ifindex": 2}})
    assert [one["name"] for one in found] == ["c", "a", "b"]


def test_altnames() -> None:
    (one,) = netdevs({("netdev", "e0"): {"name": "e0"}, ("netdev", "e0", "altname"): {"x": "x", "y": "y"}})
    assert one["altnames"] == ["x", "y"]


def test_a_sysctl_of_an_interface_nobody_knows_makes_none() -> None:
    assert netdevs({("sysctl",): {"net.ipv4.conf.e7.rp_filter": 1}}) == []
