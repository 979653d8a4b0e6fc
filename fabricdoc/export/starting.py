"""A preset from a scan alone: the selectors that the proven links give, and curated values for such machines.

Every line says that it was not measured here and where it is from. Which ports and which advice hold is the cable
map's; this only puts them together. It is for the first start of a server; a bench gives values that were measured.
"""

from __future__ import annotations

import shlex

from fabricdoc.errors import InconclusiveError, UsageError
from fabricdoc.export.starting_files import Starting, of_platform
from fabricdoc.export.starting_prints import prints_of
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Link, Node
from fabricdoc.model.naming import node_word
from fabricdoc.model.preset import Line, NodePreset, Preset
from fabricdoc.model.selectors import NodeSelectors, PortSet

NOT_MEASURED = "not measured here"


def starting_preset(platform: str, fabric: Fabric) -> Preset:
    """The curated preset for these nodes. `fabric` is a scan with its cables.

    UsageError for an unknown platform, nodes of another one, or a shape there is none for; InconclusiveError where no
    link is proven, since then no port may be listed, or where proven ports have no RDMA device.
    """
    known = of_platform(platform)
    _check_nodes(fabric)
    _check_gpus(known, fabric)
    chosen = _chosen(known, fabric)
    sets = {one.node: _set_of(one, chosen) for one in _selectors(fabric)}
    _check_hcas(sets, fabric)
    nodes = tuple(_node(node, sets[node.name], chosen, fabric) for node in fabric.nodes)
    return Preset(
        name=f"starting-{chosen.name}",
        run="",
        backend="nccl",
        objective="none",
        profile="",
        choice=f"starting:{chosen.name}",
        reason=f"{chosen.summary} ({chosen.source})",
        exercised=f"{NOT_MEASURED}: proven links and values that others use on such machines",
        not_exercised=(
            "Nothing was measured: run `fabricdoc bench` on these nodes for values that were.",
            *(f"{one.name} is left alone: {one.why}" for one in chosen.left_out),
        ),
        nodes=nodes,
        fingerprint=prints_of(fabric, {name: one.netdevs for name, one in sets.items()}),
    )


def _check_nodes(fabric: Fabric) -> None:
    if fabric.failed:
        names = ", ".join(node.name for node in fabric.failed)
        fix = f"make it answer: fabricdoc scan {_nodes(fabric)}"
        raise InconclusiveError(f"{names} could not be looked at", fix=fix, id="node-unread")
    if len(fabric.nodes) < 2:
        raise UsageError("a starting preset needs two nodes or more", fix="--nodes A,B", id="nodes-needed")
    if isinstance(fabric.links, Unknown) or fabric.selectors is None:
        reason = fabric.links.unknown if isinstance(fabric.links, Unknown) else "no link between nodes is proven"
        raise InconclusiveError(
            reason, fix=f"see what is missing: fabricdoc cables {_nodes(fabric)}", id="no-proven-link"
        )


def _nodes(fabric: Fabric) -> str:
    """`--nodes` as it was typed, or as the scan names them."""
    named = {node.name: node.target for node in fabric.nodes} | {lost.name: lost.target for lost in fabric.failed}
    words = (node_word(name, target) for name, target in named.items())
    return f"--nodes {','.join(map(shlex.quote, words))}"


def _check_gpus(known: tuple[Starting, ...], fabric: Fabric) -> None:
    """Nodes whose GPUs are known to be others than the platform's; nodes that tell none are let pass."""
    words = {word for one in known for word in one.gpus}
    for node in fabric.nodes:
        gpus = () if isinstance(node.gpus, Unknown) else node.gpus
        names = [gpu.name for gpu in gpus if isinstance(gpu.name, str)]
        if words and names and not any(word in name for name in names for word in words):
            raise UsageError(
                f"{node.name} has {names[0]}, which is not platform {known[0].platform}",
                fix="name the platform of these nodes",
                id="another-platform",
            )


def _check_hcas(sets: dict[str, PortSet], fabric: Fabric) -> None:
    """RoCE platforms need HCAs: without them the preset would quietly be one for sockets."""
    bare = [name for name, one in sets.items() if not one.hcas]
    if bare:
        raise InconclusiveError(
            f"the proven ports of {', '.join(bare)} have no RDMA device",
            fix=f"see why: fabricdoc scan {_nodes(fabric)}",
            id="no-rdma-port",
        )


