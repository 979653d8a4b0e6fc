"""The cable map for people: two nodes drawn side by side, three to eight as a list by node, more as a matrix.

Every way shows the same links with what proved them. Graphs for other programs are `graphs`'; judges nothing.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Link
from fabricdoc.model.naming import node_word
from fabricdoc.report.cells import BAD, BOLD, DIM, WARN, Column, Command, Name, Words, indent, line, table
from fabricdoc.report.drawing import NARROWEST, PairDrawing
from fabricdoc.report.matrix import render_matrix
from fabricdoc.report.text import to_paste
from fabricdoc.report.wires import Lone, Port, Wire, lies, lone_ports, ports_of, proof_text, wire_lies, wires_of

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType

NOT_ASKED = Unknown(unknown="not asked")
KINDS = {"cable": "", "segment": "", "one-way": BAD, "loop": WARN}
MOST_LISTED = 8
"""Nodes up to which every link has a line."""
MOST_PEERS = 3


def render_links(fabric: Fabric) -> list[RenderableType]:
    """The map as its size allows, or why there is none."""
    if fabric.links == NOT_ASKED and len(fabric.nodes) > 1:
        words = (node_word(one.name, one.target) for one in fabric.nodes)
        paste = f"fabricdoc scan --nodes {','.join(map(shlex.quote, words))}"
        reason = "unknown: nobody looked for them; one scan of these nodes together proves them"
        return [line(("links ", BOLD), (reason, WARN)), indent(Command(paste))]
    if fabric.links == NOT_ASKED:
        return [line(("links ", BOLD), "not looked for: cables need at least two nodes, name them with --nodes")]
    if isinstance(fabric.links, Unknown):
        reason, paste = to_paste(fabric.links.unknown)
        return [line(("links ", BOLD), (f"unknown: {reason}", WARN)), *([indent(Command(paste))] if paste else [])]
    if not fabric.links:
        return [line(("links ", BOLD), ("none: no port heard a port of another node", WARN))]
    ports = ports_of(fabric)
    wires = wires_of(fabric, ports)
    lone = lone_ports(fabric, ports, wires)
    if len(fabric.nodes) > MOST_LISTED:
        return render_matrix(fabric, wires, lone)
    if len(fabric.nodes) > 2:
        return list(_by_node(fabric, wires, lone))
    drawn = [_Wide(PairDrawing(_pair(fabric), wires, lone)), _Wide(line())] if wires and len(fabric.nodes) == 2 else []
    return [*drawn, link_table(fabric.links)]


def _pair(fabric: Fabric) -> tuple[str, str]:
    return fabric.nodes[0].name, fabric.nodes[1].name


class _Wide:
    """What is shown only where there is room for it."""

    def __init__(self, inner: RenderableType) -> None:
        self._inner = inner

    def __rich_console__(self, _console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        if options.max_width >= NARROWEST:
            yield self._inner


def link_table(links: Sequence[Link]) -> RenderableType:
    """`alpha/p0  <->  beta/p1  cable, crossed, proven by beacons 3+3`, one line per link."""
    columns = [Column("link", flex=True), Column(""), Column("", flex=True), Column("proof", flex=True)]
    return table(columns, [_link_row(link) for link in links], by=0)


def _link_row(link: Link) -> list[Words | RenderableType]:
    a, b = f"{link.a.node}/{link.a.netdev}", f"{link.b.node}/{link.b.netdev}"
    bad = BAD if link.rdma is False else KINDS[link.kind]
    return [Name(a), _arrow(link), Name(b), (f"{lies(link)}, proven by {proof_text(link)}", bad)]


def _arrow(link: Link) -> str:
    if link.kind != "one-way":
        return "<->"
    return "-->" if link.proof.frames_a_to_b else "<--"


def _by_node(fabric: Fabric, wires: Sequence[Wire], lone: Sequence[Lone]) -> Iterator[RenderableType]:
    """Each node with a line per end of a wire, then its ports that meet nobody."""
    columns = [
        Column("port", flex=True),
        Column("meets", flex=True),
        Column("link", flex=True),
        Column("proof", flex=True),
    ]
    for number, node in enumerate(fabric.nodes):
        rows = [row for wire in wires for row in _end_rows(node.name, wire)]
        alone: list[list[Words | RenderableType]] = [
            [Name(one.port.text()), "-", (one.why, DIM if one.why.startswith("dead") else WARN), ""]
            for one in lone
            if one.port.node == node.name
        ]
        yield from [line()] if number else []
        yield line((node.name, BOLD))
        yield table(columns, [*rows, *alone]) if rows or alone else indent(line(("no link", WARN)))


def _end_rows(node: str, wire: Wire) -> Iterator[list[Words | RenderableType]]:
    """The line of a node's ports on one wire, one for each cage."""
    mine = [port for port in wire.ports if port.node == node]
    others = [port for port in wire.ports if port.node != node]
    for cage in dict.fromkeys(port.cage or port.netdev for port in mine):
        own = [port for port in mine if (port.cage or port.netdev) == cage]
        link = next(one for one in wire.links if node in (one.a.node, one.b.node))
        text = wire_lies(wire)
        bad = BAD if any(one.kind == "one-way" or one.rdma is False for one in wire.links) else ""
        yield [Name(_ports_text(own)), Name(_peers(others)), (text, bad), (proof_text(link), DIM)]


def _ports_text(ports: Sequence[Port]) -> str:
    """`cage p0: enp1s0f0np0 +1`: a cage's first port, and how many share the cage with it."""
    cage = f"{ports[0].cage}: " if ports[0].cage else ""
    return f"{cage}{_and_twins(ports)}"


def _and_twins(ports: Sequence[Port]) -> str:
    return ports[0].netdev + (f" +{len(ports) - 1}" if len(ports) > 1 else "")


def _peers(ports: Sequence[Port]) -> str:
    """The other end of a cable with its ports; of a switch the nodes on it."""
    nodes = list(dict.fromkeys(port.node for port in ports))
    if len(nodes) == 1:
        return f"{nodes[0]}/{_and_twins(ports)}"
    more = f" and {len(nodes) - MOST_PEERS} more" if len(nodes) > MOST_PEERS else ""
    return ", ".join(nodes[:MOST_PEERS]) + more if nodes else "nobody"
