"""What a value of NCCL_IB_HCA or NCCL_SOCKET_IFNAME takes on each node: the answer to `fabricdoc cables --match`.

Of more than eight, nodes on which it takes the same share their rows. Shows what the document says and judges nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Match, MatchedPort, NodeMatch
from fabricdoc.report.cells import BOLD, DIM, GOOD, WARN, Column, Name, Words, indent, line, table
from fabricdoc.report.selectors import quoted
from fabricdoc.report.text import UNKNOWN, fact_text

if TYPE_CHECKING:
    from rich.console import RenderableType

NAMED = 4
MOST_LISTED = 8
"""Nodes up to which each has rows of its own, with its peers by name."""


def render_matches(matches: Sequence[Match]) -> list[RenderableType]:
    """A part per value."""
    return [piece for match in matches for piece in (line(), *_match(match))]


def _match(match: Match) -> list[RenderableType]:
    title = line((f"{match.variable}={quoted(match.value) if match.value else ''}", BOLD), f"  takes {match.reading}")
    parts: list[RenderableType] = [title]
    for nodes, one in _alike(match.nodes):
        parts += _of_nodes(nodes, one, match)
    return [*parts, *(indent(line((remark, WARN))) for remark in match.remarks)]


def _alike(nodes: Sequence[NodeMatch]) -> list[tuple[list[str], NodeMatch]]:
    """Of many nodes together those on which the same is taken, with peers or without, and the same is to be said."""
    if len(nodes) <= MOST_LISTED:
        return [([one.node], one) for one in nodes]
    groups: dict[tuple[object, ...], tuple[list[str], NodeMatch]] = {}
    for one in nodes:
        ports = one.ports if isinstance(one.ports, Unknown) else tuple(map(_look, one.ports))
        groups.setdefault((ports, one.remarks), ([], one))[0].append(one.node)
    return list(groups.values())


def _look(port: MatchedPort) -> tuple[object, ...]:
    peers = port.peers if isinstance(port.peers, Unknown) else bool(port.peers)
    return port.hca, port.port, port.netdev, peers


def _of_nodes(names: Sequence[str], one: NodeMatch, match: Match) -> list[RenderableType]:
    shown = ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")
    if isinstance(one.ports, Unknown):
        return [indent(line((shown, BOLD), "  ", (f"not known: {one.ports.unknown}", WARN)))]
    is_hca = match.variable == "NCCL_IB_HCA"
    count = f"{len(one.ports)} {'device' if is_hca else 'interface'}{'' if len(one.ports) == 1 else 's'}"
    head = indent(line((shown, BOLD), f"  {count if one.ports else 'nothing'}"))
    columns = [Column("#", right=True), *([Column("HCA", flex=True)] if is_hca else []), Column("interface", flex=True)]
    rows = [_row(at, port, is_hca=is_hca, alone=len(names) == 1) for at, port in enumerate(one.ports)]
    rendered = [table([*columns, Column("meets", flex=True)], rows, by=4)] if rows else []
    return [head, *rendered, *(indent(line((remark, WARN)), 4) for remark in one.remarks)]


def _row(at: int, port: MatchedPort, *, is_hca: bool, alone: bool) -> list[Words | RenderableType]:
    hca: list[Words | RenderableType] = [Name(f"{port.hca}:{port.port}")] if is_hca else []
    return [str(at), *hca, Name(fact_text(port.netdev)), _meets(port, is_hca=is_hca, alone=alone)]


def _meets(port: MatchedPort, *, is_hca: bool, alone: bool) -> Words:
    """Whom it meets; of an interface, which need not be cabled, only that no link is proven."""
    if isinstance(port.peers, Unknown):
        return f"{UNKNOWN} ({port.peers.unknown})", DIM
    if not port.peers:
        return ("nobody: no proven peer, leave it out", WARN) if is_hca else ("no proven link", DIM)
    if not alone:
        return "a proven peer", GOOD
    more = f" and {len(port.peers) - NAMED} more" if len(port.peers) > NAMED else ""
    return ", ".join(port.peers[:NAMED]) + more, GOOD
