"""What links join: cables of twins, switches, nodes without known cages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.checks.segments import Segment, attached, cage_names, segments_of
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric
from tests.fabrics import crossed_pair, hca, link, netdev, node
from tests.fabrics.servers import eight_rail_servers
from tests.fabrics.spark import spark_one_cable, spark_pair, spark_ring, spark_straight, spark_switch

pytestmark = pytest.mark.unit


def shapes(found: tuple[Segment, ...]) -> list[list[tuple[str, int]]]:
    return [[(end.node.name, len(end.ports)) for end in segment.ends] for segment in found]


def test_plain_ports_make_one_cable_each() -> None:
    found = segments_of(crossed_pair())
    assert [segment.title() for segment in found] == ["alpha/p0 - beta/p1", "alpha/p1 - beta/p0"]
    assert all(segment.is_cable for segment in found)


def test_the_four_links_of_twins_are_one_cable_with_two_ports_at_each_end() -> None:
    found = segments_of(spark_one_cable())
    assert shapes(found) == [[("spark-a", 2), ("spark-b", 2)]]
    assert found[0].is_cable
    assert shapes(segments_of(spark_straight())) == [[("spark-a", 2), ("spark-b", 2)]] * 2
    assert all(one.is_cable for one in segments_of(spark_ring()))
    assert len(segments_of(spark_ring())) == 3


def test_links_of_like_twins_only_are_two_cables_of_one_cage() -> None:
    found = segments_of(spark_pair("one", heard="pairs"))
    assert shapes(found) == [[("spark-a", 1), ("spark-b", 1)]] * 2


def test_a_switch_is_no_cable() -> None:
    (found,) = segments_of(spark_switch())
    assert len(found.ends) == 4
    assert not found.is_cable
    rails = segments_of(eight_rail_servers(3))
    assert [len(one.ends) for one in rails] == [3] * 8


def test_twins_are_known_by_chip_and_connector_where_cages_are_not_derived() -> None:
    fabric = spark_one_cable()
    bare = fabric.model_copy(update={"nodes": tuple(one.model_copy(update={"cages": ()}) for one in fabric.nodes)})
    assert shapes(segments_of(bare)) == [[("spark-a", 2), ("spark-b", 2)]]
    assert cage_names(bare.nodes[0]) == cage_names(fabric.nodes[0])


def test_a_loop_joins_nothing_and_a_port_nobody_described_is_left_out() -> None:
    alpha, beta = node("alpha", netdevs=[netdev("p0"), netdev("p1")]), node("beta", netdevs=[netdev("p0")])
    loop = link(("alpha", "p0", None), ("alpha", "p1", None), kind="loop")
    gone = link(("alpha", "p0", None), ("beta", "p9", None))
    assert segments_of(Fabric(nodes=(alpha, beta), links=(loop, gone))) == ()


@pytest.mark.parametrize("links", [(), Unknown(unknown="not asked")])
def test_without_links_nothing_is_joined(links: object) -> None:
    assert segments_of(crossed_pair().model_copy(update={"links": links})) == ()


def test_every_port_is_found_with_its_hca() -> None:
    found = attached(spark_one_cable())
    one = found["spark-a", "enp1s0f0np0"]
    assert one.hca is not None and one.hca.name == "rocep1s0f0"
    assert one.name() == "spark-a/enp1s0f0np0"
    assert found["spark-a", "docker0"].hca is None


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=20))
def test_ports_that_are_joined_by_any_way_are_one_segment(pairs: list[tuple[int, int]]) -> None:
    nodes = tuple(node(f"n{k}", netdevs=[netdev("p0")]) for k in range(10))
    links = tuple(link((f"n{a}", "p0", None), (f"n{b}", "p0", None)) for a, b in pairs if a != b)
    groups: list[set[int]] = [{k} for k in range(10)]
    for a, b in pairs:
        joined = [group for group in groups if a in group or b in group]
        groups = [group for group in groups if group not in joined] + [set().union(*joined)]
    wanted = sorted(sorted(f"n{k}" for k in group) for group in groups if len(group) > 1)
    found = segments_of(Fabric(nodes=nodes, links=links))
    assert sorted([end.node.name for end in segment.ends] for segment in found) == wanted
    assert all(segment.is_cable is (len(segment.ends) == 2) for segment in found)


def test_a_cable_between_two_cages_of_one_node_is_no_cable_between_nodes() -> None:
    alpha = node("alpha", netdevs=[netdev("p0"), netdev("p1")])
    (found,) = segments_of(Fabric(nodes=(alpha,), links=(link(("alpha", "p0", None), ("alpha", "p1", None)),)))
    assert len(found.ends) == 2 and not found.is_cable


def test_ends_come_in_the_order_of_the_nodes_and_not_of_the_links() -> None:
    fabric = crossed_pair()
    assert not isinstance(fabric.links, Unknown)
    turned = tuple(one.model_copy(update={"a": one.b, "b": one.a}) for one in reversed(fabric.links))
    found = segments_of(fabric.model_copy(update={"links": turned}))
    assert [segment.title() for segment in found] == ["alpha/p0 - beta/p1", "alpha/p1 - beta/p0"]


def test_a_cage_of_one_node_is_not_that_of_another_with_its_name() -> None:
    one, other = (hca("mlx5_0", "p0") for _k in range(2))
    nodes = tuple(node(name, netdevs=[netdev("p0")], hcas=[card]) for name, card in (("a", one), ("b", other)))
    (found,) = segments_of(Fabric(nodes=nodes, links=(link(("a", "p0", None), ("b", "p0", None)),)))
    assert [end.node.name for end in found.ends] == ["a", "b"] and found.is_cable
