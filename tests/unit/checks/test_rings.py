"""Rings without a switch: which cages their cables join, and routing by subnet."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.checks.rings import check_rings, rings_of
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric
from tests.fabrics import link, netdev, node
from tests.fabrics.altering import changed
from tests.fabrics.recorded import RECORDED
from tests.fabrics.spark import addressed, bare_spark, fabric_of, spark_ring
from tests.unit.checks.between import ids

pytestmark = pytest.mark.unit

WRONG = (((0, 0), (1, 0)), ((1, 1), (2, 1)), ((2, 0), (0, 1)))


def ring_of(wires: tuple[tuple[tuple[int, int], ...], ...], nodes: int = 3) -> Fabric:
    return fabric_of(addressed([bare_spark(number) for number in range(nodes)], wires, "own-subnets"), wires)


def routed(fabric: Fabric, value: str = "1") -> Fabric:
    return changed(fabric, "*", "host", environment={"NCCL_IB_SUBNET_AWARE_ROUTING": value})


@pytest.mark.parametrize("name", [name for name in RECORDED if name != "spark-ring"])
def test_what_is_no_ring_is_left_alone(name: str) -> None:
    assert check_rings(RECORDED[name]()) == ()


def test_a_well_cabled_ring_is_information_until_it_routes_by_subnet() -> None:
    found = check_rings(spark_ring())
    assert ids(found) == [("ring-without-subnet-routing", "info", "spark-a, spark-b, spark-c")]
    assert "NCCL_IB_SUBNET_AWARE_ROUTING=1" in found[0].fix[0]
    assert check_rings(routed(spark_ring())) == ()
    assert [one.severity for one in check_rings(routed(spark_ring(), "0"))] == ["info"]


def test_cables_between_like_cages_are_an_error_with_the_right_plan() -> None:
    (found,) = check_rings(routed(ring_of(WRONG)))
    assert (found.id, found.severity) == ("ring-joins-like-cages", "error")
    assert ids([found])
    cages = {(piece.file, piece.text.split(", ")[1]) for piece in found.evidence}
    assert cages == {("spark-a", "cage p0"), ("spark-b", "cage p0"), ("spark-b", "cage p1"), ("spark-c", "cage p1")}
    plan = found.fix[1:4]
    assert [line.split()[0] for line in plan] == ["spark-a", "spark-b", "spark-c"]
    assert all("cage 0 (en" in line and "cage 1 (en" in line for line in plan)


def test_cages_without_a_number_are_not_judged() -> None:
    fabric = routed(ring_of(WRONG))
    unknown = Unknown(unknown="the driver gives none")
    assert check_rings(changed(fabric, "spark-b", "netdev", "*", phys_port_name=unknown)) == ()


def plain(count: int, *, closed: bool = True, more: tuple[tuple[str, str], ...] = ()) -> Fabric:
    names = [f"n{k}" for k in range(count)]
    nodes = [node(name, netdevs=[netdev(port) for port in ("left", "right", "extra")]) for name in names]
    pairs = [*pairwise(names), *([(names[-1], names[0])] if closed else [])]
    links = [link((one, "right", None), (other, "left", None)) for one, other in pairs]
    links += [link((one, "extra", None), (other, "extra", None)) for one, other in more]
    return Fabric(nodes=tuple(nodes), links=tuple(links))


def test_rings_of_any_size_are_found_in_order() -> None:
    for count in (3, 4, 7):
        (ring,) = rings_of(plain(count))
        assert sorted(one.name for one in ring.nodes) == [f"n{k}" for k in range(count)]
        for cable, here in zip(ring.cables, ring.nodes, strict=True):
            assert cable.ends[0].node.name == here.name
    found = check_rings(plain(4))
    assert any("NCCL_ALGO=ring" in line for line in found[0].fix)
    assert not any("NCCL_ALGO=ring" in line for line in check_rings(plain(3))[0].fix)


def test_chains_forks_and_pairs_are_no_rings() -> None:
    assert rings_of(plain(4, closed=False)) == []
    assert rings_of(plain(3, more=(("n0", "n1"),))) == []
    two = Fabric(
        nodes=plain(2).nodes,
        links=(link(("n0", "right", None), ("n1", "left", None)), link(("n0", "left", None), ("n1", "right", None))),
    )
    assert rings_of(two) == []


def test_two_rings_of_one_fabric_are_both_found() -> None:
    first, second = plain(3), plain(3)
    renamed = [one.model_copy(update={"name": f"m{one.name}"}) for one in second.nodes]
    assert not isinstance(second.links, Unknown)
    links = [
        one.model_copy(
            update={
                "a": one.a.model_copy(update={"node": f"m{one.a.node}"}),
                "b": one.b.model_copy(update={"node": f"m{one.b.node}"}),
            }
        )
        for one in second.links
    ]
    assert not isinstance(first.links, Unknown)
    both = Fabric(nodes=(*first.nodes, *renamed), links=(*first.links, *links))
    assert len(rings_of(both)) == 2


def test_a_ring_that_meets_a_switch_is_none() -> None:
    fabric = plain(3)
    more = node("n9", netdevs=[netdev("left")])
    joined = link(("n0", "right", None), ("n9", "left", None))
    assert not isinstance(fabric.links, Unknown)
    assert rings_of(Fabric(nodes=(*fabric.nodes, more), links=(*fabric.links, joined))) == []


def test_a_ring_beside_a_pair_is_still_one() -> None:
    fabric = plain(3)
    pair = [node(name, netdevs=[netdev("left")]) for name in ("x", "y")]
    assert not isinstance(fabric.links, Unknown)
    both = Fabric(nodes=(*pair, *fabric.nodes), links=(link(("x", "left", None), ("y", "left", None)), *fabric.links))
    assert [len(ring.nodes) for ring in rings_of(both)] == [3]


@pytest.mark.parametrize("missing", ["spark-a", "spark-b", "spark-c"])
def test_one_node_that_does_not_route_is_enough_to_be_told(missing: str) -> None:
    fabric = changed(routed(spark_ring()), missing, "host", environment={})
    assert [one.id for one in check_rings(fabric)] == ["ring-without-subnet-routing"]


def test_a_large_ring_is_told_in_part() -> None:
    (found,) = check_rings(plain(20))
    assert len(found.evidence) == 8
    assert len(found.subject.split(", ")) == 8


@given(st.integers(3, 12), st.randoms(use_true_random=False))
def test_a_ring_is_found_whatever_the_order_of_nodes_and_links(count: int, dice: random.Random) -> None:
    fabric = plain(count)
    assert not isinstance(fabric.links, Unknown)
    mixed = Fabric(
        nodes=tuple(dice.sample(fabric.nodes, count)), links=tuple(dice.sample(fabric.links, len(fabric.links)))
    )
    (ring,) = rings_of(mixed)
    assert {one.name for one in ring.nodes} == {one.name for one in fabric.nodes}
    for near, (one, cable) in enumerate(zip(ring.nodes, ring.cables, strict=True)):
        assert [end.node.name for end in cable.ends] == [one.name, ring.nodes[(near + 1) % count].name]
