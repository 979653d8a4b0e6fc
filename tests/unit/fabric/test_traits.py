"""How links lie: straight, crossed, ring, twins; told from cages and the graph, never from a switch."""

from __future__ import annotations

from collections import Counter

import pytest

from fabricdoc.fabric.cabling import links_from
from fabricdoc.fabric.heard import Heard, Hearing
from fabricdoc.fabric.traits import traced, with_traits
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Link
from tests.fabrics import crossed_pair, hca, link, netdev, node
from tests.fabrics.altering import changed
from tests.fabrics.servers import eight_rail_servers
from tests.fabrics.spark import RING, spark_pair, spark_ring, spark_switch

pytestmark = pytest.mark.unit


def links(fabric: Fabric) -> tuple[Link, ...]:
    found = traced(fabric).links
    assert not isinstance(found, Unknown)
    return found


def count(fabric: Fabric) -> dict[tuple[str, ...], int]:
    return Counter(one.traits for one in links(fabric))


def test_a_straight_cable_of_twins_is_straight_four_times_and_its_loops_are_twins() -> None:
    assert count(spark_pair("one")) == {("straight",): 4, ("twins",): 2}
    assert count(spark_pair("straight")) == {("straight",): 8, ("twins",): 4}
    assert count(spark_pair("one", heard="pairs")) == {("straight",): 2}


def test_a_crossed_cable_is_crossed_whatever_the_devices_are_called() -> None:
    assert count(spark_pair("one-crossed")) == {("crossed",): 4, ("twins",): 2}
    assert count(spark_pair("crossed", renamed=True)) == {("crossed",): 8, ("twins",): 4}


def test_one_node_with_renamed_devices_is_still_straight() -> None:
    """mlx5_0 here and rocep1s0f0 there sit in cages of one number (cages decide, not names)."""
    fabric = spark_pair("one")
    other = spark_pair("one", renamed=True)
    mixed = fabric.model_copy(update={"nodes": (fabric.nodes[0], other.nodes[1])})
    ends = {f"mlx5_{k}": name for k, name in enumerate(("rocep1s0f0", "rocep1s0f1", "roceP2p1s0f0", "roceP2p1s0f1"))}
    back = {name: mlx for mlx, name in ends.items()}
    moved = [
        one.model_copy(update={"b": one.b.model_copy(update={"hca": back[str(one.b.hca)]})})
        for one in links(fabric)
        if one.b.node == "spark-b" and one.a.node != one.b.node
    ]
    assert count(mixed.model_copy(update={"links": tuple(moved)})) == {("straight",): 4}


def test_ring_members_say_so_and_a_chain_does_not() -> None:
    assert count(spark_ring()) == {("crossed", "ring"): 12, ("twins",): 6}
    assert count(spark_ring(RING[:2])) == {("crossed",): 8, ("twins",): 4}
    like = (((0, 0), (1, 0)), ((1, 1), (2, 0)), ((2, 1), (0, 1)))
    assert count(spark_ring(like)) == {("straight", "ring"): 8, ("crossed", "ring"): 4, ("twins",): 6}


def test_a_switch_is_neither_straight_nor_crossed() -> None:
    assert set(count(spark_switch())) == {(), ("twins",)}
    assert set(count(eight_rail_servers(3))) == {()}


def test_servers_with_a_chip_for_each_port_go_by_the_ports_name() -> None:
    """Every chip has a connector p0: the name of the port tells rails apart."""
    assert count(eight_rail_servers(2)) == {("straight",): 8}


def test_ports_without_hcas_go_by_name() -> None:
    assert count(crossed_pair()) == {("crossed",): 2}
    straight = tuple(link(("alpha", port, None), ("beta", port, None)) for port in ("p0", "p1"))
    assert count(crossed_pair().model_copy(update={"links": straight})) == {("straight",): 2}


def test_a_cable_with_a_lost_direction_still_lies_as_it_lies() -> None:
    fabric = crossed_pair()
    assert not isinstance(fabric.links, Unknown)
    broken = tuple(one.model_copy(update={"kind": "one-way"}) for one in fabric.links)
    assert count(fabric.model_copy(update={"links": broken})) == {("crossed",): 2}


def test_a_loop_from_cage_to_cage_is_no_twin() -> None:
    """A cable from a node's cage 0 to its own cage 1 (a wire test in one box) leaves the chip."""
    fabric = spark_pair("one")
    a = {one.name: one.name for one in fabric.nodes[0].netdevs}  # type: ignore[union-attr]
    heard = Heard(
        hearings=[
            Hearing(("spark-a", a["enp1s0f0np0"]), ("spark-a", a["enp1s0f1np1"]), 3),
            Hearing(("spark-a", a["enp1s0f1np1"]), ("spark-a", a["enp1s0f0np0"]), 3),
            Hearing(("spark-a", a["enp1s0f0np0"]), ("spark-a", a["enP2p1s0f0np0"]), 3),
        ]
    )
    found = fabric.model_copy(update={"links": links_from(heard, fabric.nodes)})
    by_name = {frozenset((one.a.netdev, one.b.netdev)): one.traits for one in links(found)}
    assert by_name == {
        frozenset(("enp1s0f0np0", "enp1s0f1np1")): (),
        frozenset(("enp1s0f0np0", "enP2p1s0f0np0")): ("twins",),
    }


def test_a_loop_without_known_cages_claims_nothing() -> None:
    fabric = changed(spark_pair("one"), "*", "node", cages=())
    assert count(fabric)[("twins",)] == 0
    alpha = node("alpha", netdevs=[netdev("p0"), netdev("p1")], hcas=[hca("a", "p0"), hca("b", "p1")])
    loop = link(("alpha", "p0", None), ("alpha", "p1", None), kind="loop", hca=True)
    assert count(Fabric(nodes=(alpha,), links=(loop,))) == {(): 1}


def test_traits_are_told_anew_and_telling_them_twice_changes_nothing() -> None:
    once = traced(spark_pair("crossed"))
    assert traced(once).links == once.links
    assert not isinstance(once.links, Unknown)
    lied = once.model_copy(update={"links": tuple(one.model_copy(update={"traits": ("ring",)}) for one in once.links)})
    assert traced(lied).links == once.links


def test_unknown_and_no_links_stay_as_they_are() -> None:
    for found in (Unknown(unknown="not asked"), ()):
        fabric = crossed_pair().model_copy(update={"links": found})
        assert with_traits([], fabric, lambda _: None) is fabric
