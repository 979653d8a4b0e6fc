"""Rails: which ports of all nodes belong together, from proven links (or, unproven, from shared subnets).

A rail takes one port of every node; twins that share a cable are two rails. It does not choose how many rails a job
should use: that is measured.
"""

from __future__ import annotations

import contextlib
import socket
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Link, Netdev, Node, PortKey
from fabricdoc.model.joining import Joining
from fabricdoc.nccl import in_device_order

Network = tuple[int, int]  # its bits, and how many they are
IPV4_BITS = 32
LAST = 1 << 30


@dataclass(frozen=True)
class RailPort:
    """One node's port of a rail; `hca` is null where the port has no RDMA device."""

    node: str
    netdev: str
    ip: str | None
    hca: str | None


@dataclass(frozen=True)
class Rail:
    """The k-th rail: one port per node, in the order of the fabric's nodes. `proven` says links stand behind it."""

    ports: tuple[RailPort, ...]
    proven: bool

    def port(self, node: str) -> RailPort:
        """This rail's port on `node`; KeyError if the node is not on it."""
        for port in self.ports:
            if port.node == node:
                return port
        raise KeyError(node)


def rails_of(fabric: Fabric) -> tuple[Rail, ...]:
    """Rails that reach every node: from the links when they are known, else from shared IPv4 subnets.

    They are in the order in which NCCL numbers the first node's HCAs; ports without one follow by name. None takes a
    port whose HCA is known not to be ACTIVE: NCCL passes over it without a word.
    """
    names = [node.name for node in fabric.nodes]
    if isinstance(fabric.links, Unknown):
        return _from_subnets(fabric.nodes)
    groups = living(joined_ports([link for link in fabric.links if can_carry(link)]), fabric)
    networks = {(node.name, netdev.name): net for node in fabric.nodes for netdev, net, _ip in _addresses(node)}
    places = {key: place for node in fabric.nodes for key, place in device_places(node).items()}

    def place_of(port: RailPort) -> tuple[int, str]:
        return places.get((port.node, port.netdev), LAST), port.netdev

    rails = [rail for group in groups for rail in _rails(sorted(group, key=place_of), names, networks)]
    return tuple(sorted(rails, key=lambda rail: place_of(rail.ports[0])))


def can_carry(link: Link) -> bool:
    """Whether a link can carry a rail: both ways, between nodes, and not where RDMA was tried and failed."""
    return link.kind in ("cable", "segment") and link.rdma is not False


def living(groups: Sequence[Sequence[RailPort]], fabric: Fabric) -> list[list[RailPort]]:
    """The groups without ports whose HCA's port is known to be in another state than ACTIVE."""
    dead = {
        (node.name, port.netdev)
        for node in fabric.nodes
        for hca in (() if isinstance(node.hcas, Unknown) else node.hcas)
        for port in hca.ports
        if isinstance(port.state, str) and port.state != "ACTIVE"
    }
    return [[port for port in group if (port.node, port.netdev) not in dead] for group in groups]


def device_places(node: Node) -> dict[PortKey, int]:
    """The place of each port's HCA in NCCL's order on that node."""
    hcas = in_device_order(() if isinstance(node.hcas, Unknown) else node.hcas)
    ports = (port for hca in hcas for port in hca.ports)
    return {(node.name, port.netdev): at for at, port in enumerate(ports) if isinstance(port.netdev, str)}


def joined_ports(links: Sequence[Link]) -> list[list[RailPort]]:
    """Ports joined by links, group by group."""
    ports: dict[PortKey, RailPort] = {}
    groups = Joining[PortKey]()
    for link in links:
        a, b = ((end.node, end.netdev) for end in (link.a, link.b))
        groups.join(a, b)
        for key, end in ((a, link.a), (b, link.b)):
            if key not in ports:
                ports[key] = RailPort(end.node, end.netdev, end.ip, end.hca)
    return [[ports[key] for key in group] for group in groups.groups()]


def _rails(group: Sequence[RailPort], names: Sequence[str], networks: Mapping[PortKey, Network]) -> list[Rail]:
    """The rails of ports that all hear one another, each with one port of every node.

    Twins share a cable, and a frame reaches both at its other end, so that one cable joins four ports: those of one
    subnet belong together, then the rest in the order they come (NCCL's numbering of each node's HCAs).
    """
    left: dict[str, list[RailPort]] = {name: [] for name in names}
    for port in group:
        left.setdefault(port.node, []).append(port)
    rails = []
    for port in tuple(left[names[0]]):
        network = networks.get((port.node, port.netdev))
        same = {p.node: p for name in names for p in reversed(left[name]) if networks.get((name, p.netdev)) == network}
        if network and set(same) == set(names):
            rails.append(Rail(tuple(same[name] for name in names), proven=True))
            for name in names:
                left[name].remove(same[name])
    rest = (Rail(ports, proven=True) for ports in zip(*(left[name] for name in names), strict=False))
    return [*rails, *rest]


def _from_subnets(nodes: Sequence[Node]) -> tuple[Rail, ...]:
    by_subnet: dict[Network, dict[str, RailPort]] = defaultdict(dict)
    for node in nodes:
        for netdev, network, ip in _addresses(node):
            by_subnet[network].setdefault(node.name, RailPort(node.name, netdev.name, ip, None))
    names = [node.name for node in nodes]
    complete = [ports for ports in by_subnet.values() if set(ports) == set(names)]
    return tuple(Rail(tuple(ports[name] for name in names), proven=False) for ports in complete)


def ipv4_networks(node: Node) -> dict[PortKey, set[Network]]:
    """The networks of a node's global IPv4 addresses, by port."""
    found: dict[PortKey, set[Network]] = {}
    for netdev, network, _ip in _addresses(node):
        found.setdefault((node.name, netdev.name), set()).add(network)
    return found


def _addresses(node: Node) -> list[tuple[Netdev, Network, str]]:
    """Every global IPv4 address of a node with its network; what is no address (a document by hand) is left out."""
    found = []
    for netdev in () if isinstance(node.netdevs, Unknown) else node.netdevs:
        for address in netdev.addresses:
            if address.family == "ipv4" and address.scope == "global" and 0 <= address.prefix <= IPV4_BITS:
                with contextlib.suppress(OSError, ValueError):
                    number = int.from_bytes(socket.inet_pton(socket.AF_INET, address.ip), "big")
                    found.append((netdev, (number >> (IPV4_BITS - address.prefix), address.prefix), address.ip))
    return found
