"""What a drawing is made of: ports, and the wires (cables, switches) that links join them to.

Shapes the fabric document for drawings and graphs; draws nothing and judges nothing. Texts are as they stand in the
document: whoever shows them cleans or escapes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Link, Netdev, Node, PortKey
from fabricdoc.model.joining import Joining


class Port(NamedTuple):
    """A port: its HCA ("" where it has none) and its cage's label on the node ("" where it is not known)."""

    node: str
    netdev: str
    hca: str
    cage: str

    @property
    def key(self) -> PortKey:
        """Node and interface."""
        return self.node, self.netdev

    def text(self) -> str:
        """The interface, and the HCA on it."""
        return f"{self.netdev} {self.hca}".rstrip()


class Wire(NamedTuple):
    """Ports that links join, and those links; the ports in the order of the nodes and of their HCAs."""

    ports: tuple[Port, ...]
    links: tuple[Link, ...]

    @property
    def nodes(self) -> tuple[str, ...]:
        """The nodes on it, each once."""
        return tuple(dict.fromkeys(port.node for port in self.ports))

    @property
    def is_switch(self) -> bool:
        """Whether no single cable explains it: more than two nodes, or several cages of one."""
        ends = {(port.node, port.cage or port.netdev) for port in self.ports}
        return len(self.nodes) > 2 or len(ends) > 2


class Lone(NamedTuple):
    """A port of an HCA that meets no other node, and what is known of why."""

    port: Port
    why: str


DEAD = "dead: no carrier"
FOREIGN = "foreign: no node here is at its other end"


def ports_of(fabric: Fabric) -> dict[PortKey, Port]:
    """Every interface of every node in the node's order, those of HCAs first."""
    return {port.key: port for node in fabric.nodes for port in _of_node(node)}


def _of_node(node: Node) -> Iterator[Port]:
    hcas = () if isinstance(node.hcas, Unknown) else node.hcas
    on = {port.netdev: hca.name for hca in hcas for port in hca.ports if isinstance(port.netdev, str)}
    labels = cage_labels(node)
    netdevs = [netdev.name for netdev in (() if isinstance(node.netdevs, Unknown) else node.netdevs)]
    for name in sorted(netdevs, key=lambda one: one not in on):
        yield Port(node.name, name, on.get(name, ""), labels.get(on.get(name, ""), ""))


def cage_labels(node: Node) -> dict[str, str]:
    """A short name for each HCA's cage: "cage p0", with the card's number where there are several."""
    split = [(*cage.id.partition("/")[::2], cage.hcas) for cage in node.cages]
    chips = list(dict.fromkeys(chip for chip, _connector, _hcas in split))
    found = {}
    for chip, connector, hcas in split:
        number = f" of card {chips.index(chip)}" if len(chips) > 1 else ""
        found.update(dict.fromkeys(hcas, f"cage {connector}{number}" if connector else f"card {chips.index(chip)}"))
    return found


def wires_of(fabric: Fabric, ports: Mapping[PortKey, Port]) -> list[Wire]:
    """Every set of ports that links between nodes join; loops inside a node join none."""
    links = [link for link in (() if isinstance(fabric.links, Unknown) else fabric.links) if link.kind != "loop"]
    groups = Joining[PortKey]()
    for link in links:
        groups.join(*link.ends)
    of: dict[PortKey, list[Link]] = {}
    for link in links:
        of.setdefault(groups.root(link.ends[0]), []).append(link)
    place = {key: number for number, key in enumerate(ports)}
    found = [
        Wire(
            tuple(ports.get(key) or Port(*key, "", "") for key in sorted(group, key=lambda one: place.get(one, -1))),
            tuple(of[groups.root(group[0])]),
        )
        for group in groups.groups()
    ]
    return sorted(found, key=lambda wire: place.get(wire.ports[0].key, -1))


def lone_ports(fabric: Fabric, ports: Mapping[PortKey, Port], wires: list[Wire]) -> list[Lone]:
    """Ports of HCAs that are on no wire: foreign where a carrier is there, else dead."""
    met = {port.key for wire in wires for port in wire.ports}
    netdevs: dict[PortKey, Netdev] = {
        (node.name, one.name): one
        for node in fabric.nodes
        for one in (() if isinstance(node.netdevs, Unknown) else node.netdevs)
    }
    lone = (port for key, port in ports.items() if port.hca and key not in met)
    return [Lone(port, FOREIGN if netdevs[port.key].carrier is True else DEAD) for port in lone]


def lies(link: Link) -> str:
    """How a link reads: `cable, crossed, ring`, `switch`, `one-way`, `twins (inside the chip)`, `loop`."""
    traits = [trait for trait in link.traits if trait != "twins"]
    if link.kind == "loop":
        return "twins (inside the chip)" if "twins" in link.traits else "loop"
    kind = ("cable" if traits else "switch") if link.kind == "segment" else link.kind
    return ", ".join([kind, *traits])


def wire_lies(wire: Wire) -> str:
    """How a wire reads as a whole: by its first link, one-way where any of a cable's is."""
    if wire.is_switch:
        return "switch"
    broken = next((link for link in wire.links if link.kind == "one-way"), wire.links[0])
    return lies(broken)


METHODS = {
    "rdma-ping": "RDMA ping",
    "beacon": "beacons",
    "multicast": "multicast",
    "lldp": "LLDP",
    "ping": "ping",
}


def proof_text(link: Link) -> str:
    """What proved a link: `beacons 3+3`, the other kinds of proof after it, and that RDMA fails over it."""
    proof = link.proof
    counts = f" {proof.frames_a_to_b}+{proof.frames_b_to_a}" if proof.frames_a_to_b or proof.frames_b_to_a else ""
    others = [METHODS.get(one.method, one.method) for one in link.more_proofs]
    broken = ["RDMA fails"] if link.rdma is False else []
    return ", ".join([METHODS.get(proof.method, proof.method) + counts, *dict.fromkeys(others), *broken])
