"""Objects of `ip -j` of any shape: what is there is told, what is of a wrong type is passed over."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.dumps.formats import ip_json

pytestmark = pytest.mark.unit

JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
KEYS = (
    "ifname", "ifindex", "flags", "mtu", "address", "operstate", "master", "link", "linkinfo", "altnames", "addr_info",
    "dst", "dev", "gateway", "prefsrc", "table", "state", "lladdr", "priority", "src", "srclen", "phys_port_name",
)  # fmt: skip


@pytest.mark.long
@given(st.dictionaries(st.sampled_from(KEYS), JSON, max_size=8))
def test_any_object_is_read(found: dict[str, Any]) -> None:
    for read in (ip_json.interface, ip_json.route, ip_json.neighbour, ip_json.rule):
        list(read(found, 1))


def test_an_interface_needs_its_name() -> None:
    assert list(ip_json.interface({"mtu": 1500}, 1)) == []


def test_a_bond_tells_its_mode() -> None:
    found = {"ifname": "bond0", "linkinfo": {"info_kind": "bond", "info_data": {"mode": "802.3ad"}}}
    told = {one.path[2]: one.value for one in ip_json.interface(found, 4)}
    assert (told["kind"], told["bond_mode"]) == ("bond", "802.3ad")
    assert {one.line for one in ip_json.interface(found, 4)} == {4}


def test_small_readers() -> None:
    found = {"a": "x", "b": 5, "c": True, "d": 1 << 70}
    assert [ip_json.text(found, key) for key in "abz"] == ["x", "", ""]
    assert [ip_json.integer(found, key) for key in "abcdz"] == [None, 5, None, None, None]
    assert ip_json.objects([{"a": 1}, 2, None]) == [{"a": 1}]
    assert ip_json.objects({"a": 1}) == []


# --- every key by itself ---------------------------------------------------------------------------------------------


def of_netdev(**keys: Any) -> dict[tuple[object, ...], object]:
    """What an interface called e0 tells, by field (or field and name)."""
    told = ip_json.interface({"ifname": "e0", **keys}, 7)
    return {one.path[2:]: one.value for one in told if one.path != ("netdev", "e0", "name")}


@pytest.mark.parametrize(
    ("keys", "field", "value"),
    [
        ({"ifindex": 3}, "ifindex", 3),
        ({"mtu": 9000}, "mtu", 9000),
        ({"address": "0A:0b:0c:03:11:10"}, "mac", "0a:0b:0c:03:11:10"),
        ({"operstate": "UP"}, "operstate", "up"),
        ({"master": "bond0"}, "master", "bond0"),
        ({"link": "e1"}, "lower", "e1"),
        ({"phys_port_name": "p1"}, "phys_port_name", "p1"),
        ({"parentbus": "pci", "parentdev": "0000:01:00.0"}, "pci", "0000:01:00.0"),
        ({"linkinfo": {"info_kind": "veth"}}, "kind", "veth"),
        ({"linkinfo": {"info_kind": "vlan", "info_data": {"id": 40}}}, "vlan_id", 40),
        ({"linkinfo": {"info_kind": "bond", "info_data": {"mode": "active-backup"}}}, "bond_mode", "active-backup"),
    ],
)
def test_each_key_of_an_interface(keys: dict[str, Any], field: str, value: object) -> None:
    assert of_netdev(**keys)[(field,)] == value


@pytest.mark.parametrize(
    "keys",
    [
        {"mtu": "9000"},
        {"mtu": True},
        {"mtu": 1 << 63},
        {"address": "fe80::1"},
        {"operstate": ""},
        {"parentbus": "usb", "parentdev": "0000:01:00.0"},
        {"parentdev": "0000:01:00.0"},
        {"linkinfo": [1]},
        {"linkinfo": {"info_data": {"id": 4, "mode": "x"}}},
        {"altnames": "rail0"},
        {"altnames": [4]},
        {"addr_info": {"local": "10.0.0.1"}},
    ],
)
def test_what_an_interface_does_not_tell(keys: dict[str, Any]) -> None:
    assert set(of_netdev(**keys)) <= {("carrier",)}


def test_a_vlans_and_a_bonds_data_are_not_mixed_up() -> None:
    mixed = {"info_data": {"id": 40, "mode": "802.3ad"}}
    assert ("bond_mode",) not in of_netdev(linkinfo={"info_kind": "vlan", **mixed})
    assert ("vlan_id",) not in of_netdev(linkinfo={"info_kind": "bond", **mixed})
    assert set(of_netdev(linkinfo={"info_kind": "bridge", **mixed})) <= {("kind",), ("carrier",)}


def test_a_carrier_is_told_by_flags_alone() -> None:
    assert of_netdev(flags=["UP", "LOWER_UP"]).get(("carrier",)) is True
    assert of_netdev(flags=["UP", "NO-CARRIER"]).get(("carrier",)) is False


def test_addresses_and_other_names_are_each_a_fact() -> None:
    addresses = [
        {"family": "inet", "local": "10.77.0.1", "prefixlen": 24, "scope": "global"},
        {"family": "inet6", "local": "fe80::1", "prefixlen": 64, "scope": "link"},
        {"local": "10.77.0.300", "prefixlen": 24},
        {"local": "10.77.0.5", "prefixlen": 64},
        "10.77.0.6",
    ]
    told = [one.path for one in ip_json.interface({"ifname": "e0", "altnames": ["rail0"], "addr_info": addresses}, 1)]
    assert [path[2] for path in told if path[0] == "address"] == ["10.77.0.1/24", "fe80::1/64"]
    assert ("netdev", "e0", "altname", "rail0") in told


# --- routes, rules, neighbours ---------------------------------------------------------------------------------------


def one_value(read: Any, **keys: Any) -> Any:
    """The one fact of an object, None where it tells none."""
    found = [one.value for one in read(keys, 3)]
    assert len(found) < 2
    return found[0] if found else None


def test_a_route_needs_its_interface_and_the_main_table() -> None:
    route = {"dst": "10.0.0.0/8", "dev": "e0", "gateway": "10.0.0.1", "prefsrc": "10.0.0.2"}
    told = one_value(ip_json.route, **route)
    assert told == {
        "destination": "10.0.0.0/8", "netdev": "e0", "gateway": "10.0.0.1", "source": "10.0.0.2", "family": "ipv4"
    }  # fmt: skip
    assert one_value(ip_json.route, **route, table="main") == told
    assert one_value(ip_json.route, **{**route, "table": "77"}) is None
    assert one_value(ip_json.route, **{**route, "dev": None}) is None
    assert one_value(ip_json.route, **{**route, "gateway": {"family": "inet6"}})["gateway"] is None


def test_a_neighbour_needs_its_interface() -> None:
    entry = {"dst": "10.0.0.9", "dev": "e0", "state": ["STALE", 4], "lladdr": "02:00:00:00:00:09"}
    assert one_value(ip_json.neighbour, **entry) == {
        "ip": "10.0.0.9", "netdev": "e0", "mac": "02:00:00:00:00:09", "state": "stale"
    }  # fmt: skip
    assert one_value(ip_json.neighbour, **{**entry, "dev": ""}) is None
    assert one_value(ip_json.neighbour, **{**entry, "state": "STALE"})["state"] == ""


@pytest.mark.parametrize(
    ("keys", "selector"),
    [
        ({"src": "all"}, ""),
        ({"src": "10.0.0.1"}, "from 10.0.0.1"),
        ({"src": "10.0.0.0", "srclen": 8}, "from 10.0.0.0/8"),
        ({"src": "all", "fwmark": "0x1"}, "fwmark 0x1"),
        ({"src": "all", "fwmark": "0x1", "fwmask": "0xff"}, "fwmark 0x1/0xff"),
        ({"src": "all", "iif": "e0"}, "iif e0"),
        ({"src": "all", "dst": "10.1.0.0", "dstlen": 16, "oif": "e1"}, "to 10.1.0.0/16 oif e1"),
        ({"src": "all", "not": None, "fwmark": "0xca6c"}, "not fwmark 0xca6c"),
        ({"src": "all", "suppress_prefixlen": 0}, "suppress_prefixlength 0"),
    ],
)
def test_a_rule_for_some_packets_is_not_taken_for_one_for_all(keys: dict[str, Any], selector: str) -> None:
    told = one_value(ip_json.rule, priority=9, table="77", **keys)
    assert told == {"priority": 9, "table": 77, "selector": selector, "family": "ipv4"}


def test_a_rule_needs_its_priority_and_a_table_that_has_a_number() -> None:
    assert one_value(ip_json.rule, src="all", table="main") is None
    assert one_value(ip_json.rule, src="all", priority=1, table="vpn") is None
    assert one_value(ip_json.rule, src="fe80::", srclen=10, priority=1, table="local")["family"] == "ipv6"


@pytest.mark.parametrize(("value", "read"), [((1 << 63) - 1, (1 << 63) - 1), (1 << 63, None), (-(1 << 63), None)])
def test_numbers_are_bounded(value: int, read: int | None) -> None:
    assert ip_json.integer({"a": value}, "a") == read
