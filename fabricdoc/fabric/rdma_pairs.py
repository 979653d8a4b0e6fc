"""Which ports the RDMA ping joins, over which GIDs, and in which rounds: pure planning from a fabric's proven links.

The two ends of a cable are a pair, whatever their addresses. On a switch a port meets those of its own subnet, since
rails need not reach one another, and so it does where no link could be proven otherwise; above `all_pairs_nodes` nodes
each port gets one partner. Sends nothing.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

from fabricdoc.fabric.rdma_words import ping_limit
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Gid, GidChoice, Link, Netdev, Node, PortKey
from fabricdoc.model.joining import Joining


class End(NamedTuple):
    """A port that can be pinged from: the HCA behind a netdev, and the GID that NCCL takes on it."""

    node: str
    netdev: str
    hca: str
    port: int
    gid_index: int
    gid: str
    ip: str = ""
    network: str = ""

    @property
    def key(self) -> PortKey:
        """Node and netdev."""
        return self.node, self.netdev

    @property
    def shown(self) -> str:
        """The GID as people write it: ::ffff:10.0.0.1."""
        return f"::ffff:{self.ip}" if self.ip else self.gid


class Pair(NamedTuple):
    """Two ends to ping between; `number` is unique in a run."""

    number: int
    a: End
    b: End

    @property
    def subject(self) -> str:
        """alpha/p0 - beta/p1"""
        return f"{self.a.node}/{self.a.netdev} - {self.b.node}/{self.b.netdev}"


def ends_of(fabric: Fabric) -> dict[PortKey, End]:
    """Every ACTIVE Ethernet port with an interface of its own and a GID that NCCL would take."""
    return {end.key: end for node in fabric.nodes for end in _ends(node)}


def _ends(node: Node) -> Iterator[End]:
    choices = {(one.hca, one.port): one for one in node.nccl_gids}
    netdevs = {one.name: one for one in (() if isinstance(node.netdevs, Unknown) else node.netdevs)}
    for hca in () if isinstance(node.hcas, Unknown) else node.hcas:
        for port in hca.ports:
            choice = choices.get((hca.name, port.number))
            if port.state != "ACTIVE" or choice is None or not isinstance(port.netdev, str):
                continue
            gids = () if isinstance(port.gids, Unknown) else port.gids
            chosen = next((gid for gid in gids if gid.index == choice.index), None)
            yield _end(node.name, port.netdev, choice, chosen, netdevs)


def _end(node: str, netdev: str, choice: GidChoice, chosen: Gid | None, netdevs: dict[str, Netdev]) -> End:
    ip = (chosen.ipv4 if chosen else None) or ""
    of = chosen.netdev if chosen and isinstance(chosen.netdev, str) else netdev
    holder = netdevs.get(of) or netdevs.get(netdev)
    network = _network(holder, ip) if holder and ip else ""
    return End(node, netdev, choice.hca, choice.port, choice.index, choice.gid, ip, network)


def _network(netdev: Netdev, ip: str) -> str:
    """The network of this address on the interface; the address alone where the interface does not tell."""
    prefix = next((one.prefix for one in netdev.addresses if one.ip == ip), 32)
    return str(ipaddress.ip_interface(f"{ip}/{prefix}").network)


def pairs_of(fabric: Fabric) -> tuple[Pair, ...]:
    """Every pair worth a ping, in the order of the links; where links are unknown, ports that share a subnet."""
    ends = ends_of(fabric)
    if isinstance(fabric.links, Unknown):
        found = dict.fromkeys(_of_one_subnet(fabric, [key for key in ends if ends[key].network], ends))
    else:
        found = dict.fromkeys([*_cabled(fabric.links, ends), *_switched(fabric, fabric.links, ends)])
    return tuple(Pair(number, ends[a], ends[b]) for number, (a, b) in enumerate(found))


def _cabled(links: Iterable[Link], ends: dict[PortKey, End]) -> Iterator[tuple[PortKey, PortKey]]:
    for link in links:
        a, b = link.ends
        if link.kind in ("cable", "one-way") and a in ends and b in ends and a[0] != b[0]:
            yield a, b


def _switched(fabric: Fabric, links: Iterable[Link], ends: dict[PortKey, End]) -> Iterator[tuple[PortKey, PortKey]]:
    """Pairs of ports that hear one another and share a subnet (or have none, both)."""
    groups = Joining[PortKey]()
    for link in links:
        if link.kind == "segment":
            groups.join(*link.ends)
    for group in groups.groups():
        yield from _of_one_subnet(fabric, [key for key in group if key in ends], ends)


def _of_one_subnet(
    fabric: Fabric, group: Iterable[PortKey], ends: dict[PortKey, End]
) -> Iterator[tuple[PortKey, PortKey]]:
    order = {node.name: at for at, node in enumerate(fabric.nodes)}
    by_network: dict[str, list[PortKey]] = {}
    for key in sorted(group, key=lambda key: (order.get(key[0], 0), key[1])):
        by_network.setdefault(ends[key].network, []).append(key)
    for members in by_network.values():
        yield from _partners(members)


def _partners(members: Sequence[PortKey]) -> Iterator[tuple[PortKey, PortKey]]:
    """All pairs between nodes where there are few; else each port with the next node's, every port once.

    An odd one at the end meets the first.
    """
    nodes = {node for node, _netdev in members}
    if len(nodes) <= ping_limit("all_pairs_nodes"):
        yield from ((a, b) for a, b in combinations(members, 2) if a[0] != b[0])
        return
    for firsts in _ranked(members):
        yield from zip(firsts[::2], firsts[1::2], strict=False)
        if len(firsts) % 2 and len(firsts) > 1:
            yield firsts[0], firsts[-1]


def _ranked(members: Sequence[PortKey]) -> list[list[PortKey]]:
    """The first port of every node, then the second of those that have two, and so on."""
    ranks: list[list[PortKey]] = []
    seen: dict[str, int] = {}
    for key in members:
        at = seen.get(key[0], 0)
        seen[key[0]] = at + 1
        ranks += [[]] if at == len(ranks) else []
        ranks[at].append(key)
    return ranks


def rounds_of(pairs: Iterable[Pair]) -> tuple[tuple[Pair, ...], ...]:
    """The pairs in rounds, in each of which a port takes part once: at most about twice as many as a port has pairs."""
    rounds: list[list[Pair]] = []
    taken: dict[PortKey, set[int]] = {}
    crowd: dict[tuple[str, int], int] = {}
    most = int(ping_limit("pairs_at_once"))
    for pair in pairs:
        busy = taken.setdefault(pair.a.key, set()) | taken.setdefault(pair.b.key, set())
        at = 0
        while at in busy or max(crowd.get((end.node, at), 0) for end in (pair.a, pair.b)) >= most:
            at += 1
        for end in (pair.a, pair.b):
            taken[end.key].add(at)
            crowd[end.node, at] = crowd.get((end.node, at), 0) + 1
        rounds += [[] for _ in range(at + 1 - len(rounds))]
        rounds[at].append(pair)
    return tuple(tuple(one) for one in rounds)
