"""The cable map: from beacons heard to links, each with what proved it.

Never inferred from names, subnets or pings: with addresses on the wrong ports a ping succeeds while RDMA
fails (measured in the two-machine soft-RoCE lab). Judges nothing beyond who hears whom.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from fabricdoc.checks import limit
from fabricdoc.fabric.heard import Heard, Hearing, Method, PortKey, proof_of
from fabricdoc.model.documents import Unknown, utc_now
from fabricdoc.model.fabric import Endpoint, Link, LinkProof, Node
from fabricdoc.model.joining import Joining

Pair = int  # two ports' numbers in one: the smaller one times the count of ports, plus the larger one


@dataclass(frozen=True)
class PortFacts:
    """What a link end shows beside its name."""

    mac: str
    hca: str | None = None
    ip: str | None = None


class Meetings:
    """Who heard whom, ports by number in the order of their names: half a million hearings are told in one pass."""

    def __init__(self, hearings: Sequence[Hearing]) -> None:
        self.ports = sorted({port for one in hearings for port in (one.listener, one.sender)})
        number = {port: at for at, port in enumerate(self.ports)}
        count = self._count = len(self.ports)
        self._heard = {number[one.listener] * count + number[one.sender]: one for one in hearings}
        ordered = (divmod(code, count) for code in self._heard)
        self.pairs = sorted({a * count + b if a < b else b * count + a for a, b in ordered})
        self._others = [0] * count
        for pair in self.pairs:
            first, second = divmod(pair, count)
            self._others[first] += 1
            self._others[second] += 1

    def numbers(self, pair: Pair) -> tuple[int, int]:
        """Both ports' numbers."""
        return divmod(pair, self._count)

    def ends(self, pair: Pair) -> tuple[PortKey, PortKey]:
        """Both ports."""
        first, second = divmod(pair, self._count)
        return self.ports[first], self.ports[second]

    def there_and_back(self, pair: Pair) -> tuple[Hearing | None, Hearing | None]:
        """What the second port heard of the first, and the first of the second."""
        first, second = divmod(pair, self._count)
        return self._heard.get(second * self._count + first), self._heard.get(pair)

    def both_ways(self, pair: Pair) -> bool:
        """Whether both ports of a pair heard the other."""
        return all(one is not None and one.count for one in self.there_and_back(pair))

    def is_loop(self, pair: Pair) -> bool:
        """Whether both ports are of one node."""
        first, second = self.ends(pair)
        return first[0] == second[0]

    def most(self) -> int:
        """How many others the port meets that meets most."""
        return max(self._others, default=0)

    def kind(self, pair: Pair) -> str:
        """What joins them: a loop inside one node, a one-way link, a segment of several ports, or a cable."""
        if self.is_loop(pair):
            return "loop"
        if not self.both_ways(pair):
            return "one-way"
        return "segment" if any(self._others[number] > 1 for number in self.numbers(pair)) else "cable"


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


def _told(meetings: Meetings) -> Iterator[Pair]:
    """The pairs that become links, in their order."""
    most = int(limit("cables", "pairwise_ports"))
    if meetings.most() < most // 2:
        yield from meetings.pairs  # nobody meets many: no group can be worth telling as a star
        return
    groups = Joining[int]()
    for pair in meetings.pairs:
        groups.join(*meetings.numbers(pair))
    crowds = {root for root, size in groups.sizes().items() if size > most}
    if not crowds:
        yield from meetings.pairs
        return
    crowded = [groups.root(number) in crowds for number in range(len(meetings.ports))]
    kept = _joining([pair for pair in meetings.pairs if crowded[meetings.numbers(pair)[0]]], meetings)
    yield from (pair for pair in meetings.pairs if pair in kept or not crowded[meetings.numbers(pair)[0]])


def _joining(pairs: Sequence[Pair], meetings: Meetings) -> set[Pair]:
    """Of a crowd's pairs those that join it: both ways first, then one-way ones that reach a port nothing else does.

    A frame lost among thousands is no one-way link: a port that others hear and that hears others stays joined both
    ways. Loops of a node's own ports are joined by themselves, so that each port that hears its node still says so.
    """
    kept: set[Pair] = set()
    between, within = Joining[int](), Joining[int]()
    left = []
    for pair in pairs:
        if meetings.is_loop(pair):
            if within.join(*meetings.numbers(pair)):
                kept.add(pair)
        elif between.are_joined(*meetings.numbers(pair)):
            continue
        elif meetings.both_ways(pair):
            between.join(*meetings.numbers(pair))
            kept.add(pair)
        else:
            left.append(pair)
    kept |= {pair for pair in left if between.join(*meetings.numbers(pair))}
    return kept


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
