"""Many nodes at a glance: nodes by wires where switches join them, nodes by nodes where cables do.

Nodes that look alike share a row; those that do not are named. Fits 80 columns whatever the number of nodes; the whole
map is in the JSON document and the graphs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from fabricdoc.model.fabric import Fabric
from fabricdoc.report.cells import BAD, BOLD, DIM, WARN, Column, Name, Words, line, table
from fabricdoc.report.text import counted
from fabricdoc.report.wires import Lone, Wire

if TYPE_CHECKING:
    from rich.console import RenderableType

MOST_COLUMNS = 20
MOST_ROWS = 16
NAMED = 4
Cells = tuple[str, ...]


def render_matrix(fabric: Fabric, wires: Sequence[Wire], lone: Sequence[Lone]) -> list[RenderableType]:
    """The matrix, then what is odd: ports on another wire than their like, one-way links, ports that meet nobody."""
    names = [node.name for node in fabric.nodes]
    by_wire = any(wire.is_switch for wire in wires)
    shown = by_wires(names, wires) if by_wire else by_nodes(names, wires)
    return [*shown, *_odd(wires), *_lone(lone)]


def by_wires(names: Sequence[str], wires: Sequence[Wire]) -> list[RenderableType]:
    """A table of the wires (which port usually, how many nodes), and how many ports each node has on each."""
    wide = sorted(wires, key=lambda wire: -len(wire.nodes))[:MOST_COLUMNS]
    columns = [wire for wire in wires if any(wire is one for one in wide)]
    usual = [usual_port(wire) for wire in columns]
    rows: list[list[Words | RenderableType]] = [
        [str(number), Name(port), counted(len(wire.nodes), "node"), Name(_others(wire, port))]
        for number, (wire, port) in enumerate(zip(columns, usual, strict=True))
    ]
    head = [
        Column("wire", right=True),
        Column("port", flex=True),
        Column("nodes"),
        Column("other ports on it", flex=True),
    ]
    hidden = len(wires) - len(columns)
    more = [line((f"and {counted(hidden, 'wire')} more, with fewer nodes", DIM))] if hidden else []
    return [table(head, rows, by=0), *more, line(), *_patterns(names, _wire_cells(names, columns, usual), len(columns))]


def usual_port(wire: Wire) -> str:
    """The port that most nodes have on a wire: interface and HCA."""
    return Counter(port.text() for port in wire.ports).most_common(1)[0][0]


def _others(wire: Wire, usual: str) -> str:
    """Ports of a wire that are called otherwise than most; twins of the usual one are none."""
    twins = {text for text, count in Counter(port.text() for port in wire.ports).items() if 2 * count > len(wire.nodes)}
    odd = [port for port in wire.ports if port.text() != usual and port.text() not in twins]
    named = ", ".join(f"{port.node}/{port.netdev}" for port in odd[:NAMED])
    return named + (f" and {len(odd) - NAMED} more" if len(odd) > NAMED else "")


def _wire_cells(names: Sequence[str], wires: Sequence[Wire], usual: Sequence[str]) -> dict[str, Cells]:
    """Per node and wire: how many ports it has there, `-` for none; with `!` where the usual one is not among them."""
    cells = {name: ["-"] * len(wires) for name in names}
    for number, (wire, port) in enumerate(zip(wires, usual, strict=True)):
        mine: dict[str, list[str]] = {}
        for one in wire.ports:
            mine.setdefault(one.node, []).append(one.text())
        for name, texts in mine.items():
            if name in cells:
                cells[name][number] = str(len(texts)) if port in texts else f"{len(texts)}!"
    return {name: tuple(row) for name, row in cells.items()}


def by_nodes(names: Sequence[str], wires: Sequence[Wire]) -> list[RenderableType]:
    """How many cables join each pair of nodes; above the columns there is room for, how many each node has."""
    between: Counter[tuple[str, str]] = Counter()
    for wire in wires:
        for one in wire.nodes:
            between.update((one, other) for other in wire.nodes if other != one)
    if len(names) <= MOST_COLUMNS:
        cells = {
            one: tuple("." if one == other else str(between[one, other] or "-") for other in names) for one in names
        }
        return _rows([([name], cells[name]) for name in names], len(names), numbered=True)
    peers: Counter[str] = Counter(one for one, _other in between)
    cables: Counter[str] = Counter()
    for (one, _other), count in between.items():
        cables[one] += count
    cells = {name: (counted(cables[name], "cable"), f"to {counted(peers[name], 'node')}") for name in names}
    head = [Column("nodes", flex=True), Column("cables"), Column("")]
    return [table(head, [[Name(_named(group)), *row] for group, row in _alike(cells)], by=0)]


def _patterns(names: Sequence[str], cells: Mapping[str, Cells], width: int) -> list[RenderableType]:
    """A row for each kind of node; every node by itself where they are few."""
    alike = _alike(cells)
    if len(names) <= MOST_ROWS:
        return _rows([([name], cells[name]) for name in names], width)
    more = (
        [line((f"and {counted(len(alike) - MOST_ROWS, 'other kind')} of node", WARN))] if len(alike) > MOST_ROWS else []
    )
    return [*_rows(alike[:MOST_ROWS], width), *more]


def _alike(cells: Mapping[str, Cells]) -> list[tuple[list[str], Cells]]:
    """Nodes with the same cells together, the most frequent kind first."""
    groups: dict[Cells, list[str]] = {}
    for name, row in cells.items():
        groups.setdefault(row, []).append(name)
    return [(group, row) for row, group in sorted(groups.items(), key=lambda item: -len(item[1]))]


def _rows(rows: Sequence[tuple[Sequence[str], Cells]], width: int, *, numbered: bool = False) -> list[RenderableType]:
    """Rows of a matrix under the numbers of its columns; the first row's cells are what is usual."""
    columns = [
        *([Column("", right=True)] if numbered else []),
        Column("nodes", flex=True),
        Column(_spread(range(width))),
    ]
    usual = rows[0][1] if rows else ()
    made: list[list[Words | RenderableType]] = []
    for number, (group, cells) in enumerate(rows):
        style = WARN if not numbered and cells != usual else ""
        mark: list[Words | RenderableType] = [str(number)] if numbered else []
        made.append([*mark, Name(_named(group)), (_spread(cells), style)])
    return [table(columns, made, by=0)]


