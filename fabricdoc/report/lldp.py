"""What LLDP says is at the other end of each port, as a table: who, which port there, and whether it is a switch.

Shows what neighbours say of themselves. What follows from it comes as links and findings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, LldpNeighbour
from fabricdoc.report.cells import DIM, WARN, Column, Name, Words, indent, line, table
from fabricdoc.report.text import counted

if TYPE_CHECKING:
    from rich.console import RenderableType

MOST = 24
QUIET = ("no lldpd runs here", "not read", "not in the dump", "time limit")
"""Reasons that say no more than that nobody was asked."""


def render_lldp(fabric: Fabric) -> list[RenderableType]:
    """A row per neighbour, at most 24, then why a node that was asked has none; nothing where nobody was asked."""
    told = [(node.name, one) for node in fabric.nodes for one in _neighbours(node.lldp)]
    reasons = [
        indent(line(("LLDP  ", DIM), f"{node.name}: ", (f"unknown: {node.lldp.unknown}", WARN)))
        for node in fabric.nodes
        if isinstance(node.lldp, Unknown) and not node.lldp.unknown.startswith(QUIET)
    ]
    if not told:
        return list(reasons)
    columns = [Column("LLDP", flex=True), Column("neighbour", flex=True), Column("its port", flex=True), Column("")]
    more = len(told) - MOST
    rest = [indent(line((f"and {counted(more, 'more neighbour')}", DIM)))] if more > 0 else []
    return [table(columns, [_row(node, one) for node, one in told[:MOST]], by=0), *rest, *reasons]


def _neighbours(lldp: tuple[LldpNeighbour, ...] | Unknown) -> tuple[LldpNeighbour, ...]:
    return () if isinstance(lldp, Unknown) else lldp


def _row(node: str, one: LldpNeighbour) -> list[Words | RenderableType]:
    port = one.port_description or one.port
    return [
        Name(f"{node}/{one.netdev}"),
        Name(one.system or one.chassis),
        Name(port),
        "switch" if one.bridge else "",
    ]
