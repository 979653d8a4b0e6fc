"""Datagrams between ports as evidence: a weak further proof of a link, and large frames that get lost on one.

Alone they prove no link: with addresses on the wrong ports, or two ports in one subnet, a kernel answers for addresses
of any of its ports, and a ping succeeds where RDMA fails (measured in the two-machine soft-RoCE lab).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from fabricdoc.fabric.joined import Agreed
from fabricdoc.fabric.tried import Asked
from fabricdoc.model.documents import Unknown, utc_now
from fabricdoc.model.fabric import Fabric, Link, LinkProof, Neighbour, Node, PortKey
from fabricdoc.model.findings import Evidence, Finding

Direction = tuple[PortKey, PortKey]
Tables = Mapping[tuple[str, str, str], Neighbour]
SHOWN = 8
MET_BY_RDMA = "rdma-mtu-black-hole"


def pinged(fabric: Fabric, asked: Sequence[Asked]) -> Fabric:
    """The fabric with `ping` among the further proofs of its links, and findings of what was lost or came astray."""
    by_way: dict[Direction, list[Asked]] = defaultdict(list)
    for one in asked:
        by_way[one.a.key, one.b.key].append(one)
    if isinstance(fabric.links, Unknown):
        lost = tuple(_black_holes(by_way, {}, proven=False))
        return fabric.model_copy(update={"findings": _joined(fabric.findings, lost)})
    at = utc_now()
    tables = _tables(fabric.nodes)
    links = tuple(_with_proof(link, by_way, tables, at) for link in fabric.links)
    kinds = {_ordered(link.ends): link.kind for link in links}
    holes = tuple(_black_holes(by_way, kinds, proven=True))
    findings = (*_joined(fabric.findings, holes), *_weak(by_way, links, fabric.nodes, tables))
    return fabric.model_copy(update={"links": links, "findings": findings})


def _joined(before: Sequence[Finding], holes: Sequence[Finding]) -> tuple[Finding, ...]:
    """One fault, one finding: where RDMA met the hole already, the datagrams are further evidence of that."""
    by_subject = {hole.subject: hole for hole in holes}
    met = {one.subject for one in before if one.id == MET_BY_RDMA}
    told = (
        one.model_copy(update={"evidence": (*one.evidence, *by_subject[one.subject].evidence)})
        if one.id == MET_BY_RDMA and one.subject in by_subject
        else one
        for one in before
    )
    return (*told, *(hole for hole in holes if hole.subject not in met))


def _ordered(pair: Direction) -> Direction:
    return pair if pair[0] < pair[1] else (pair[1], pair[0])


def _with_proof(link: Link, by_way: Mapping[Direction, Sequence[Asked]], tables: Tables, at: str) -> Link:
    a, b = link.ends
    there, back = by_way.get((a, b), ()), by_way.get((b, a), ())
    to_b, to_a = (sum(one.arrived for one in some) for some in (there, back))
    if not to_a and not to_b:
        return link
    entries = (text for _node, text in _entries((*there, *back), tables))
    detail = "; ".join(filter(None, (_words(there), _words(back), *entries)))
    proof = LinkProof(method="ping", at=at, frames_a_to_b=to_b, frames_b_to_a=to_a, detail=detail)
    return link.model_copy(update={"more_proofs": (*link.more_proofs, proof)})


def _words(asked: Sequence[Asked]) -> str:
    """ "to beta 10.0.0.2: 56 and 8972 bytes arrived", with what did not, and where it came in if not there."""
    if not asked:
        return ""
    to = asked[0].b
    arrived = " and ".join(str(one.size) for one in asked if one.arrived) or "no"
    lost = " and ".join(str(one.size) for one in asked if not one.arrived)
    elsewhere = next((one.came_in_by for one in asked if one.came_in_by not in ("", to.netdev)), "")
    text = f"to {to.node} {to.ip}: {arrived} bytes arrived"
    return (
        text + (f", {lost} did not" if lost else "") + (f", by {elsewhere} instead of {to.netdev}" if elsewhere else "")
    )


def _tables(nodes: Sequence[Node]) -> Tables:
    return {
        (node.name, entry.netdev, entry.ip): entry
        for node in nodes
        for entry in (() if isinstance(node.neighbours, Unknown) else node.neighbours)
    }


def _entries(asked: Sequence[Asked], tables: Tables) -> list[tuple[str, str]]:
    """(node, text): what the neighbour tables of the askers had for the addresses they asked."""
    wanted = dict.fromkeys((one.a.node, one.a.netdev, one.b.ip) for one in asked)
    return [
        (node, f"neighbour table of {node}: {ip} is {entry.mac or 'unanswered'} on {netdev} ({entry.state})")
        for node, netdev, ip in wanted
        if (entry := tables.get((node, netdev, ip))) is not None
    ]


def _black_holes(
    by_way: Mapping[Direction, Sequence[Asked]], kinds: Mapping[Direction, str], *, proven: bool
) -> Iterator[Finding]:
    """Pairs of ports where small datagrams arrive and those that both MTUs allow do not, in one or both directions."""
    holes: dict[Direction, list[tuple[Asked, Asked]]] = defaultdict(list)
    for (a, b), asked in sorted(by_way.items(), key=lambda way: way[0]):
        pair = _ordered((a, b))
        small, large = (min(asked, key=lambda one: one.size), max(asked, key=lambda one: one.size))
        if (kinds.get(pair) in ("cable", "segment") or not proven) and _is_hole(small, large):
            holes[pair].append((small, large))
    for pair, found in sorted(holes.items()):
        yield _black_hole(pair, found, proven=proven)


def _is_hole(small: Asked, large: Asked) -> bool:
    """Sent by the kernel, four times, and not arrived, where a small one arrived at the very port."""
    return small.arrived and small.came_in_by == small.b.netdev and not large.arrived and not large.reason


def _black_hole(pair: Direction, found: Sequence[tuple[Asked, Asked]], *, proven: bool) -> Finding:
    large = found[0][1]
    mtu = min(large.a.mtu, large.b.mtu)
    title = " - ".join(f"{node}/{port}" for node, port in pair)
    return Finding(
        id="mtu-black-hole",
        severity="error" if proven else "warning",
        subject=title,
        evidence=(
            *(
                Evidence(
                    file=lost.a.node,
                    text=f"{lost.a.netdev} {lost.a.ip} to {lost.b.node}/{lost.b.netdev} {lost.b.ip}: "
                    f"{small.size} bytes arrived, {lost.size} bytes (a frame of the MTU) did not, DF set",
                )
                for small, lost in found
            ),
            *(Evidence(file=place.node, text=f"{place.netdev} mtu {place.mtu}") for place in (large.a, large.b)),
        ),
        cause=f"Both ends allow frames of {mtu} bytes, and what lies between them (a switch, a bridge) drops them "
        "without a word: pings and small messages pass, large ones hang until RDMA's retries end (completion 12).",
        fix=(
            f"let the switch between {title} pass jumbo frames (most need 9216), or",
            f"set the MTU of both ends to what passes (1500 for sure): {large.a.netdev} on {large.a.node}, "
            f"{large.b.netdev} on {large.b.node}",
        ),
        confidence="certain" if proven else "likely",
    )


def _weak(
    by_way: Mapping[Direction, Sequence[Asked]], links: Sequence[Link], nodes: Sequence[Node], tables: Tables
) -> Iterator[Finding]:
    """Ports that reach each other by ping and are joined by no link: said, and proof of nothing."""
    agreed, known = Agreed(links, nodes), {_ordered(link.ends) for link in links}
    told: dict[Direction, list[Asked]] = defaultdict(list)
    for way, asked in by_way.items():
        pair = _ordered(way)
        if pair not in known and not agreed.joins(pair):
            told[pair] += [one for one in asked if one.arrived][:1]
    for pair, asked in sorted(told.items()):
        if asked:
            yield _weak_finding(pair, asked, tables)


def _weak_finding(pair: Direction, asked: Sequence[Asked], tables: Tables) -> Finding:
    return Finding(
        id="reached-by-ping-only",
        severity="info",
        subject=" - ".join(f"{node}/{port}" for node, port in pair),
        evidence=(
            *(
                Evidence(
                    file=one.a.node,
                    text=f"{one.a.netdev} {one.a.ip} reaches {one.b.ip} of {one.b.node}/{one.b.netdev}, where it came "
                    f"in by {one.came_in_by or 'an interface that was not told'}",
                )
                for one in asked
            ),
            *(Evidence(file=node, text=text) for node, text in _entries(asked, tables)[:SHOWN]),
        ),
        cause="These two ports answer each other's pings, and no frame proved that a cable joins them. That is weak "
        "evidence and no link: a kernel answers for its addresses on any of its ports, RDMA does not.",
        confidence="possible",
    )