def _chosen(known: tuple[Starting, ...], fabric: Fabric) -> Starting:
    shapes, cables, count = shapes_of(fabric), cables_of(fabric), len(fabric.nodes)
    for one in known:
        fits = one.nodes[0] <= count <= one.nodes[1] and one.cables[0] <= cables <= one.cables[1]
        if one.shape in shapes and fits and all(_has_set(sets, one) for sets in _selectors(fabric)):
            return one
    told = f"{count} nodes, {' or '.join(shapes) or 'no shape'}, {cables} cable{'s' if cables != 1 else ''} a node"
    there = ", ".join(f"{one.name} ({one.shape})" for one in known)
    raise UsageError(
        f"there is no starting preset of platform {known[0].platform} for {told}",
        fix=f"measure instead: fabricdoc bench {_nodes(fabric)}; there are: {there}",
        id="no-starting-preset",
    )


def shapes_of(fabric: Fabric) -> tuple[str, ...]:
    """How the nodes are joined: ring, switch, or pair (cables alone); and rails where rails reach every node.

    The four ports of two twins at the ends of one cable all meet each other, as on a switch: what counts is how many
    connectors a wire joins. A switch between two connectors looks like a cable here.
    """
    wires = _wires(fabric)
    shapes = []
    if any("ring" in link.traits for link in _links(fabric)):
        shapes.append("ring")
    elif any(len(wire) > 2 for wire in wires):
        shapes.append("switch")
    elif wires and len(fabric.nodes) == 2:
        shapes.append("pair")
    if fabric.selectors is not None and fabric.selectors.rails:
        shapes.append("rails")
    return tuple(shapes)


def cables_of(fabric: Fabric) -> int:
    """The most connectors of one node that lead to another one."""
    ends = {end for wire in _wires(fabric) for end in wire}
    return max((sum(node.name == name for name, _ in ends) for node in fabric.nodes), default=0)


def _wires(fabric: Fabric) -> list[set[tuple[str, str]]]:
    """The connectors, (node, cage or port), that each wire between nodes joins."""
    cages = {(node.name, hca): cage.id for node in fabric.nodes for cage in node.cages for hca in cage.hcas}
    wires: list[set[tuple[str, str]]] = []
    for link in _links(fabric):
        ends = {(end.node, cages.get((end.node, end.hca or ""), end.netdev)) for end in (link.a, link.b)}
        touching = [wire for wire in wires if wire & ends]
        wires = [wire for wire in wires if not wire & ends] + [ends.union(*touching)]
    return wires


def _links(fabric: Fabric) -> tuple[Link, ...]:
    """Links between two nodes."""
    links = () if isinstance(fabric.links, Unknown) else fabric.links
    return tuple(link for link in links if link.a.node != link.b.node and link.kind in ("cable", "segment"))


def _selectors(fabric: Fabric) -> tuple[NodeSelectors, ...]:
    return () if fabric.selectors is None else fabric.selectors.nodes


def _has_set(selectors: NodeSelectors, chosen: Starting) -> bool:
    return any(one.name in chosen.ports for one in selectors.sets)


def _set_of(selectors: NodeSelectors, chosen: Starting) -> PortSet:
    """The first of the wanted sets that the node has (`_chosen` made sure of one)."""
    return next(one for name in chosen.ports for one in selectors.sets if one.name == name)


def _node(node: Node, ports: PortSet, chosen: Starting, fabric: Fabric) -> NodePreset:
    lines = _lines(node.name, ports, chosen, fabric)
    return NodePreset(name=node.name, target=node.target, lines=tuple(lines.values()))


def _lines(node: str, ports: PortSet, chosen: Starting, fabric: Fabric) -> dict[str, Line]:
    """Selectors, then what the cable map advises where all ports are listed, then curated values.

    A name the fabric itself decides keeps that value.
    """
    from_links = f"{NOT_MEASURED}; from the proven links: {ports.why}"
    found = {name: _line(name, value, from_links) for name, value in ports.variables.items()}
    every = next(one.sets[-1].name for one in _selectors(fabric) if one.node == node)
    for advice in fabric.selectors.advice if fabric.selectors is not None and ports.name == every else ():
        for name, value in advice.variables.items() if advice.matters else ():
            found[name] = _line(name, value, f"{NOT_MEASURED}; {advice.why}")
    for one in chosen.lines:
        found.setdefault(one.name, _line(one.name, one.value, f"{NOT_MEASURED}; {one.why}. Source: {one.source}"))
    return found


def _line(name: str, value: str, evidence: str) -> Line:
    return Line(name=name, value=value, kind="placed", evidence=evidence)
