"""Findings of ports, links and MTUs as nodes tell them, and of the two ends of a cable."""

from __future__ import annotations

from fabricdoc.model.fabric import Fabric
from tests.fabrics.altering import set_facts
from tests.fabrics.ill import NOT_READ, Alter, Ill, addresses, both, more_netdevs, put, same, without_links
from tests.fabrics.parts import plain_netdev
from tests.fabrics.servers import eight_rail_servers, rail
from tests.fabrics.spark import (
    spark_one_cable,
    spark_one_crossed,
    spark_ring,
    spark_straight,
    spark_twins_one_subnet,
)

A, B = "spark-a", "spark-b"
HCA, TWIN = "rocep1s0f0", "roceP2p1s0f0"
NETDEV, OTHER = "enp1s0f0np0", "enP2p1s0f0np0"
CAGE_1, ITS_TWIN = "enp1s0f1np1", "enP2p1s0f1np1"
LIKE = (((0, 0), (1, 0)), ((1, 1), (2, 1)), ((2, 0), (0, 1)))


def port(node: str = A, hca: str = TWIN, **facts: object) -> Alter:
    return put(node, "port", hca, **facts)


def netdev(node: str = A, name: str = OTHER, **facts: object) -> Alter:
    return put(node, "netdev", name, **facts)


def twins(node: str, **facts: object) -> Alter:
    """Both interfaces of cage 0."""
    return both(netdev(node, NETDEV, **facts), netdev(node, OTHER, **facts))


def no_carrier(**more: object) -> Alter:
    return both(netdev(carrier=False, operstate="down"), port(**more))


def bonded(*members: str) -> Alter:
    """bond0 over these interfaces of spark-a."""
    bond = plain_netdev("bond0", 30, mac="fc:4c:ea:f9:42:30", kind="bond", mbps=200_000)
    return both(
        more_netdevs(A, set_facts(bond, {"bond_mode": "802.3ad"})), *(netdev(A, m, master="bond0") for m in members)
    )


def lag(stands_for: str | None) -> Alter:
    """bond0 over rails 6 and 7 of server-001; its HCA says so or not."""
    bond = plain_netdev("bond0", 30, mac="02:00:00:00:00:30", kind="bond", mbps=400_000)
    members = (put("server-001", "netdev", rail(0, k).netdev, master="bond0") for k in (6, 7))
    return both(more_netdevs("server-001", bond), *members, put("server-001", "hca", "mlx5_7", bond=stands_for))


def swapped(node: str) -> Alter:
    """The addresses of the two cages of a node of the straight pair exchanged."""
    number = 10 + "ab".index(node[-1])
    homes = ((NETDEV, 102), (OTHER, 103), (CAGE_1, 100), (ITS_TWIN, 101))
    return both(*(netdev(node, name, addresses=addresses(f"192.168.{net}.{number}/24")) for name, net in homes))


def cage_1_unlinked(fabric: Fabric) -> Fabric:
    assert isinstance(fabric.links, tuple)
    return fabric.model_copy(update={"links": tuple(one for one in fabric.links if "f0" in one.a.netdev)})


ALL_DOWN = both(*(port(A, hca, state="DOWN") for hca in (HCA, TWIN)), twins(A, carrier=False, operstate="down"))
ILL = {
    "no-active-port": Ill(spark_one_cable, ALL_DOWN, both(ALL_DOWN, port(A, HCA, state=NOT_READ))),
    "twin-port-down": Ill(spark_one_cable, no_carrier(state="DOWN"), no_carrier(state=NOT_READ)),
    "port-down-netdev-up": Ill(spark_one_cable, port(state="DOWN"), no_carrier(state="DOWN")),
    "link-flap": Ill(spark_one_cable, netdev(carrier_changes=200), netdev(carrier_changes=143)),  # 24 h: 6 an hour
    "twin-speed-differs": Ill(spark_one_cable, netdev(speed_mbps=100_000), netdev(speed_mbps=NOT_READ)),
    "link-speed-low": Ill(spark_one_cable, twins(A, speed_mbps=100_000), twins(A, speed_mbps=NOT_READ)),
    "rate-speed-mismatch": Ill(spark_one_cable, port(rate_gbps=100.0), port(rate_gbps=150.0)),
    "half-duplex": Ill(spark_one_cable, netdev(duplex="half"), netdev(duplex="full")),
    "twin-mtu-differs": Ill(spark_one_cable, netdev(mtu=1500), twins(A, mtu=1500)),
    "active-mtu-low": Ill(spark_one_cable, port(active_mtu=1024), port(active_mtu=1024, max_mtu=1024)),
    "roce-mtu-small": Ill(spark_one_cable, twins(A, mtu=2143), twins(A, mtu=2144)),
    "mtu-mismatch": Ill(spark_one_cable, twins(B, mtu=1500), both(twins(A, mtu=1500), twins(B, mtu=1500))),
    "bond-over-twins": Ill(spark_one_cable, bonded(NETDEV, OTHER), bonded("enP7s7")),
    "roce-lag": Ill(eight_rail_servers, lag("bond0"), lag(None)),
    "second-cable-no-gain": Ill(spark_straight, same, cage_1_unlinked),
    "nics-share-subnet": Ill(
        spark_twins_one_subnet, same, netdev("*", OTHER, addresses=addresses("192.168.101.110/24"))
    ),
    "link-speed-differs": Ill(spark_one_cable, twins(B, speed_mbps=100_000), twins(B, speed_mbps=NOT_READ)),
    "link-fec-differs": Ill(spark_one_cable, twins(B, fec="BaseR"), twins(B, fec=NOT_READ)),
    "link-autoneg-differs": Ill(
        spark_one_cable, twins(B, autoneg=False), both(twins(A, autoneg=False), twins(B, autoneg=False))
    ),
    "link-slower-than-siblings": Ill(
        lambda: eight_rail_servers(3),
        put("server-002", "netdev", rail(0, 5).netdev, speed_mbps=100_000),
        put("server-002", "netdev", rail(0, 5).netdev, speed_mbps=800_000),
    ),
    "addresses-swapped-between-rails": Ill(spark_straight, swapped(B), both(swapped(A), swapped(B))),
    "address-on-wrong-port": Ill(
        spark_one_cable,
        both(
            netdev(B, OTHER, addresses=addresses("192.168.177.11/24")),
            netdev(B, CAGE_1, addresses=addresses("192.168.101.11/24")),
        ),
        netdev(B, CAGE_1, addresses=addresses("192.168.177.11/24")),
    ),
    "link-ends-in-different-subnets": Ill(
        spark_one_cable,
        netdev(B, OTHER, addresses=addresses("192.168.177.11/24")),
        netdev(B, OTHER, addresses=addresses("192.168.101.99/25")),
    ),
    "rail-subnets-in-another-order": Ill(
        lambda: without_links(spark_straight()), swapped(B), both(swapped(A), swapped(B))
    ),
    "rail-in-another-subnet": Ill(
        lambda: eight_rail_servers(3),
        put("server-003", "netdev", rail(0, 5).netdev, addresses=addresses("10.9.9.3/24")),
        put("server-003", "netdev", rail(0, 5).netdev, addresses=addresses("10.1.5.93/24")),
    ),
    "ring-joins-like-cages": Ill(
        lambda: spark_ring(LIKE), same, put("spark-c", "netdev", "*", phys_port_name=NOT_READ)
    ),
    "rails-crossed": Ill(spark_one_crossed, same, without_links),
}
