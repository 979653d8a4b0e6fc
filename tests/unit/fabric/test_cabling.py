"""From heard beacons to links: kinds, proof, ends."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.fabric.cabling import hca_of_netdev, links_from, rdma_netdevs
from fabricdoc.fabric.heard import Heard, Hearing, PortKey
from tests.fabrics import hca, netdev, node

pytestmark = pytest.mark.unit

A0, A1, B0, B1 = ("alpha", "p0"), ("alpha", "p1"), ("beta", "p0"), ("beta", "p1")


def both_ways(first: PortKey, second: PortKey, count: int = 3) -> list[Hearing]:
    return [Hearing(first, second, count), Hearing(second, first, count)]


def test_crossed_pair_is_two_cables_with_proof() -> None:
    heard = Heard(hearings=[*both_ways(A0, B1), *both_ways(A1, B0, 6)])
    links = links_from(heard, [])
    assert [(x.a.netdev, x.b.netdev, x.kind) for x in links] == [("p0", "p1", "cable"), ("p1", "p0", "cable")]
    assert (links[1].proof.frames_a_to_b, links[1].proof.frames_b_to_a) == (6, 6)
    assert links[0].proof.method == "beacon"
    assert links[0].proof.at.endswith("Z")


def test_one_direction_only_is_one_way_and_says_which() -> None:
    (link,) = links_from(Heard(hearings=[Hearing(listener=B0, sender=A0, count=4)]), [])
    assert link.kind == "one-way"
    assert (link.a.node, link.proof.frames_a_to_b, link.proof.frames_b_to_a) == ("alpha", 4, 0)


def test_three_ports_that_hear_each_other_are_a_segment() -> None:
    ports = [A0, B0, ("gamma", "p0")]
    heard = Heard(hearings=[h for x, y in itertools.combinations(ports, 2) for h in both_ways(x, y)])
    assert {link.kind for link in links_from(heard, [])} == {"segment"}
    assert len(links_from(heard, [])) == 3


def test_a_node_that_hears_itself_is_a_loop() -> None:
    (link,) = links_from(Heard(hearings=both_ways(A0, A1)), [])
    assert link.kind == "loop"


def test_ends_carry_mac_hca_and_address() -> None:
    nodes = [
        node("alpha", netdevs=[netdev("p0", mac="02:00:00:00:00:01", ip="10.0.0.1")], hcas=[hca("mlx5_0", "p0")]),
        node("beta", netdevs=[netdev("p1", mac="02:00:00:00:00:02")]),
    ]
    heard = Heard(hearings=both_ways(A0, B1), macs={A0: "02:aa:00:00:00:01"})
    (link,) = links_from(heard, nodes)
    assert (link.a.mac, link.a.hca, link.a.ip) == ("02:aa:00:00:00:01", "mlx5_0", "10.0.0.1")
    assert (link.b.mac, link.b.hca, link.b.ip) == ("02:00:00:00:00:02", None, None)


def test_rdma_backed_netdevs_are_those_of_hca_ports() -> None:
    spark = node("alpha", netdevs=[netdev("p0"), netdev("p1"), netdev("wlan0")], hcas=[hca("a", "p1"), hca("b", "p0")])
    assert rdma_netdevs(spark) == ("p0", "p1")
    assert hca_of_netdev(spark) == {"p1": "a", "p0": "b"}


PORTS = st.tuples(st.sampled_from(["alpha", "beta", "gamma"]), st.sampled_from(["p0", "p1"]))


@given(st.lists(st.builds(Hearing, PORTS, PORTS, st.integers(1, 9)), max_size=12))
def test_every_hearing_is_in_exactly_one_link(hearings: list[Hearing]) -> None:
    hearings = list({(h.listener, h.sender): h for h in hearings if h.listener != h.sender}.values())
    links = links_from(Heard(hearings=hearings), [])
    total = sum(link.proof.frames_a_to_b + link.proof.frames_b_to_a for link in links)
    assert total == sum(h.count for h in hearings)
    ends = [frozenset([(x.a.node, x.a.netdev), (x.b.node, x.b.netdev)]) for x in links]
    assert len(ends) == len(set(ends))
