"""The map in its three shapes by number of nodes, and the reasons for none."""

from __future__ import annotations

import io
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricdoc.fabric import selected, traced
from fabricdoc.fabric.cabling import links_from
from fabricdoc.fabric.heard import Heard, Hearing
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric
from fabricdoc.report import Screen, graph_text
from fabricdoc.report.links import render_links
from fabricdoc.report.wires import ports_of
from tests.fabrics import crossed_pair, link, netdev, node
from tests.fabrics.servers import eight_rail_servers
from tests.fabrics.spark import RING, spark_ring, spark_switch
from tests.unit.report.graph_grammar import read_dot, read_mermaid

pytestmark = pytest.mark.unit


def text(fabric: Fabric, shown: Any, width: int = 80) -> str:
    found: str = shown(render_links(traced(fabric)), width)
    return found


def test_two_nodes_are_drawn_and_every_link_has_its_proof(shown: Any) -> None:
    found = text(crossed_pair(), shown)
    assert "─ cable, crossed ─" in found
    assert "alpha/p0  <->  beta/p1  cable, crossed, proven by beacons 3+3\n" in found


def test_three_nodes_are_a_list_by_node(shown: Any) -> None:
    found = text(spark_ring(), shown, 120)
    assert [row for row in found.splitlines() if row.startswith("spark")] == ["spark-a", "spark-b", "spark-c"]
    assert "cage p0: enp1s0f0np0 +1  spark-b/enp1s0f1np1 +1  cable, crossed, ring  beacons 3+3" in found
    assert "┬" not in found


def test_a_chains_end_shows_its_dead_ports(shown: Any) -> None:
    found = text(spark_ring(RING[:2]), shown, 120)
    assert found.count("dead: no carrier") == 4


@pytest.mark.long
def test_a_switch_names_who_is_on_it(shown: Any) -> None:
    found = text(spark_switch(), shown, 120)
    assert "spark-b, spark-c, spark-d  switch" in found
    assert text(eight_rail_servers(6), shown, 120).count("and 2 more") == 48


def test_a_node_without_a_link_says_so(shown: Any) -> None:
    fabric = crossed_pair()
    three = fabric.model_copy(update={"nodes": (*fabric.nodes, node("gamma", netdevs=[netdev("p0")]))})
    assert "gamma\n  no link" in text(three, shown)


@pytest.mark.long
def test_above_eight_nodes_there_is_a_matrix_and_no_line_per_link(shown: Any) -> None:
    assert "meets" in text(eight_rail_servers(8), shown)
    found = text(eight_rail_servers(9), shown)
    assert "meets" not in found
    assert len(found.splitlines()) < 30


def test_links_of_nodes_that_nobody_described_are_a_table(shown: Any) -> None:
    fabric = Fabric(links=(link(("x", "p0", None), ("y", "p0", None)),))
    assert "x/p0  <->  y/p0" in text(fabric, shown)


def test_no_links_and_unknown_links_say_why(shown: Any) -> None:
    fabric = crossed_pair()
    for links, wanted in (
        ((), "links none: no port heard a port of another node"),
        (Unknown(unknown="not asked"), "links unknown: nobody looked for them"),
        (Unknown(unknown="needs CAP_NET_RAW"), "links unknown: needs CAP_NET_RAW"),
        (Unknown(unknown="none is listed; name the ports: `--ports p0,p1`"), "\n  --ports p0,p1\n"),
    ):
        assert wanted in shown(render_links(fabric.model_copy(update={"links": links})))


@pytest.mark.parametrize("width", [40, 60, 80, 120])
@pytest.mark.parametrize("nodes", [3, 8, 9])
def test_every_shape_fits(shown: Any, nodes: int, width: int) -> None:
    assert max(map(len, text(eight_rail_servers(nodes), shown, width).splitlines())) <= width


@pytest.mark.long
@settings(max_examples=30)
@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40), st.integers(1, 4)), max_size=30),
    st.sampled_from([2, 3, 12]),
)
def test_whatever_ports_hear_can_be_drawn_listed_and_written_as_a_graph(
    heard: list[tuple[int, int, int]], count: int
) -> None:
    """Loops, one-way links, ports of nobody, everything joined with everything."""
    fabric = eight_rail_servers(count)
    ports = [*ports_of(fabric), ("ghost", "p0")]
    hearings = [Hearing(ports[a % len(ports)], ports[b % len(ports)], times) for a, b, times in heard if a != b]
    links = links_from(Heard(hearings=[one for one in hearings if one.listener != one.sender]), fabric.nodes)
    whole = selected(traced(fabric.model_copy(update={"links": links})))
    out = io.StringIO()
    screen = Screen(out, io.StringIO(), {"COLUMNS": "80"})
    screen.show(whole, "links")
    assert read_dot(graph_text(whole, "dot")).edges == read_mermaid(graph_text(whole, "mermaid")).edges
    assert ("links none" in out.getvalue()) == (not links)