def _spread(cells: Sequence[object]) -> str:
    return "".join(f"{cell!s:<3}" for cell in cells).rstrip()


def _named(names: Sequence[str]) -> str:
    if len(names) == 1:
        return names[0]
    if len(names) <= NAMED:
        return ", ".join(names)
    return f"{names[0]} ... {names[-1]} ({len(names)} nodes)"


def _odd(wires: Sequence[Wire]) -> list[RenderableType]:
    """One-way links, named."""
    broken = [link for wire in wires for link in wire.links if link.kind == "one-way"]
    rows = [line((f"one-way: {link.a.node}/{link.a.netdev} - {link.b.node}/{link.b.netdev}", BAD)) for link in broken]
    more = [line((f"and {len(rows) - MOST_ROWS} more one-way links", BAD))] if len(rows) > MOST_ROWS else []
    return [line(), *rows[:MOST_ROWS], *more] if rows else []


def _lone(lone: Sequence[Lone]) -> list[RenderableType]:
    """Ports that meet nobody, by what is known of them, the first ones named."""
    by_why: dict[str, list[str]] = {}
    for one in lone:
        by_why.setdefault(one.why, []).append(f"{one.port.node}/{one.port.netdev}")
    rows = []
    for why, ports in by_why.items():
        more = f" and {len(ports) - NAMED} more" if len(ports) > NAMED else ""
        rows.append(line((f"{counted(len(ports), 'port')} ", BOLD), f"{why}: {', '.join(ports[:NAMED])}{more}"))
    return [line(), *rows] if rows else []
