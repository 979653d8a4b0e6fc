"""How each proven link lies: straight or crossed, in a ring, or between the twins of one cage inside their chip.

Told from cages, names and the graph of links, of a fresh fabric and of a saved one alike. A link through a switch is
neither straight nor crossed. Judges nothing: what crossing means for variables is `selecting`'s, and `checks` warn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fabricdoc.checks import rings_of, segments_of
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Endpoint, Fabric, Link, Node
from fabricdoc.transport import NodeSpec

Trait = str


def with_traits(_specs: Sequence[NodeSpec], fabric: Fabric, _progress: Callable[[str], None]) -> Fabric:
    """`traced` as a step of the cables job."""
    return traced(fabric)


def traced(fabric: Fabric) -> Fabric:
    """The fabric with the traits of every link told anew; as it is where links are unknown or none."""
    if isinstance(fabric.links, Unknown) or not fabric.links:
        return fabric
    tell = _Telling(fabric)
    return fabric.model_copy(update={"links": tuple(_with(link, tell.of(link)) for link in fabric.links)})


def _with(link: Link, traits: tuple[Trait, ...]) -> Link:
    update: Mapping[str, Any] = {"traits": traits}
    return link if link.traits == traits else link.model_copy(update=update)


class _Telling:
    """What the traits of one fabric's links are told from, gathered once."""

    def __init__(self, fabric: Fabric) -> None:
        self._nodes = {node.name: node for node in fabric.nodes}
        self._connectors = {node.name: _connectors(node) for node in fabric.nodes}
        self._twins = {(node.name, hca): cage.id for node in fabric.nodes for cage in node.cages for hca in cage.hcas}
        self._cables = {
            (port.node.name, port.netdev.name)
            for segment in segments_of(fabric)
            if segment.is_cable
            for end in segment.ends
            for port in end.ports
        }
        self._rings = {
            frozenset((cable.ends[0].node.name, cable.ends[1].node.name))
            for ring in rings_of(fabric)
            for cable in ring.cables
        }

    def of(self, link: Link) -> tuple[Trait, ...]:
        """The traits of one link."""
        if link.kind == "loop":
            return ("twins",) if self._are_twins(link.a, link.b) else ()
        if not self._is_cable(link):
            return ()
        lies = "straight" if self._place(link.a, link.b) == self._place(link.b, link.a) else "crossed"
        in_ring = frozenset((link.a.node, link.b.node)) in self._rings
        return (lies, "ring") if in_ring else (lies,)

    def _are_twins(self, a: Endpoint, b: Endpoint) -> bool:
        cages = {self._twins.get((end.node, end.hca or "")) for end in (a, b)}
        return a.hca != b.hca and len(cages) == 1 and None not in cages

    def _is_cable(self, link: Link) -> bool:
        """Whether one cable explains the link; ports nobody described go by the link's own kind."""
        ends = [(end.node, end.netdev) for end in (link.a, link.b)]
        return link.kind == "cable" or all(end in self._cables for end in ends)

    def _place(self, end: Endpoint, other: Endpoint) -> str:
        """What the two ends are told apart by: the connector where both nodes have one chip, else the port's name."""
        own, theirs = self._connectors.get(end.node, {}), self._connectors.get(other.node, {})
        if end.hca in own and other.hca in theirs:
            return own[end.hca]
        return end.netdev


def _connectors(node: Node) -> dict[str | None, str]:
    """The connector ("p0") of each HCA of a node with one chip; none with several, whose connectors share names."""
    split = [(*cage.id.partition("/")[::2], cage.hcas) for cage in node.cages]
    if len({chip for chip, _connector, _hcas in split}) != 1:
        return {}
    return {hca: connector for _chip, connector, hcas in split if connector for hca in hcas}
