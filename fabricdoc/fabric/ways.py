"""Which node tries which address of which other node: pairs of ports for datagrams, pairs of addresses for TCP.

Bounded: up to eight nodes try each other all, more try node 0 and their neighbours in the list, so that what is tried
grows with the nodes and not with their square. Plans only; sends nothing. IPv4, as RoCE v2 under NCCL; an interface
without an IPv4 address is tried by its global IPv6 address. Ends of a link that have link-local IPv6 addresses alone
try each other by datagrams, for which an interface is named anyway; why not by TCP is `bare_links`' matter.
"""

from __future__ import annotations

import socket
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, pairwise
from typing import NamedTuple

from fabricdoc.fabric.beacons import candidate_ports
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Link, Netdev, Node
from fabricdoc.model.netdev import Family
from fabricdoc.nccl import take_interfaces
from fabricdoc.transport import NodeSpec

ALL_PAIRS = 8
MOST_LINKS_OF_A_PORT = 4
MOST_FROM_NODE_0 = 64
LOOPBACK, LINK_LOCAL = 127, 0xA9FE
BARE = "fe80::/64"
"""The network of a `Place` whose address holds on its own link alone."""
BITS = {"ipv4": 32, "ipv6": 128}
FAMILIES = {"ipv4": socket.AF_INET, "ipv6": socket.AF_INET6}


class Place(NamedTuple):
    """An address of one interface of one node."""

    node: str
    netdev: str
    ip: str
    network: str
    mtu: int

    @property
    def key(self) -> tuple[str, str]:
        """Its port."""
        return self.node, self.netdev


class Way(NamedTuple):
    """One direction between two nodes for TCP: from `a`'s address to `b`'s, by a proven `link` or by `management`."""

    a: Place
    b: Place
    by: str


def places(node: Node) -> dict[str, Place]:
    """The first IPv4 address, else the first IPv6 one, of each interface that has a subnet to share, by interface."""
    found = {}
    for netdev in () if isinstance(node.netdevs, Unknown) else node.netdevs:
        place = _place(node.name, netdev)
        if place is not None:
            found[netdev.name] = place
    return found


def _place(node: str, netdev: Netdev) -> Place | None:
    for one in sorted(netdev.addresses, key=lambda one: one.family):  # ipv4 before ipv6
        if one.scope == "global" and 0 < one.prefix < BITS[one.family] and netdev.carrier is not False:
            network = _network(one.ip, one.prefix, one.family)
            if network is not None:
                mtu = netdev.mtu if isinstance(netdev.mtu, int) else 0
                return Place(node, netdev.name, one.ip, network, mtu)
    return None


def bare_places(node: Node) -> dict[str, Place]:
    """The link-local IPv6 address of each interface that has no subnet to share, by interface."""
    found = {}
    for netdev in () if isinstance(node.netdevs, Unknown) else node.netdevs:
        own = [one for one in netdev.addresses if (one.family, one.scope) == ("ipv6", "link")]
        if own and netdev.carrier is not False and _place(node.name, netdev) is None:
            mtu = netdev.mtu if isinstance(netdev.mtu, int) else 0
            found[netdev.name] = Place(node.name, netdev.name, own[0].ip, BARE, mtu)
    return found


def _network(ip: str, prefix: int, family: Family) -> str | None:
    """The subnet in CIDR; None for loopback and link-local ones. By arithmetic: there are thousands of addresses."""
    try:
        packed = socket.inet_pton(FAMILIES[family], ip)
    except (OSError, ValueError):
        return None  # a document written by hand
    number = int.from_bytes(packed, "big")
    if family == "ipv4" and (number >> 24 == LOOPBACK or number >> 16 == LINK_LOCAL):
        return None
    rest = BITS[family] - prefix
    return f"{socket.inet_ntop(FAMILIES[family], (number >> rest << rest).to_bytes(len(packed), 'big'))}/{prefix}"


def pairs_of(count: int) -> list[tuple[int, int]]:
    """Which of `count` nodes try each other, each pair once, smaller number first."""
    if count <= ALL_PAIRS:
        return list(combinations(range(count), 2))
    ring = {(min(one, (one + 1) % count), max(one, (one + 1) % count)) for one in range(count)}
    return sorted(ring | {(0, other) for other in range(1, count)})


