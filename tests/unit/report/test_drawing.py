"""Two nodes side by side: every port once, every cable, in any width, in ASCII, with names that do nothing."""

from __future__ import annotations

import io
from typing import Any

import pytest

from fabricdoc.fabric import traced
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric
from fabricdoc.report import Screen
from fabricdoc.report.links import render_links
from tests.fabrics import crossed_pair, hca, link, netdev, node
from tests.fabrics.spark import spark_foreign, spark_pair

pytestmark = pytest.mark.unit


def drawn(fabric: Fabric, shown: Any, width: int = 80) -> list[str]:
    rows: list[str] = shown(render_links(traced(fabric)), width).split("\n\n")[0].splitlines()
    return rows


def test_a_crossed_cable_of_twins(shown: Any) -> None:
    assert drawn(spark_pair("one-crossed"), shown)[:5] == [
        "spark-a                                               spark-b",
        "cage p0                                               cage p1",
        "  enp1s0f0np0 rocep1s0f0     ─┬── cable, crossed ──┬─ enp1s0f1np1 rocep1s0f1",
        "  enP2p1s0f0np0 roceP2p1s0f0 ─┘                    └─ enP2p1s0f1np1 roceP2p1s0f1",
        "  enp1s0f1np1 rocep1s0f1     ✗ dead            dead ✗ enp1s0f0np0 rocep1s0f0",
    ]


def test_every_cabled_port_stands_once_beside_its_wire(shown: Any) -> None:
    text = "\n".join(drawn(spark_pair("straight"), shown))
    for name in ("rocep1s0f0", "rocep1s0f1", "roceP2p1s0f0", "roceP2p1s0f1"):
        assert text.count(f" {name}") == 2
    assert text.count("cable, straight") == 2
    assert text.count("cage p0") == text.count("cage p1") == 2


def test_plain_ports_without_cages(shown: Any) -> None:
    rows = drawn(crossed_pair(), shown)
    assert rows[0].split() == ["alpha", "beta"]
    assert [row.split()[0] for row in rows[1:]] == ["p0", "p1"]
    assert [row.split()[-1] for row in rows[1:]] == ["p1", "p0"]
    assert all("─ cable, crossed ─" in row for row in rows[1:])


def test_ports_without_a_peer_are_told_dead_or_foreign(shown: Any) -> None:
    text = "\n".join(drawn(spark_foreign(), shown))
    assert text.count("✗ foreign") == 2
    assert text.count("dead ✗") == 2


@pytest.mark.parametrize(("there", "arrow"), [(True, "one-way, crossed →"), (False, "← one-way, crossed")])
def test_a_one_way_cable_points_where_frames_go(shown: Any, there: bool, arrow: str) -> None:
    fabric = crossed_pair()
    assert not isinstance(fabric.links, Unknown)
    counts = {"frames_b_to_a": 0} if there else {"frames_a_to_b": 0}
    proof = fabric.links[0].proof.model_copy(update=counts)
    broken = fabric.links[0].model_copy(update={"kind": "one-way", "proof": proof})
    assert arrow in "\n".join(drawn(fabric.model_copy(update={"links": (broken,)}), shown))


@pytest.mark.parametrize("width", [40, 59, 60, 72, 80, 120])
def test_it_fits_and_gives_way_to_the_list_where_it_cannot(shown: Any, width: int) -> None:
    text = shown(render_links(traced(spark_pair("crossed"))), width)
    assert max(map(len, text.splitlines())) <= width
    assert ("┬" in text) == (width >= 60)
    assert "<->" in text


@pytest.mark.parametrize("width", [60, 80])
def test_long_names_lose_their_middle(shown: Any, samples: Any, width: int) -> None:
    name = "spark-" + "0123456789" * 8
    long = [node(name + end, netdevs=[netdev(name)], hcas=[hca(name, name)]) for end in ("a", "b")]
    fabric = Fabric(nodes=tuple(long), links=(link((name + "a", name, None), (name + "b", name, None)),))
    text = shown(render_links(traced(fabric)), width)
    assert max(map(len, text.splitlines())) <= width
    assert "…" in text


@pytest.mark.parametrize("name", ["x\x1b[31mred", "a\r\nb", "\u202egnp", "[bold]x[/]", "日本語のポート"])
def test_hostile_names_do_nothing(shown: Any, name: str) -> None:
    one, other = node(name, netdevs=[netdev(name)], hcas=[hca(name, name)]), node("beta", netdevs=[netdev("p0")])
    fabric = Fabric(nodes=(one, other), links=(link((name, name, None), ("beta", "p0", None)),))
    text = shown(render_links(traced(fabric)))
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert len(text.split("\n\n")[0].splitlines()) == 2


def test_in_ascii_every_mark_has_a_look_alike() -> None:
    class Ascii(io.StringIO):
        encoding = "ascii"

    out = Ascii()
    screen = Screen(out, io.StringIO(), {"COLUMNS": "80"})
    fabric = traced(spark_foreign())
    screen.show(fabric, "links")
    screen.close()
    text = out.getvalue()
    assert text.isascii()
    assert "?" not in text
    assert " -+- cable, straight --+- " in text
    assert "x foreign         dead x" in text


def test_no_colour_is_no_escape(shown: Any) -> None:
    assert "\x1b" not in shown(render_links(traced(spark_foreign())))
