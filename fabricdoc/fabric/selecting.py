"""For every node, which ports NCCL and the libraries beside it should use, and the variables that say so.

Only ports with a proven peer are ever listed. How variables are written is `nccl.placing`'s; whether other settings
matter here is `advising`'s; which set is fastest is measured.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from fabricdoc.checks import Ring, rings_of
from fabricdoc.fabric.advising import advice_on
from fabricdoc.fabric.beacons import SOFTWARE
from fabricdoc.fabric.rails import Rail, RailPort, can_carry, device_places, joined_ports, living, rails_of
from fabricdoc.model.documents import Fact, Unknown
from fabricdoc.model.fabric import Fabric, Link, Node, NodeSelectors, PortSet, Selectors
from fabricdoc.model.selectors import SetName
from fabricdoc.nccl import MOST_ENTRIES, is_writable, server_variables
from fabricdoc.transport import NodeSpec

TOLD_PEERS = 8
"""Nodes up to which a set names the port that each of its own meets."""


@dataclass(frozen=True)
class Choice:
    """One choice of ports for all nodes, in the order they are listed, and what they meet."""

    name: SetName
    ports: Mapping[str, Sequence[RailPort]]
    why: str = ""


def with_selectors(_specs: Sequence[NodeSpec], fabric: Fabric, _progress: Callable[[str], None]) -> Fabric:
    """`selected` as a step of the cables job; the last one, when every link is known."""
    return selected(fabric)


def selected(fabric: Fabric) -> Fabric:
    """The fabric with its selectors told anew; without any where no link between nodes is proven."""
    return fabric.model_copy(update={"selectors": selectors_of(fabric)})


def selectors_of(fabric: Fabric) -> Selectors | None:
    """Sets and advice for every node; None where no link between two nodes is proven both ways."""
    links = proven_links(fabric)
    if not links:
        return None
    rails = _usable(rails_of(fabric))
    ring = next((ring for ring in rings_of(fabric) if len(ring.nodes) == len(fabric.nodes)), None)
    choices = rail_choices(fabric, rails) if rails else loose_choices(fabric, links, ring)
    shared = {} if rails else shared_interfaces(fabric, links)
    return Selectors(
        master=_master(fabric, rails, shared),
        rails=tuple(tuple(f"{port.node}/{port.netdev}" for port in rail.ports) for rail in rails),
        nodes=tuple(_of_node(node.name, choices, shared) for node in fabric.nodes),
        advice=advice_on(fabric, rails, ring, choices[-1].ports, is_bootstrapped=bool(rails or shared)),
    )


def proven_links(fabric: Fabric) -> list[Link]:
    """Links that carry both ways between two nodes, and over which RDMA has not failed."""
    links = () if isinstance(fabric.links, Unknown) else fabric.links
    return [link for link in links if can_carry(link) and link.a.node != link.b.node]


def _usable(rails: Sequence[Rail]) -> list[Rail]:
    """Rails that can be listed: with writable names; where any have HCAs, those. At most as many as NCCL reads."""
    written = [rail for rail in rails if all(map(is_writable, rail.ports))]
    with_hcas = [rail for rail in written if all(port.hca for port in rail.ports)]
    return (with_hcas or written)[:MOST_ENTRIES]


def rail_choices(fabric: Fabric, rails: Sequence[Rail]) -> list[Choice]:
    """The first rail; the rails of its cage where there are more; all of them."""
    names = [node.name for node in fabric.nodes]
    cages = {(node.name, hca): cage.id for node in fabric.nodes for cage in node.cages for hca in cage.hcas}

    def cage(port: RailPort) -> str:
        return cages.get((port.node, port.hca or ""), port.netdev)

    first = [cage(port) for port in rails[0].ports]
    same = [rail for rail in rails if [cage(port) for port in rail.ports] == first]
    choices = [_choice("one-port", names, rails[:1])]
    if 1 < len(same) < len(rails):
        choices.append(_choice("one-cable", names, same))
    return [*choices, _choice("all-ports", names, rails)] if len(rails) > 1 else choices


def _choice(name: SetName, names: Sequence[str], rails: Sequence[Rail]) -> Choice:
    ports = {node: [rail.ports[at] for rail in rails] for at, node in enumerate(names)}
    if len(names) > TOLD_PEERS:
        return Choice(
            name, ports, f"{len(rails)} rail{'s' if len(rails) > 1 else ''} proven to join {len(names)} nodes"
        )
    told = "; ".join(" - ".join(f"{port.node}/{port.netdev}" for port in rail.ports) for rail in rails)
    return Choice(name, ports, told)


def loose_choices(fabric: Fabric, links: Sequence[Link], ring: Ring | None) -> list[Choice]:
    """Where no rail reaches every node: each node's proven ports; of a ring also one port to each neighbour."""
    proven = proven_ports(fabric, links)
    every = Choice("all-ports", proven, "every port with a proven peer")
    if ring is None:
        return [every]
    least: dict[str, list[RailPort]] = {node.name: [] for node in fabric.nodes}
    for cable in ring.cables:
        ends = {end.node.name for end in cable.ends}
        nodes = tuple(node for node in fabric.nodes if node.name in ends)
        keys = {(port.node.name, port.netdev.name) for end in cable.ends for port in end.ports}
        own = tuple(one for one in links if (one.a.node, one.a.netdev) in keys and (one.b.node, one.b.netdev) in keys)
        pair = fabric.model_copy(update={"nodes": nodes, "links": own})
        for rail in [rail for rail in rails_of(pair) if all(map(is_writable, rail.ports))][:1]:
            for port in rail.ports:
                least[port.node].append(port)
    ordered = {node: [port for port in proven[node] if port in ports] for node, ports in least.items()}
    return [Choice("one-port", ordered, "one port to each neighbour of the ring"), every]


