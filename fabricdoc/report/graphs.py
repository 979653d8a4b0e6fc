"""The cable map for other programs: Graphviz (dot) and Mermaid, one graph of nodes, cages, ports and cables.

Nodes of the graph have made-up ids (n0p1), so that no name from a node can break the grammar; names stand in labels
only, with everything escaped that either language reads. A switch is a point of its own: links to it grow with ports.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from fabricdoc.errors import InconclusiveError, UsageError
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, PortKey
from fabricdoc.report.text import clean, to_paste
from fabricdoc.report.wires import Port, Wire, lies, lone_ports, ports_of, wire_lies, wires_of

PLAIN = frozenset(" -_.,()/+")


class Edge(NamedTuple):
    """What joins two points of the graph, by their ids; `dashed` where it is no whole cable."""

    one: str
    other: str
    label: str
    dashed: bool


class Graph(NamedTuple):
    """Per node its cages with their ports (by id), the switches by id, and the edges."""

    nodes: tuple[tuple[str, str, tuple[tuple[str, tuple[tuple[str, Port], ...]], ...]], ...]
    switches: tuple[tuple[str, str], ...]
    edges: tuple[Edge, ...]


def graph_text(fabric: Fabric, form: str) -> str:
    """The map as `dot` or `mermaid` text. UsageError for another form, InconclusiveError where links are unknown."""
    if isinstance(fabric.links, Unknown):
        reason, paste = to_paste(fabric.links.unknown)
        raise InconclusiveError(
            f"there is no map to draw: links unknown: {reason}",
            fix=f"add {paste}" if paste else "fabricdoc cables without --format says what is missing",
            id="links-unknown",
        )
    writers: Mapping[str, Callable[[Graph], Iterator[str]]] = {"dot": dot_lines, "mermaid": mermaid_lines}
    if form not in writers:
        raise UsageError(f"no graph is called {form!r}", fix=f"choose one of {', '.join(writers)}")
    return "\n".join(writers[form](graph_of(fabric))) + "\n"


def graph_of(fabric: Fabric) -> Graph:
    """The graph: ports of HCAs and of links, in their cages and nodes, and what joins them."""
    ports = ports_of(fabric)
    wires = wires_of(fabric, ports)
    lone = {one.port.key for one in lone_ports(fabric, ports, wires)}
    loops = [link for link in (fabric.links if isinstance(fabric.links, tuple) else ()) if link.kind == "loop"]
    met = dict.fromkeys(
        [port.key for wire in wires for port in wire.ports] + [key for link in loops for key in link.ends]
    )
    shown = [port for key, port in ports.items() if key in met or key in lone]
    shown += [Port(*key, "", "") for key in met if key not in ports]
    ids = _ids(shown, [node.name for node in fabric.nodes])
    switches = [(f"s{number}", wire) for number, wire in enumerate(one for one in wires if one.is_switch)]
    edges = [edge for wire in wires if not wire.is_switch for edge in _cable_edges(wire, ids)]
    edges += [Edge(ids[port.key], id, "", dashed=False) for id, wire in switches for port in wire.ports]
    edges += [Edge(ids[one], ids[other], lies(link), dashed=True) for link in loops for one, other in [link.ends]]
    return Graph(
        tuple(_clusters(shown, ids)),
        tuple((id, f"switch, {len(wire.ports)} ports") for id, wire in switches),
        tuple(edges),
    )


def _ids(ports: Sequence[Port], names: Sequence[str]) -> dict[PortKey, str]:
    """n0p0, n0p1, n1p0 ...: by node, then port."""
    order = {name: number for number, name in enumerate(dict.fromkeys([*names, *(port.node for port in ports)]))}
    counts: dict[str, int] = {}
    found = {}
    for port in ports:
        number = counts[port.node] = counts.get(port.node, -1) + 1
        found[port.key] = f"n{order[port.node]}p{number}"
    return found


def _cable_edges(wire: Wire, ids: Mapping[PortKey, str]) -> Iterator[Edge]:
    """One edge per link; of a cable with twins those of like places only, since all four are one cable."""
    sides = [[port for port in wire.ports if port.node == node] for node in wire.nodes]
    label = wire_lies(wire)
    if len(sides) != 2 or len(sides[0]) != len(sides[1]) or "one-way" in label:
        for link in wire.links:
            one, other = link.ends
            yield Edge(ids[one], ids[other], lies(link), dashed=link.kind == "one-way")
        return
    for one, other in zip(*(([port.key for port in side]) for side in sides), strict=True):
        yield Edge(ids[one], ids[other], label, dashed=False)


def _clusters(
    ports: Sequence[Port], ids: Mapping[PortKey, str]
) -> Iterator[tuple[str, str, tuple[tuple[str, tuple[tuple[str, Port], ...]], ...]]]:
    by_node: dict[str, dict[str, list[tuple[str, Port]]]] = {}
    for port in ports:
        by_node.setdefault(port.node, {}).setdefault(port.cage, []).append((ids[port.key], port))
    for name, cages in by_node.items():
        id = next(iter(next(iter(cages.values()))))[0].partition("p")[0]
        yield id, name, tuple((cage, tuple(members)) for cage, members in cages.items())


def dot_lines(graph: Graph) -> Iterator[str]:
    """Graphviz: clusters for nodes and cages, an undirected edge for every cable."""
    yield "graph fabric {"
    yield "  rankdir=LR;"
    yield "  node [shape=box];"
    for id, name, cages in graph.nodes:
        yield f"  subgraph cluster_{id} {{"
        yield f"    label={dot_text(name)};"
        for number, (cage, ports) in enumerate(cages):
            rows = [f"{port_id} [label={dot_text(port.netdev, port.hca)}];" for port_id, port in ports]
            if cage:
                yield f"    subgraph cluster_{id}c{number} {{"
                yield f"      label={dot_text(cage)};"
                yield from (f"      {row}" for row in rows)
                yield "    }"
            else:
                yield from (f"    {row}" for row in rows)
        yield "  }"
    yield from (f"  {id} [label={dot_text(label)}, shape=diamond];" for id, label in graph.switches)
    for edge in graph.edges:
        style = ", style=dashed" if edge.dashed else ""
        yield f"  {edge.one} -- {edge.other} [label={dot_text(edge.label)}{style}];"
    yield "}"


def dot_text(*lines: str) -> str:
    """A quoted string of dot: backslashes and quotes escaped, line breaks between the lines that are not empty."""
    kept = [clean(one).replace("\\", "\\\\").replace('"', '\\"') for one in lines if one]
    return '"' + "\\n".join(kept) + '"'


def mermaid_lines(graph: Graph) -> Iterator[str]:
    """Mermaid's flowchart: subgraphs for nodes and cages, a line for every cable."""
    yield "flowchart LR"
    for id, name, cages in graph.nodes:
        yield f'  subgraph {id}["{mermaid_text(name)}"]'
        for number, (cage, ports) in enumerate(cages):
            rows = [f'{port_id}["{mermaid_text(port.netdev, port.hca)}"]' for port_id, port in ports]
            if cage:
                yield f'    subgraph {id}c{number}["{mermaid_text(cage)}"]'
                yield from (f"      {row}" for row in rows)
                yield "    end"
            else:
                yield from (f"    {row}" for row in rows)
        yield "  end"
    yield from (f'  {id}{{"{mermaid_text(label)}"}}' for id, label in graph.switches)
    for edge in graph.edges:
        line = "-.-" if edge.dashed else "---"
        label = f'|"{mermaid_text(edge.label)}"|' if edge.label else ""
        yield f"  {edge.one} {line}{label} {edge.other}"


def mermaid_text(*lines: str) -> str:
    """The inside of a quoted label: every character that Mermaid or its HTML could read is its number, as #35;."""
    return "<br/>".join("".join(map(_entity, clean(one))) for one in lines if one) or " "


def _entity(letter: str) -> str:
    return letter if letter.isalnum() or letter in PLAIN else f"#{ord(letter)};"
