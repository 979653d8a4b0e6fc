"""Who tries whom: link ends and subnets for datagrams, links and management for TCP; never the square of the nodes."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.fabric.ways import bare_places, datagram_pairs, management, pairs_of, places, tcp_ways
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Address, Fabric, Link, Netdev, Node, Route
from fabricdoc.transport import NodeSpec
from tests.fabrics import crossed_pair, host, link, netdev, node
from tests.fabrics.servers import eight_rail_servers
from tests.fabrics.spark import spark_ring, spark_straight

pytestmark = pytest.mark.unit


def specs_of(fabric: Fabric, *ports: str) -> list[NodeSpec]:
    return [NodeSpec(one.name, "local", ports=ports) for one in fabric.nodes]


def asked(fabric: Fabric, *ports: str) -> list[tuple[str, str]]:
    pairs = datagram_pairs(specs_of(fabric, *ports), fabric)
    return [(f"{a.node}/{a.netdev}", f"{b.node}/{b.netdev}") for a, b in pairs]


def dialled(fabric: Fabric) -> list[tuple[str, str, str]]:
    return [(f"{w.a.node} {w.a.ip}", f"{w.b.node} {w.b.ip}", w.by) for w in tcp_ways(specs_of(fabric), fabric)]


def test_the_ends_of_each_cable_ask_each_other_once() -> None:
    assert asked(crossed_pair(), "p*") == [("alpha/p0", "beta/p1"), ("alpha/p1", "beta/p0")]


def test_swapped_addresses_are_asked_where_their_subnets_are() -> None:
    straight = [link(("alpha", p, None), ("beta", p, None)) for p in ("p0", "p1")]
    fabric = crossed_pair().model_copy(update={"links": tuple(straight)})
    assert asked(fabric, "p*") == [("alpha/p0", "beta/p1"), ("alpha/p1", "beta/p0")]


def bare(one: Node, **ips: str) -> Node:
    """The node with link-local addresses alone: `p0="fe80::1"`."""
    netdevs = () if isinstance(one.netdevs, Unknown) else one.netdevs
    told = {name: addressed(netdev(name), ip, 64, family="ipv6", scope="link") for name, ip in ips.items()}
    return one.model_copy(update={"netdevs": tuple(told.get(each.name, each) for each in netdevs)})


def test_ends_with_link_local_addresses_alone_ask_each_other_and_dial_nobody() -> None:
    alpha, beta = nodes()
    fabric = crossed_pair().model_copy(update={"nodes": (bare(alpha, p0="fe80::1"), bare(beta, p1="fe80::2"))})
    assert sorted(asked(fabric, "p*")) == [("alpha/p0", "beta/p1"), ("alpha/p1", "beta/p0")]
    assert not any("fe80" in word for way in dialled(fabric) for word in way)


def test_link_local_addresses_alone_join_no_ports() -> None:
    alpha, beta = nodes()
    both = bare(alpha, p0="fe80::1", p1="fe80::3"), bare(beta, p0="fe80::2", p1="fe80::4")
    assert asked(crossed_pair().model_copy(update={"nodes": both, "links": ()}), "p*") == []


def test_a_port_with_a_subnet_is_not_asked_by_its_link_local_address() -> None:
    alpha, beta = nodes()
    fabric = crossed_pair().model_copy(update={"nodes": (bare(alpha, p0="fe80::1"), beta)})
    assert asked(fabric, "p*") == [("alpha/p1", "beta/p0")]
    assert bare_places(beta) == {}


def test_only_listed_or_rdma_ports_are_asked_by_subnet() -> None:
    fabric = crossed_pair().model_copy(update={"links": ()})
    assert asked(fabric) == []
    assert asked(fabric, "p0") == []
    assert asked(fabric, "p*") == [("alpha/p0", "beta/p1"), ("alpha/p1", "beta/p0")]


def test_a_spark_pair_asks_twin_by_twin() -> None:
    pairs = asked(spark_straight())
    assert len(pairs) == 4
    assert all(a.partition("/")[2] == b.partition("/")[2] for a, b in pairs)


def test_a_thousand_ports_of_one_subnet_ask_their_neighbours() -> None:
    fabric = wide(300)
    assert len(asked(fabric, "p0")) == 299
    star = [link(("n000", "p0", None), (f"n{i:03}", "p0", None), kind="segment") for i in range(1, 300)]
    assert len(asked(fabric.model_copy(update={"links": tuple(star)}), "p0")) <= 299 + 4


def wide(count: int) -> Fabric:
    nodes = (
        node(f"n{i:03}", netdevs=[addressed(netdev("p0"), f"10.0.{i // 256}.{i % 256 or 1}", 16)]) for i in range(count)
    )
    return Fabric(nodes=tuple(nodes), links=())


def addressed(one: Netdev, ip: str, prefix: int = 24, **more: object) -> Netdev:
    address = Address.model_validate({"ip": ip, "prefix": prefix, "family": "ipv4", **more})
    return one.model_copy(update={"addresses": (address,)})


@pytest.mark.parametrize(
    "one",
    [
        netdev("p0"),
        netdev("p0", ip="10.0.0.1", up=False),
        addressed(netdev("p0"), "10.0.0.1", 32),
        addressed(netdev("p0"), "169.254.0.1", 16),
        addressed(netdev("p0"), "127.0.0.1", 8),
        addressed(netdev("p0"), "10.0.0.1", scope="host"),
        netdev("p0").model_copy(update={"addresses": (Address(ip="fd00::1", prefix=128, family="ipv6"),)}),
        netdev("p0").model_copy(update={"addresses": (Address(ip="fe80::1", prefix=64, family="ipv6", scope="link"),)}),
        netdev("p0").model_copy(update={"addresses": (Address(ip="no address", prefix=64, family="ipv6"),)}),
        netdev("p0").model_copy(update={"addresses": (Address(ip="10.0.0.1", prefix=64, family="ipv6"),)}),
    ],
)
def test_what_has_no_subnet_to_share_is_no_place(one: Netdev) -> None:
    assert places(node("alpha", netdevs=[one])) == {}


def test_a_place_knows_its_subnet_and_mtu() -> None:
    (place,) = places(node("alpha", netdevs=[netdev("p0", ip="10.1.2.3", mtu=1500)])).values()
    assert (place.network, place.mtu, place.key) == ("10.1.2.0/24", 1500, ("alpha", "p0"))
    blank = netdev("p0", ip="10.1.2.3").model_copy(update={"mtu": Unknown(unknown="x")})
    assert places(node("alpha", netdevs=[blank]))["p0"].mtu == 0


def test_a_port_with_ipv6_alone_has_a_place_by_it_and_one_with_both_by_ipv4() -> None:
    six = Address(ip="fd00:0:1:2:aa::1", prefix=64, family="ipv6")
    local = Address(ip="fe80::1", prefix=64, family="ipv6", scope="link")
    only = netdev("p0").model_copy(update={"addresses": (local, six)})
    both = netdev("p1", ip="10.1.2.3")
    both = both.model_copy(update={"addresses": (six, *both.addresses)})
    found = places(node("alpha", netdevs=[only, both]))
    assert (found["p0"].ip, found["p0"].network) == ("fd00:0:1:2:aa::1", "fd00:0:1:2::/64")
    assert (found["p1"].ip, found["p1"].network) == ("10.1.2.3", "10.1.2.0/24")


def test_where_only_an_ipv6_default_route_is_its_interface_is_the_management_one() -> None:
    six = netdev("m0").model_copy(update={"addresses": (Address(ip="fd00:9::1", prefix=64, family="ipv6"),)})
    route = Route(destination="default", netdev="m0", gateway="fd00:9::ff", family="ipv6")
    one = node("alpha", netdevs=[six]).model_copy(update={"routes": (route,)})
    found = management(one, places(one))
    assert found is not None and (found.netdev, found.ip) == ("m0", "fd00:9::1")


def test_tcp_goes_over_the_first_link_both_ways() -> None:
    assert dialled(crossed_pair()) == [
        ("alpha 10.77.0.1", "beta 10.77.0.2", "link"),
        ("beta 10.77.0.2", "alpha 10.77.0.1", "link"),
    ]


@pytest.mark.parametrize("kind", ["one-way", "loop"])
def test_a_link_that_does_not_carry_both_ways_carries_no_tcp(kind: str) -> None:
    assert isinstance(crossed_pair().links, tuple)
    first = link(("alpha", "p0", None), ("beta", "p1", None), kind=kind)
    assert dialled(crossed_pair().model_copy(update={"links": (first,)})) == []


def test_a_link_whose_ends_share_no_subnet_carries_no_tcp() -> None:
    first = link(("alpha", "p0", None), ("beta", "p0", None))
    assert dialled(crossed_pair().model_copy(update={"links": (first,)})) == []


def managed(fabric: Fabric, **variables: str) -> Fabric:
    nodes = []
    for number, one in enumerate(fabric.nodes, 1):
        assert isinstance(one.netdevs, tuple)
        eth = addressed(netdev("eth0"), f"192.168.1.{number}")
        told = {
            "netdevs": (eth, *one.netdevs),
            "routes": (Route(destination="default", netdev="eth0", gateway="192.168.1.254"),),
            "host": host(one.name).model_copy(update={"environment": variables}),
        }
        nodes.append(one.model_copy(update=told))
    return fabric.model_copy(update={"nodes": tuple(nodes)})


def test_management_addresses_are_tried_besides_and_without_links() -> None:
    both = [
        ("alpha 192.168.1.1", "beta 192.168.1.2", "management"),
        ("beta 192.168.1.2", "alpha 192.168.1.1", "management"),
    ]
    assert dialled(managed(crossed_pair()))[1::2] == [both[0], both[1]]
    assert len(dialled(managed(crossed_pair()))) == 4
    assert dialled(managed(crossed_pair()).model_copy(update={"links": Unknown(unknown="no right")})) == both


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ("", "eth0"),
        ("e", "eth0"),
        ("=p1", "p1"),
        ("p0,p1", "p0"),
        ("^eth,docker", "p0"),
        ("=eth", None),
        ("wlan", None),
    ],
)
def test_the_variable_of_nccl_names_the_interface(value: str, wanted: str | None) -> None:
    (alpha, _beta) = managed(crossed_pair(), NCCL_SOCKET_IFNAME=value).nodes
    place = management(alpha, places(alpha))
    assert (place.netdev if place else None) == wanted


def test_a_link_that_is_the_management_too_is_tried_once() -> None:
    fabric = managed(crossed_pair(), NCCL_SOCKET_IFNAME="=p0,p1")
    ways = dialled(fabric)
    assert len(ways) == len(set(ways))


def test_each_node_of_a_ring_is_tried_over_its_own_cable() -> None:
    ways = [w for w in tcp_ways(specs_of(spark_ring()), spark_ring()) if w.by == "link"]
    assert {(w.a.node, w.b.node) for w in ways} == {
        (a, b) for a in ("spark-a", "spark-b", "spark-c") for b in ("spark-a", "spark-b", "spark-c") if a != b
    }
    assert all(w.a.network == w.b.network for w in ways)


@given(st.integers(2, 3000))
def test_tried_pairs_join_all_and_grow_with_the_nodes(count: int) -> None:
    pairs = pairs_of(count)
    assert len(pairs) <= max(28, 2 * count)
    assert all(0 <= a < b < count for a, b in pairs)
    assert len(set(pairs)) == len(pairs)
    assert {(0, other) for other in range(1, count)} <= set(pairs)


def test_eight_nodes_try_each_other_all() -> None:
    assert len(pairs_of(8)) == 28
    assert len(pairs_of(9)) == 8 + 7


@pytest.mark.long
def test_node_0_dials_a_bounded_number() -> None:
    fabric = eight_rail_servers(100)
    nodes = [managed(Fabric(nodes=(one,))).nodes[0] for one in fabric.nodes]
    ways: Sequence[object] = [
        w for w in tcp_ways(specs_of(fabric), fabric.model_copy(update={"nodes": tuple(nodes)})) if w.by == "management"
    ]
    out = [w for w in ways if w.a.node == fabric.nodes[0].name]  # type: ignore[attr-defined]
    into = [w for w in ways if w.b.node == fabric.nodes[0].name]  # type: ignore[attr-defined]
    assert (len(out), len(into)) == (65, 99)


def test_unknown_facts_plan_nothing() -> None:
    blank = [
        one.model_copy(update={"netdevs": Unknown(unknown="x"), "routes": Unknown(unknown="x")}) for one in nodes()
    ]
    fabric = crossed_pair().model_copy(update={"nodes": tuple(blank)})
    assert (asked(fabric), dialled(fabric)) == ([], [])


def nodes() -> tuple[Node, ...]:
    return crossed_pair().nodes


def test_links_of_nodes_that_are_not_asked_are_passed_over() -> None:
    links: tuple[Link, ...] = (link(("alpha", "p0", None), ("gone", "p0", None)),)
    assert asked(crossed_pair().model_copy(update={"links": links})) == []
