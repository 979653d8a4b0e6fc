"""Many nodes: like ones share a row, odd ones are named, nothing grows with the number of nodes."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.fabric import traced
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Link
from fabricdoc.report.links import render_links
from tests.fabrics import link, netdev, node
from tests.fabrics.servers import eight_rail_servers

pytestmark = pytest.mark.unit


def text(fabric: Fabric, shown: Any, width: int = 80) -> str:
    found: str = shown(render_links(traced(fabric)), width)
    return found


def cabled(count: int, *, ring: bool = True) -> Fabric:
    """`count` nodes in a ring of cables, or a chain."""
    names = [f"n{number:03}" for number in range(count)]
    pairs = list(zip(names, [*names[1:], names[0]], strict=True))[: count if ring else count - 1]
    nodes = tuple(node(name, netdevs=[netdev("p0"), netdev("p1")]) for name in names)
    return Fabric(nodes=nodes, links=tuple(link((a, "p0", None), (b, "p1", None)) for a, b in pairs))


@pytest.mark.long
def test_healthy_servers_are_one_row(shown: Any) -> None:
    found = text(eight_rail_servers(40), shown)
    assert "server-001 ... server-040 (40 nodes)  1  1  1  1  1  1  1  1" in found
    assert "   0  enp20s0np0 mlx5_0   40 nodes" in found


def test_rails_cabled_to_each_others_leaf_are_named(shown: Any) -> None:
    found = text(eight_rail_servers(40, bad_rail=5, fault="swapped"), shown)
    assert "server-040                            1  1  1  1  1  1! 1! 1" in found
    assert "enp180s0np0 mlx5_5  40 nodes  server-040/enp212s0np0" in found
    assert "server-001 ... server-039 (39 nodes)  1  1  1  1  1  1  1  1" in found


@pytest.mark.long
def test_a_port_without_a_link_is_a_gap_and_named_below(shown: Any) -> None:
    found = text(eight_rail_servers(40, bad_rail=2, fault="down"), shown)
    assert "server-040                            1  1  -  1  1  1  1  1" in found
    assert "1 port dead: no carrier: server-040/enp84s0np0" in found
    assert "39 nodes" in found


def test_few_nodes_have_a_row_each(shown: Any) -> None:
    found = text(eight_rail_servers(10), shown)
    assert [row.split()[0] for row in found.splitlines() if row.startswith("server")] == [
        f"server-{number:03}" for number in range(1, 11)
    ]


def test_cables_alone_are_nodes_by_nodes(shown: Any) -> None:
    rows = [row.split() for row in text(cabled(9), shown).splitlines()]
    assert rows[0] == ["nodes", *map(str, range(9))]
    assert rows[1] == ["0", "n000", ".", "1", "-", "-", "-", "-", "-", "-", "1"]
    assert rows[5] == ["4", "n004", "-", "-", "-", "1", ".", "1", "-", "-", "-"]


def test_too_many_nodes_for_a_square_are_told_by_how_many_cables_they_have(shown: Any) -> None:
    found = text(cabled(100, ring=False), shown)
    assert "(98 nodes)  2 cables  to 2 nodes" in found
    assert "n000, n099" in found
    assert "1 cable   to 1 node" in found


def test_one_way_links_are_named_up_to_a_bound(shown: Any) -> None:
    fabric = cabled(40)
    assert not isinstance(fabric.links, Unknown)
    broken: tuple[Link, ...] = tuple(one.model_copy(update={"kind": "one-way"}) for one in fabric.links)
    one = fabric.model_copy(update={"links": (broken[0], *fabric.links[1:])})
    assert "one-way: n000/p0 - n001/p1" in text(one, shown)
    many = text(fabric.model_copy(update={"links": broken}), shown)
    assert many.count("one-way: ") == 16
    assert "and 24 more one-way links" in many


@pytest.mark.long
@pytest.mark.parametrize("width", [40, 80])
def test_many_nodes_take_no_more_room_than_forty(shown: Any, width: int) -> None:
    many, few = (text(eight_rail_servers(count, bad_rail=5, fault="swapped"), shown, width) for count in (120, 40))
    assert len(many.splitlines()) == len(few.splitlines())
    assert max(map(len, many.splitlines())) <= width


@pytest.mark.long
def test_all_odd_nodes_and_many_wires_stay_bounded(shown: Any) -> None:
    """Every node on wires of its own: kinds and wires are cut, with how many are left out."""
    names = [f"n{number:03}" for number in range(60)]
    nodes = tuple(node(name, netdevs=[netdev(f"p{at}") for at in range(60)]) for name in names)
    links = tuple(
        link((names[at], f"p{at}", None), (names[(at + step) % 60], f"p{at}", None), kind="segment")
        for at in range(60)
        for step in (1, 2)
    )
    found = text(Fabric(nodes=nodes, links=links), shown)
    assert "and 40 wires more" in found
    assert "other kinds of node" in found
    assert len(found.splitlines()) < 60
