"""The cable map: from beacons heard to links, each with what proved it.

Never inferred from names, subnets or pings: with addresses on the wrong ports a ping succeeds while RDMA
fails (measured in the two-machine soft-RoCE lab). Judges nothing beyond who hears whom.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from fabricdoc.checks import limit
from fabricdoc.fabric.heard import Heard, Hearing, Method, proof_of
from fabricdoc.model.documents import Unknown, utc_now
from fabricdoc.model.fabric import Endpoint, Link, LinkProof, Node, PortKey
from fabricdoc.model.joining import Joining

Pair = tuple[int, int]  # two ports' numbers, the smaller one first


@dataclass(frozen=True)
class PortFacts:
    """What a link end shows beside its name."""

    mac: str
    hca: str | None = None
    ip: str | None = None


class Meetings:
    """Who heard whom, ports by number in the order of their names; told in one pass over half a million hearings."""

    def __init__(self, hearings: Sequence[Hearing]) -> None:
        self.ports = sorted({port for one in hearings for port in (one.listener, one.sender)})
        number = {port: at for at, port in enumerate(self.ports)}
        self.heard: list[set[int]] = [set() for _port in self.ports]
        self.heard_by: list[set[int]] = [set() for _port in self.ports]
        self._count = len(self.ports)
        self._hearings: dict[int, Hearing] = {}
        for one in hearings:
            listener, sender = number[one.listener], number[one.sender]
            self.heard[listener].add(sender)
            self.heard_by[sender].add(listener)
            self._hearings[listener * self._count + sender] = one
        self.own: dict[str, set[int]] = {}
        for at, port in enumerate(self.ports):
            self.own.setdefault(port[0], set()).add(at)

    def any_way(self, port: int) -> set[int]:
        """The ports that it hears or that hear it."""
        return self.heard[port] | self.heard_by[port]

    def ends(self, pair: Pair) -> tuple[PortKey, PortKey]:
        """Both ports by name."""
        return self.ports[pair[0]], self.ports[pair[1]]

    def there_and_back(self, pair: Pair) -> tuple[Hearing | None, Hearing | None]:
        """What the second port heard of the first, and the first of the second."""
        first, second = pair
        return self._hearings.get(second * self._count + first), self._hearings.get(first * self._count + second)

    def kind(self, pair: Pair) -> str:
        """What joins them: a loop inside one node, a one-way link, a segment of several ports, or a cable."""
        if self.ports[pair[0]][0] == self.ports[pair[1]][0]:
            return "loop"
        if None in self.there_and_back(pair):
            return "one-way"
        return "segment" if any(len(self.any_way(port)) > 1 for port in pair) else "cable"

    def parts(self) -> Iterator[list[int]]:
        """Every set of ports that hearings join in any direction, each in order."""
        left = set(range(len(self.ports)))
        while left:
            found, edge = set(), {min(left)}
            while edge:
                found |= edge
                edge = set().union(*map(self.any_way, edge)) - found
            left -= found
            yield sorted(found)


def links_from(heard: Heard, nodes: Sequence[Node]) -> tuple[Link, ...]:
    """One link per pair of ports that heard each other, ordered by name of the first end.

    Of ports that all hear one another (a switch) above `pairwise_ports` only as many pairs as join them become links:
    see `_joining`. A link's proof is `multicast` where either end could not open a raw socket, or raw frames did not
    carry.
    """
    meetings = Meetings(heard.hearings)
    facts = port_facts(nodes, heard.macs)
    ends = {port: _endpoint(port, facts) for port in meetings.ports}
    at = utc_now()
    return tuple(_link(pair, meetings, ends, heard.methods, at) for pair in _told(meetings))


def _told(meetings: Meetings) -> list[Pair]:
    """The pairs that become links, in their order."""
    most = int(limit("cables", "pairwise_ports"))
    told: list[Pair] = []
    for part in meetings.parts():
        if len(part) > most:
            told += _joining(part, meetings)
        else:
            told += [(port, other) for port in part for other in meetings.any_way(port) if port < other]
    return sorted(told)


def _joining(crowd: Sequence[int], meetings: Meetings) -> Iterator[Pair]:
    """Of a crowd's pairs those that join it: both ways first, then one-way ones that reach a port nothing else does.

    A frame lost among thousands is no one-way link: a port that others hear and that hears others stays joined both
    ways. Loops of a node's own ports are joined by themselves, so that each port that hears its node still says so.
    """
    between, within = Joining[int](), Joining[int]()
    reached: set[int] = set()
    for start in crowd:
        edge = [] if start in reached else [start]
        reached |= {start}
        while edge:
            port = edge.pop(0)
            new = sorted((meetings.heard[port] & meetings.heard_by[port]) - reached - _own(port, meetings))
            reached.update(new)
            edge += new
            for other in new:
                between.join(port, other)
                yield _pair(port, other)
    for port in crowd:
        own = _own(port, meetings)
        for other in sorted((meetings.heard[port] ^ meetings.heard_by[port]) - own):
            if between.join(port, other):
                yield _pair(port, other)
        for other in sorted(meetings.any_way(port) & own):
            if within.join(port, other):
                yield _pair(port, other)


def _own(port: int, meetings: Meetings) -> set[int]:
    """The ports of a port's node."""
    return meetings.own[meetings.ports[port][0]]