def datagram_pairs(specs: Sequence[NodeSpec], fabric: Fabric) -> list[tuple[Place, Place]]:
    """Pairs of ports that share a subnet: those of proven links, and others whose subnet alone joins them.

    And the ends of proven links that have link-local addresses alone.
    Of the ports of one subnet on many nodes neighbours in the list are tried, of a port's many links four.
    """
    nodes = {node.name: node for node in fabric.nodes}
    here = {spec.name: places(nodes[spec.name]) for spec in specs}
    usable = {(spec.name, port) for spec in specs for port in candidate_ports(spec, nodes[spec.name])}
    bare = {spec.name: bare_places(nodes[spec.name]) for spec in specs}
    found = dict.fromkeys((*_linked(fabric.links, here), *_linked(fabric.links, bare)))
    by_network: dict[str, list[Place]] = defaultdict(list)
    for some in here.values():
        for place in some.values():
            if place.key in usable:
                by_network[place.network].append(place)
    for members in by_network.values():
        near = combinations(members, 2) if len(members) <= ALL_PAIRS else pairwise(members)
        found |= {(a, b): None for a, b in near if a.node != b.node and (b, a) not in found}
    return list(found)


def _linked(links: Sequence[Link] | Unknown, here: Mapping[str, Mapping[str, Place]]) -> Iterator[tuple[Place, Place]]:
    taken: dict[tuple[str, str], int] = defaultdict(int)
    for link in () if isinstance(links, Unknown) else links:
        ends = [here.get(end.node, {}).get(end.netdev) for end in (link.a, link.b)]
        a, b = ends
        if a is None or b is None or a.node == b.node or a.network != b.network:
            continue
        if max(taken[a.key], taken[b.key]) < MOST_LINKS_OF_A_PORT:
            taken[a.key] += 1
            taken[b.key] += 1
            yield a, b


def tcp_ways(specs: Sequence[NodeSpec], fabric: Fabric) -> list[Way]:
    """Both directions between the nodes that try each other: over their first link, and between management addresses.

    Over a link only where its ends share a subnet. The management interface is the one NCCL_SOCKET_IFNAME names on the
    node, else that of the default route. Of many nodes node 0 dials 64, and all dial node 0.
    """
    nodes = {node.name: node for node in fabric.nodes}
    here = {spec.name: places(nodes[spec.name]) for spec in specs}
    first = _first_links(fabric.links, here)
    managed = {spec.name: management(nodes[spec.name], here[spec.name]) for spec in specs}
    found = []
    for one, other in pairs_of(len(specs)):
        a, b = specs[one].name, specs[other].name
        ways = [(*ends, "link") for ends in [first.get((a, b))] if ends is not None]
        ends = managed[a], managed[b]
        if ends[0] is not None and ends[1] is not None and (ends[0], ends[1], "link") not in ways:
            ways.append((ends[0], ends[1], "management"))
        both = one or other == 1 or other == len(specs) - 1 or other <= MOST_FROM_NODE_0
        found += [Way(*way) for way in ways] if both else []
        found += [Way(there, back, by) for back, there, by in ways]
    return found


def _first_links(
    links: Sequence[Link] | Unknown, here: Mapping[str, Mapping[str, Place]]
) -> dict[tuple[str, str], tuple[Place, Place]]:
    """The first link that carries both ways of each two nodes, in both orders, where its ends share a subnet."""
    found: dict[tuple[str, str], tuple[Place, Place]] = {}
    for link in () if isinstance(links, Unknown) else links:
        a, b = (here.get(end.node, {}).get(end.netdev) for end in (link.a, link.b))
        if link.kind in ("cable", "segment") and a is not None and b is not None and a.network == b.network:
            found.setdefault((a.node, b.node), (a, b))
            found.setdefault((b.node, a.node), (b, a))
    return found


def management(node: Node, here: Mapping[str, Place]) -> Place | None:
    """Where NCCL's bootstrap may stand besides a link: the interface its variable names, or the default route's."""
    netdevs = () if isinstance(node.netdevs, Unknown) else node.netdevs
    named = take_interfaces(node.host.environment.get("NCCL_SOCKET_IFNAME", ""), netdevs)
    if not named.ignored:
        return next((here[netdev] for netdev in named.taken if netdev in here), None)
    routes = () if isinstance(node.routes, Unknown) else node.routes
    default = [
        one.netdev for family in FAMILIES for one in routes if (one.destination, one.family) == ("default", family)
    ]
    return next((here[netdev] for netdev in default if netdev in here), None)