def proven_ports(fabric: Fabric, links: Sequence[Link]) -> dict[str, list[RailPort]]:
    """The ports of each node that meet another node, in NCCL's order; those with HCAs only, where any has one."""
    places = {key: place for node in fabric.nodes for key, place in device_places(node).items()}
    found: dict[str, list[RailPort]] = {node.name: [] for node in fabric.nodes}
    for group in living(joined_ports(links), fabric):
        for port in group if len({one.node for one in group}) > 1 else ():
            if port.node in found and is_writable(port):
                found[port.node].append(port)
    with_hcas = any(port.hca for ports in found.values() for port in ports)
    last = len(places)
    return {
        node: sorted(
            (port for port in ports if port.hca or not with_hcas),
            key=lambda port: (places.get((port.node, port.netdev), last), port.netdev),
        )[:MOST_ENTRIES]
        for node, ports in found.items()
    }


def _of_node(node: str, choices: Iterable[Choice], shared: Mapping[str, tuple[str, str]]) -> NodeSelectors:
    socket = shared[node][0] if node in shared else ""
    return NodeSelectors(
        node=node, sets=tuple(_set(one, one.ports[node], socket) for one in choices if one.ports[node])
    )


def _set(choice: Choice, ports: Sequence[RailPort], socket: str) -> PortSet:
    return PortSet(
        name=choice.name,
        hcas=tuple(port.hca for port in ports if port.hca),
        netdevs=tuple(port.netdev for port in ports),
        variables=server_variables(ports, socket),
        why=choice.why,
    )


def _master(fabric: Fabric, rails: Sequence[Rail], shared: Mapping[str, tuple[str, str]]) -> Fact[str]:
    """Node 0's address on the first rail, else on the network that all nodes share."""
    first = fabric.nodes[0].name
    if rails:
        port = rails[0].port(first)
        return port.ip or Unknown(unknown=f"{first}/{port.netdev} has no IPv4 address: give it one")
    if first in shared:
        return shared[first][1]
    return Unknown(unknown="no proven link and no other network joins all nodes")


def shared_interfaces(fabric: Fabric, links: Sequence[Link]) -> dict[str, tuple[str, str]]:
    """Per node the interface and address in one IPv4 network that all nodes have beside their links; {} without one.

    The management network of a ring: no cable of it reaches all nodes. Not proven, only told by addresses.
    """
    linked = {(end.node, end.netdev) for link in links for end in (link.a, link.b)}
    found: dict[str, dict[str, tuple[str, str]]] = {}
    for node in fabric.nodes:
        for network, netdev, ip in _networks(node):
            if (node.name, netdev) not in linked:
                found.setdefault(network, {}).setdefault(node.name, (netdev, ip))
    whole = sorted((network, at) for network, at in found.items() if len(at) == len(fabric.nodes))
    return whole[0][1] if whole else {}


def _networks(node: Node) -> Iterable[tuple[str, str, str]]:
    """(network, interface, address) of every IPv4 address that another machine may reach."""
    for netdev in () if isinstance(node.netdevs, Unknown) else node.netdevs:
        if netdev.carrier is True and netdev.kind not in SOFTWARE and netdev.name != "lo":
            for one in netdev.addresses:
                if one.family == "ipv4" and one.scope == "global" and one.prefix < 32:
                    network = ipaddress.ip_interface(f"{one.ip}/{one.prefix}").network
                    if not network.is_link_local and not network.is_loopback:
                        yield str(network), netdev.name, one.ip
