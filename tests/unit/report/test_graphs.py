"""Graphviz and Mermaid: strict readers accept them, whatever a node calls itself, and find every port and cable."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.errors import InconclusiveError, UsageError
from fabricdoc.fabric import traced
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric
from fabricdoc.report.graphs import dot_text, graph_text, mermaid_text
from fabricdoc.report.text import clean
from tests.fabrics import crossed_pair, hca, link, netdev, node
from tests.fabrics.recorded import RECORDED
from tests.fabrics.servers import eight_rail_servers
from tests.fabrics.spark import spark_foreign, spark_pair, spark_ring, spark_switch
from tests.unit.report.graph_grammar import Read, read_dot, read_mermaid

pytestmark = pytest.mark.unit

HOSTILE = (
    'x"]; evil [label="y',
    "a\\",
    '\\"',
    "end",
    "n0p0 --- n1p0",
    "<script>alert(1)</script>",
    "line\nbreak",
    "\x1b[31mred",
    "#quot;",
    "&amp;`md`",
    "\u202egnp",
    "%%{init: {}}%%",
    "}",
    "",
    "\\N\\G",
    "日本",
)
READERS = {"dot": read_dot, "mermaid": read_mermaid}


def both(fabric: Fabric) -> tuple[Read, Read]:
    one, other = (READERS[form](graph_text(fabric, form)) for form in READERS)
    assert (one.clusters, one.edges, one.points) == (other.clusters, other.edges, other.points)
    return one, other


def test_a_crossed_pair_of_sparks_has_its_nodes_cages_ports_and_cables() -> None:
    read, _ = both(traced(spark_pair("one-crossed")))
    assert read.clusters == ["spark-a", "cage p0", "cage p1", "spark-b", "cage p0", "cage p1"]
    assert len(read.points) == 8
    ends = [(read.points[one], read.points[other]) for one, other, label in read.edges if label == "cable, crossed"]
    assert ends == [
        ("enp1s0f0np0\nrocep1s0f0", "enp1s0f1np1\nrocep1s0f1"),
        ("enP2p1s0f0np0\nroceP2p1s0f0", "enP2p1s0f1np1\nroceP2p1s0f1"),
    ]
    assert [label for *_ends, label in read.edges].count("twins (inside the chip)") == 2


def test_a_switch_is_one_point_that_its_ports_lead_to() -> None:
    read, _ = both(traced(spark_switch()))
    (switch,) = [point for point, label in read.points.items() if label == "switch, 8 ports"]
    assert sum(switch in (one, other) for one, other, _label in read.edges) == 8


def test_rings_and_lone_ports_are_there() -> None:
    read, _ = both(traced(spark_ring()))
    assert [label for *_ends, label in read.edges].count("cable, crossed, ring") == 6
    lone, _ = both(traced(spark_foreign()))
    assert len(lone.points) == 8


def test_one_way_is_dashed_and_says_so() -> None:
    fabric = crossed_pair()
    assert not isinstance(fabric.links, Unknown)
    broken = (fabric.links[0].model_copy(update={"kind": "one-way"}), fabric.links[1])
    fabric = traced(fabric.model_copy(update={"links": broken}))
    read, _ = both(fabric)
    assert [label for *_ends, label in read.edges] == ["one-way, crossed", "cable, crossed"]
    assert graph_text(fabric, "dot").count("style=dashed") == graph_text(fabric, "mermaid").count("-.-") == 1


@pytest.mark.long
def test_edges_grow_with_ports_not_with_pairs() -> None:
    assert len(graph_text(eight_rail_servers(40), "dot").splitlines()) < 40 * 8 * 6


@pytest.mark.parametrize("name", sorted(RECORDED))
def test_every_recorded_fabric_can_be_drawn_or_says_why_not(name: str) -> None:
    fabric = traced(RECORDED[name]())
    if isinstance(fabric.links, Unknown):
        with pytest.raises(InconclusiveError, match="no map to draw"):
            graph_text(fabric, "dot")
    else:
        both(fabric)


def test_ports_that_are_not_named_are_what_to_add() -> None:
    unnamed = Fabric(links=Unknown(unknown="no port is listed; name the ports: `--ports eth1`"))
    with pytest.raises(InconclusiveError, match=r"name the ports:$") as caught:
        graph_text(unnamed, "dot")
    assert caught.value.fix == "add --ports eth1"


def hostile_pair(name: str) -> Fabric:
    alpha = node(name, netdevs=[netdev(name, ip="10.0.0.1")], hcas=[hca(name, name)])
    beta = node("beta", netdevs=[netdev("p0", ip="10.0.0.2")])
    return Fabric(nodes=(alpha, beta), links=(link((name, name, None), ("beta", "p0", None)),))


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_stay_inside_their_labels(name: str) -> None:
    for form, reader in READERS.items():
        read = reader(graph_text(hostile_pair(name), form))
        wanted = clean(name) or ("" if form == "dot" else " ")
        assert read.clusters == [wanted, "beta"]
        assert len(read.points) == 2
        assert len(read.edges) == 1
        assert "\x1b" not in graph_text(hostile_pair(name), form)


@given(st.text(max_size=20))
def test_any_name_is_read_back_as_it_was(name: str) -> None:
    assert read_dot(f"graph fabric {{ a [label={dot_text(name, 'x')}]; }}").points["a"] == "\n".join(
        one for one in (clean(name), "x") if one
    )
    text = read_mermaid(f'flowchart LR\n  a["{mermaid_text(name, "x")}"]\n').points["a"]
    assert text == "\n".join(one for one in (clean(name), "x") if one)


@given(st.text(min_size=1, max_size=12))
def test_any_name_in_a_whole_graph_is_harmless(name: str) -> None:
    for form, reader in READERS.items():
        assert len(reader(graph_text(hostile_pair(name), form)).edges) == 1


def test_another_form_is_wrong_usage() -> None:
    with pytest.raises(UsageError, match="svg"):
        graph_text(crossed_pair(), "svg")


def test_the_strict_readers_refuse_what_is_no_graph() -> None:
    """A reader that takes everything would prove nothing."""
    for text in (
        "graph fabric {",
        'graph fabric { a [label="x"] }',
        "graph fabric { a -- b [label=x]; }",
        "digraph x {}",
    ):
        with pytest.raises((ValueError, IndexError)):
            read_dot(text)
    for text in (
        "graph LR\n",
        'flowchart LR\n  a["x"y"]\n',
        "flowchart LR\n  end\n",
        'flowchart LR\n  subgraph n0["x"]\n',
    ):
        with pytest.raises(ValueError):
            read_mermaid(text)


@pytest.mark.parametrize("name", [*HOSTILE, "plain"])
def test_graphviz_itself_reads_them(name: str) -> None:
    """With Graphviz' own parser where it is installed; the strict reader above stands in for it elsewhere."""
    text = graph_text(hostile_pair(name), "dot")
    assert read_dot(text)
    dot = shutil.which("dot")
    if dot is not None:
        done = subprocess.run([dot, "-Tcanon"], input=text.encode(), capture_output=True, timeout=30, check=False)
        assert done.returncode == 0, done.stderr