def _pair(port: int, other: int) -> Pair:
    return (port, other) if port < other else (other, port)


def _link(
    pair: Pair, meetings: Meetings, ends: Mapping[PortKey, Endpoint], methods: Mapping[PortKey, Method], at: str
) -> Link:
    first, second = meetings.ends(pair)
    there, back = meetings.there_and_back(pair)
    method, detail = proof_of([one for one in (there, back) if one is not None])
    proof = LinkProof(
        method="multicast" if any(methods.get(port) == "multicast" for port in (first, second)) else method,
        at=at,
        detail=detail,
        frames_a_to_b=there.count if there else 0,
        frames_b_to_a=back.count if back else 0,
    )
    return Link.model_validate({"a": ends[first], "b": ends[second], "kind": meetings.kind(pair), "proof": proof})


def _endpoint(port: PortKey, facts: Mapping[PortKey, PortFacts]) -> Endpoint:
    known = facts.get(port, PortFacts(mac=""))
    return Endpoint(node=port[0], netdev=port[1], mac=known.mac, hca=known.hca, ip=known.ip)


def port_facts(nodes: Iterable[Node], macs: Mapping[PortKey, str]) -> dict[PortKey, PortFacts]:
    """MAC, HCA and first IPv4 address of every netdev, keyed by (node, netdev)."""
    facts: dict[PortKey, PortFacts] = {key: PortFacts(mac) for key, mac in macs.items()}
    for node in nodes:
        hcas = hca_of_netdev(node)
        for netdev in () if isinstance(node.netdevs, Unknown) else node.netdevs:
            key = (node.name, netdev.name)
            mac = macs.get(key) or (netdev.mac if isinstance(netdev.mac, str) else "")
            ip = next((a.ip for a in netdev.addresses if a.family == "ipv4"), None)
            facts[key] = PortFacts(mac, hcas.get(netdev.name), ip)
    return facts


def hca_of_netdev(node: Node) -> dict[str, str]:
    """HCA name per netdev name, from each HCA port's own netdev."""
    if isinstance(node.hcas, Unknown):
        return {}
    return {port.netdev: hca.name for hca in node.hcas for port in hca.ports if isinstance(port.netdev, str)}


def rdma_netdevs(node: Node) -> tuple[str, ...]:
    """Netdevs behind an HCA port: the ports beacons may be sent from without being listed."""
    return tuple(sorted(hca_of_netdev(node)))
