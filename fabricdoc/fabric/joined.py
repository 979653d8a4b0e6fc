"""Which ports links join already, however: directly, through others on one switch, or through the twin in their cage.

Makes no link and looks at no evidence.
"""

from __future__ import annotations

from collections.abc import Sequence

from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Link, Node, PortKey
from fabricdoc.model.joining import Joining

Pair = tuple[PortKey, PortKey]


class Agreed:
    """Which pairs are told already: both in one group of links (a switch), or cage mates of linked ports (twins)."""

    def __init__(self, links: Sequence[Link], nodes: Sequence[Node]) -> None:
        self._cages = {key: cage for node in nodes for key, cage in _cages(node)}
        self._groups = Joining[PortKey]()
        self._ends: set[PortKey] = set()
        for link in links:
            if link.kind != "loop":
                first, second = (self._cage(port) for port in link.ends)
                self._groups.join(first, second)
                self._ends |= {first, second}

    def joins(self, pair: Pair) -> bool:
        """Whether links join the two already, beside the pair itself."""
        first, second = (self._cage(port) for port in pair)
        return {first, second} <= self._ends and self._groups.root(first) == self._groups.root(second)

    def _cage(self, port: PortKey) -> PortKey:
        return self._cages.get(port, port)


def _cages(node: Node) -> list[tuple[PortKey, PortKey]]:
    """Each port of a cage with several HCAs, and the cage in its place."""
    hcas = () if isinstance(node.hcas, Unknown) else node.hcas
    cage_of = {hca: cage.id for cage in node.cages if len(cage.hcas) > 1 for hca in cage.hcas}
    ports = ((hca.name, port.netdev) for hca in hcas for port in hca.ports)
    return [
        ((node.name, netdev), (node.name, f"cage {cage_of[hca]}"))
        for hca, netdev in ports
        if isinstance(netdev, str) and hca in cage_of
    ]
