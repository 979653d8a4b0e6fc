"""Findings of addresses, routes and neighbours of one node, and addresses that two nodes use."""

from __future__ import annotations

from fabricdoc.model.fabric import Neighbour, Route
from tests.fabrics.altering import set_facts
from tests.fabrics.ill import Alter, Ill, addresses, both, host, on, put
from tests.fabrics.spark import spark_one_cable, spark_ring

A, B, NETDEV = "spark-a", "spark-b", "enp1s0f0np0"


def neighbour(state: str) -> Alter:
    """The other end's address in spark-a's table."""
    return put(A, "node", neighbours=(Neighbour(ip="192.168.100.11", netdev=NETDEV, state=state),))


def default_over(netdev: str, gateway: str) -> Alter:
    """A second default route."""
    more = Route(destination="default", netdev=netdev, gateway=gateway)
    return on(A, lambda node: set_facts(node, {"routes": (*node.routes, more)}))  # type: ignore[misc]


def through_b(forwards: bool) -> Alter:
    """spark-a reaches the far network of a ring through spark-b."""
    route = Route(destination="192.168.102.0/24", netdev=NETDEV, gateway="192.168.100.11")
    routed = on(A, lambda node: set_facts(node, {"routes": (*node.routes, route)}))  # type: ignore[misc]
    return both(routed, host(B, ip_forward=forwards))


def kept(told: str) -> Alter:
    return put(A, "netdev", NETDEV, persistence=told)


def home(address: str) -> Alter:
    """The address of spark-a's port to the home network."""
    return put(A, "netdev", "enP7s7", addresses=addresses(address))


ILL = {
    "fabric-network-overlaps": Ill(spark_one_cable, home("192.168.100.50/25"), home("192.168.100.50/23")),
    "default-route-on-fabric": Ill(
        spark_one_cable, default_over(NETDEV, "192.168.100.1"), default_over("enP7s7", "192.168.1.2")
    ),
    "neighbour-silent": Ill(spark_one_cable, neighbour("failed"), neighbour("stale")),
    "ring-forwarding-off": Ill(spark_ring, through_b(False), through_b(True)),
    "address-not-persistent": Ill(
        spark_one_cable, kept("not found in /etc/netplan"), kept("its address is a lease (/run/systemd/netif)")
    ),
    "duplicate-address": Ill(
        spark_one_cable,
        put(B, "netdev", NETDEV, addresses=addresses("192.168.100.10/24")),
        put(B, "netdev", NETDEV, addresses=addresses("192.168.100.101/24")),
    ),
}
