"""The cable map: from beacons heard to links, each with what proved it.

Never inferred from names, subnets or pings: with addresses on the wrong ports a ping succeeds while RDMA
fails (measured in the two-machine soft-RoCE lab). Judges nothing beyond who hears whom.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from fabricdoc.checks import limit
from fabricdoc.fabric.heard import Heard, Hearing, Method, PortKey, proof_of
from fabricdoc.model.documents import Unknown, utc_now
from fabricdoc.model.fabric import Endpoint, Link, LinkProof, Node
from fabricdoc.model.joining import Joining

Pair = tuple[PortKey, PortKey]


@dataclass(frozen=True)
class PortFacts:
    """What a link end shows beside its name."""

    mac: str
    hca: str | None = None
    ip: str | None = None


@dataclass(frozen=True)
class Meetings:
    """Who heard whom, in one pass: frames by (listener, sender), and how many others each port hears or is heard by."""

    counts: Mapping[Pair, int]
    others: Mapping[PortKey, int]

    def both_ways(self, pair: Pair) -> bool:
        """Whether both ports of a pair heard the other."""
        return bool(self.counts.get(pair)) and bool(self.counts.get((pair[1], pair[0])))

    def kind(self, pair: Pair) -> str:
        """What joins them: a loop inside one node, a one-way link, a segment of several ports, or a cable."""
        if pair[0][0] == pair[1][0]:
            return "loop"
        if not self.both_ways(pair):
            return "one-way"
        return "segment" if self.others[pair[0]] > 1 or self.others[pair[1]] > 1 else "cable"


def links_from(heard: Heard, nodes: Sequence[Node]) -> tuple[Link, ...]:
    """One link per pair of ports that heard each other, ordered by name of the first end.

    Of ports that all hear one another (a switch) above `pairwise_ports` only as many pairs as join them become links:
    see `_joining`. A link's proof is `multicast` where either end could not open a raw socket, or raw frames did not
    carry.
    """
    counts = {(h.listener, h.sender): h.count for h in heard.hearings}
    pairs = sorted({pair if pair[0] < pair[1] else (pair[1], pair[0]) for pair in counts})
    others: dict[PortKey, int] = defaultdict(int)
    for pair in pairs:
        for port in pair:
            others[port] += 1
    meetings = Meetings(counts, others)
    ends = _endpoints(pairs, port_facts(nodes, heard.macs))
    at = utc_now()
    by_pair: dict[frozenset[PortKey], list[Hearing]] = defaultdict(list)
    for one in heard.hearings:
        by_pair[frozenset((one.listener, one.sender))].append(one)
    return tuple(
        _link(pair, meetings, ends, heard.methods, at, by_pair[frozenset(pair)]) for pair in _told(pairs, meetings)
    )


def _told(pairs: Sequence[Pair], meetings: Meetings) -> Iterator[Pair]:
    """The pairs that become links, in their order."""
    most = int(limit("cables", "pairwise_ports"))
    if max(meetings.others.values(), default=0) < most // 2:
        yield from pairs  # nobody meets many: no group can be worth telling as a star
        return
    groups = Joining[PortKey]()
    for first, second in pairs:
        groups.join(first, second)
    crowds = {root for root, size in groups.sizes().items() if size > most}
    if not crowds:
        yield from pairs
        return
    crowded = [pair for pair in pairs if groups.root(pair[0]) in crowds]
    kept = _joining(crowded, meetings)
    yield from (pair for pair in pairs if groups.root(pair[0]) not in crowds or pair in kept)


def _joining(pairs: Sequence[Pair], meetings: Meetings) -> set[Pair]:
    """Of a crowd's pairs those that join it: both ways first, then one-way ones that reach a port nothing else does.

    A frame lost among thousands is no one-way link: a port that others hear and that hears others stays joined both
    ways. Loops of a node's own ports are joined by themselves, so that each port that hears its node still says so.
    """
    kept: set[Pair] = set()
    between, within = Joining[PortKey](), Joining[PortKey]()
    one_way = []
    for pair in pairs:
        if pair[0][0] == pair[1][0]:
            if within.join(*pair):
                kept.add(pair)
        elif not meetings.both_ways(pair):
            one_way.append(pair)
        elif between.join(*pair):
            kept.add(pair)
    kept |= {pair for pair in one_way if between.join(*pair)}
    return kept


def _link(
    pair: Pair,
    meetings: Meetings,
    ends: Mapping[PortKey, Endpoint],
    methods: Mapping[PortKey, Method],
    at: str,
    hearings: Sequence[Hearing],
) -> Link:
    first, second = pair
    method, detail = proof_of(hearings)
    proof = LinkProof(
        method="multicast" if any(methods.get(port) == "multicast" for port in pair) else method,
        at=at,
        detail=detail,
        frames_a_to_b=meetings.counts.get((second, first), 0),
        frames_b_to_a=meetings.counts.get((first, second), 0),
    )
    return Link.model_validate({"a": ends[first], "b": ends[second], "kind": meetings.kind(pair), "proof": proof})


def _endpoints(pairs: Iterable[Pair], facts: Mapping[PortKey, PortFacts]) -> dict[PortKey, Endpoint]:
    ports = dict.fromkeys(port for pair in pairs for port in pair)
    return {port: _endpoint(port, facts) for port in ports}


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
