"""LLDP's table: who is at the other end, told as text and never as codes; silent where nobody was asked."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, LldpNeighbour
from fabricdoc.report.fabric import render_fabric
from fabricdoc.report.lldp import MOST, render_lldp
from tests.fabrics import node

pytestmark = pytest.mark.unit

BETA = LldpNeighbour(netdev="p0", chassis="c", port="02:00:00:00:02:01", system="beta", port_description="p1")
LEAF = LldpNeighbour(netdev="p1", chassis="0c:00:00:00:00:01", port="Ethernet1/7", bridge=True)


def fabric_of(*lldp: Any) -> Fabric:
    nodes = (node(name).model_copy(update={"lldp": told}) for name, told in zip(("alpha", "beta"), lldp, strict=False))
    return Fabric(nodes=tuple(nodes))


def rows(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines() if line.strip()]


def test_a_row_per_neighbour_with_names_first(shown: Any) -> None:
    assert rows(shown(render_lldp(fabric_of((BETA, LEAF), (BETA,))))) == [
        ["LLDP", "neighbour", "its", "port"],
        ["alpha/p0", "beta", "p1"],
        ["alpha/p1", "0c:00:00:00:00:01", "Ethernet1/7", "switch"],
        ["beta/p0", "beta", "p1"],
    ]


@pytest.mark.parametrize(
    "reason", ["no lldpd runs here; `--lldp` listens without one", "not read", "not in the dump", "time limit"]
)
def test_nobody_asked_is_nothing_shown(reason: str) -> None:
    assert render_lldp(fabric_of(Unknown(unknown=reason), ())) == []


def test_a_node_that_was_asked_and_has_none_says_why(shown: Any) -> None:
    refused = Unknown(unknown="lldpcli ended with 1: Permission denied")
    text = shown(render_lldp(fabric_of((BETA,), refused)))
    assert rows(text)[-1] == ["LLDP", "beta:", "unknown:", "lldpcli", "ended", "with", "1:", "Permission", "denied"]
    assert rows(shown(render_lldp(fabric_of(refused)))) == [
        ["LLDP", "alpha:", "unknown:", "lldpcli", "ended", "with", "1:", "Permission", "denied"]
    ]


def test_many_are_counted(shown: Any) -> None:
    many = tuple(BETA.model_copy(update={"netdev": f"p{number}"}) for number in range(MOST + 3))
    text = shown(render_lldp(fabric_of(many)))
    assert len(rows(text)) == MOST + 2
    assert rows(text)[-1] == ["and", "3", "more", "neighbours"]


def test_it_stands_in_the_fabric_of_both_commands(shown: Any) -> None:
    for part in ("all", "links"):
        assert "its port" in shown(render_fabric(fabric_of((BETA,), ()), part))
    assert "its port" not in shown(render_fabric(fabric_of((), ())))


def test_a_neighbour_can_not_write_to_the_terminal(shown: Any) -> None:
    hostile = BETA.model_copy(update={"system": "\x1b[31mred\x07", "port_description": "[bold]p1[/bold]"})
    text = shown(render_lldp(fabric_of((hostile,))))
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "[bold]p1[/bold]" in text
