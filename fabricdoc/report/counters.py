"""The counters that grew while a node was watched, largest first. What a growth means comes from findings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Node
from fabricdoc.report.cells import DIM, WARN, Column, Name, Words, indent, line, table
from fabricdoc.report.text import counted

if TYPE_CHECKING:
    from rich.console import RenderableType

MOST = 12


def render_grown(node: Node) -> list[RenderableType]:
    """Nothing for a node that was not watched; else a row per counter that grew, or the word that none did."""
    if not node.watched_s:
        return []
    if isinstance(node.counters, Unknown):
        return [indent(line(("grew  ", DIM), (f"unknown: {node.counters.unknown}", WARN)))]
    grown = sorted(
        ((by, one.subject, name) for one in node.counters for name, by in one.deltas.items() if by), reverse=True
    )
    if not grown:
        return [indent(line(("grew  ", DIM), f"no counter in {node.watched_s:.3g} s"))]
    columns = [
        Column("counter", flex=True),
        Column("of", flex=True),
        Column(f"grew in {node.watched_s:.3g} s", right=True),
    ]
    rows: list[list[Words | RenderableType]] = [
        [Name(name), Name(subject), f"{by:,}"] for by, subject, name in grown[:MOST]
    ]
    more = len(grown) - MOST
    rest = [indent(line((f"and {counted(more, 'more counter')}", DIM)))] if more > 0 else []
    return [table(columns, rows), *rest]
