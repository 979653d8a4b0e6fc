"""Routes and networks of one node, and forwarding for others."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.checks.routing import check_routing
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Address, Fabric, Neighbour, Netdev, Route
from tests.fabrics.altering import changed
from tests.fabrics.recorded import RECORDED
from tests.fabrics.servers import eight_rail_servers
from tests.fabrics.spark import spark_one_cable, spark_ring
from tests.unit.checks.judged import ids, only, texts

pytestmark = pytest.mark.unit

PORT, LAN = "enp1s0f0np0", "enP7s7"


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_fabrics_are_silent(name: str) -> None:
    assert ids(check_routing, RECORDED[name]()) == []


def lan(ip: str, prefix: int, **facts: Any) -> Fabric:
    addresses = (Address(ip=ip, prefix=prefix, family="ipv4"),)
    return changed(spark_one_cable(), "spark-a", "netdev", LAN, addresses=addresses, **facts)


@pytest.mark.parametrize(
    ("ip", "prefix", "told"),
    [
        ("192.168.100.77", 24, True),  # the home network that everybody's guide uses too
        ("192.168.0.5", 16, False),  # wider: the port's own /24 wins
        ("192.168.100.200", 25, True),  # a part of the port's /24
        ("192.168.99.5", 24, False),
        ("192.168.100.77", 32, False),
    ],
)
def test_a_home_network_that_is_the_fabrics_too(ip: str, prefix: int, told: bool) -> None:
    found = {one[:3] for one in ids(check_routing, lan(ip, prefix))}
    assert (("fabric-network-overlaps", "error", f"spark-a/{PORT}") in found) is told


def test_the_overlap_is_shown_with_both_ends() -> None:
    found = only(check_routing, lan("192.168.100.77", 24), "fabric-network-overlaps")
    assert texts(found) == [f"{PORT} 192.168.100.10/24 (HCA rocep1s0f0)", f"{LAN} 192.168.100.0/24"]
    assert f"sudo ip addr del 192.168.100.10/24 dev {PORT}" in found.fix


@pytest.mark.parametrize(
    "facts", [{"carrier": False}, {"kind": "bridge"}, {"kind": "tun"}, {"lower": PORT}, {"name": "lo"}]
)
def test_interfaces_that_lead_nowhere_or_are_the_port_itself_do_not_count(facts: dict[str, Any]) -> None:
    assert ids(check_routing, lan("192.168.100.77", 24, **facts)) == []


def test_link_local_networks_are_the_same_everywhere() -> None:
    fabric = lan("169.254.9.9", 16)
    address = (Address(ip="169.254.1.1", prefix=16, family="ipv4", scope="link"),)
    assert ids(check_routing, changed(fabric, "spark-a", "netdev", PORT, addresses=address)) == []


def routed(fabric: Fabric, node: str, *routes: Route, keep: bool = True) -> Fabric:
    one = next(each for each in fabric.nodes if each.name == node)
    assert not isinstance(one.routes, Unknown)
    return changed(fabric, node, "node", routes=(*(one.routes if keep else ()), *routes))


def test_a_second_default_route_over_the_fabric() -> None:
    fabric = routed(spark_one_cable(), "spark-a", Route(destination="default", netdev=PORT, gateway="192.168.100.1"))
    found = only(check_routing, fabric, "default-route-on-fabric")
    assert (found.severity, found.subject) == ("warning", f"spark-a/{PORT}")
    assert texts(found) == [f"default via 192.168.100.1 dev {PORT}", f"default via 192.168.1.1 dev {LAN}"]
    assert found.fix[1] == f"sudo ip route del default dev {PORT}"


def test_the_only_default_route_over_a_sparks_fabric_beside_a_lan() -> None:
    route = Route(destination="default", netdev=PORT)
    fabric = routed(spark_one_cable(), "spark-a", route, keep=False)
    assert ids(check_routing, fabric) == [("default-route-on-fabric", "warning", f"spark-a/{PORT}")]
    offline = changed(fabric, "spark-a", "netdev", LAN, carrier=False)
    assert ids(check_routing, offline) == []


def test_a_server_may_be_managed_over_a_roce_nic() -> None:
    fabric = eight_rail_servers(1)
    hcas = fabric.nodes[0].hcas
    assert not isinstance(hcas, Unknown)
    route = Route(destination="default", netdev=str(hcas[0].ports[0].netdev), gateway="10.1.0.254")
    assert ids(check_routing, routed(fabric, "server-001", route, keep=False)) == []


def test_an_ipv6_default_route_or_unread_ones_say_nothing() -> None:
    route = Route(destination="default", netdev=PORT, gateway="fe80::1", family="ipv6")
    assert ids(check_routing, routed(spark_one_cable(), "spark-a", route)) == []
    assert ids(check_routing, changed(spark_one_cable(), "*", "node", routes=Unknown(unknown="x"))) == []


@pytest.mark.parametrize(
    ("netdev", "ip", "state", "told"),
    [
        (PORT, "192.168.100.11", "failed", True),
        (PORT, "192.168.100.11", "FAILED", True),
        (PORT, "192.168.100.11", "stale", False),
        (PORT, "fe80::11", "failed", False),
        (LAN, "192.168.1.9", "failed", False),
    ],
)
def test_neighbours_that_did_not_answer(netdev: str, ip: str, state: str, told: bool) -> None:
    known = (Neighbour(ip=ip, netdev=netdev, state=state),)
    fabric = changed(spark_one_cable(), "spark-a", "node", neighbours=known)
    assert ids(check_routing, fabric) == ([("neighbour-silent", "info", "spark-a")] if told else [])
    if told:
        assert only(check_routing, fabric, "neighbour-silent").fix[1] == f"ping -c 3 -I {PORT} {ip}"
    assert ids(check_routing, changed(fabric, "*", "node", neighbours=Unknown(unknown="x"))) == []


def ring(*, forwards: Any, gateway: str | None = None) -> Fabric:
    """spark-a reaches the far link by spark-b, whose port of the shared cable is the gateway."""
    fabric = spark_ring()
    here = {network(ip): (name, ip) for name, ip in _addresses(fabric, "spark-a").items()}
    there = {network(ip): ip for ip in _addresses(fabric, "spark-b").values()}
    shared = next(net for net in here if net in there)
    route = Route(destination="192.168.250.0/24", netdev=here[shared][0], gateway=gateway or there[shared])
    fabric = routed(fabric, "spark-a", route)
    return changed(fabric, "spark-b", "host", ip_forward=forwards)


def network(ip: str) -> str:
    return ip.rpartition(".")[0]


def _addresses(fabric: Fabric, node: str) -> dict[str, str]:
    one = next(each for each in fabric.nodes if each.name == node)
    assert not isinstance(one.netdevs, Unknown)
    ports: tuple[Netdev, ...] = one.netdevs
    return {port.name: port.addresses[0].ip for port in ports if port.name.startswith("enp1") and port.addresses}


def test_a_ring_needs_forwarding() -> None:
    found = only(check_routing, ring(forwards=False), "ring-forwarding-off")
    assert (found.severity, found.subject) == ("error", "spark-b")
    assert "is a gateway of spark-a" in texts(found)[0]
    assert "sudo sysctl -w net.ipv4.ip_forward=1" in found.fix


@pytest.mark.parametrize("forwards", [True, Unknown(unknown="x")])
def test_a_node_that_forwards_or_may_do_so_is_well(forwards: Any) -> None:
    assert ids(check_routing, ring(forwards=forwards)) == []


def test_a_gateway_that_is_no_node_and_no_routes_through_are_well() -> None:
    assert ids(check_routing, ring(forwards=False, gateway="192.168.100.254")) == []
    assert ids(check_routing, changed(spark_ring(), "*", "host", ip_forward=False)) == []
