"""The strongest evidence for a link: RDMA messages over the GIDs that NCCL takes, both ways. A step of the cables job.

A link that passes gets the proof `rdma-ping` in front of the others; one that fails keeps what proved it, is marked as
not fit for RDMA, and gets a finding. Where no link could be proven otherwise, ports that share a subnet are tried, and
those between which messages pass become links. Planning, talking and judging are modules beside this one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from fabricdoc.errors import NodeError
from fabricdoc.fabric.cabling import port_facts
from fabricdoc.fabric.failing import with_failed
from fabricdoc.fabric.rdma_judging import Verdict, judge, messages, passed_text
from fabricdoc.fabric.rdma_pairs import Pair, pairs_of, rounds_of
from fabricdoc.fabric.rdma_talk import PROBE, Outcome, Talk
from fabricdoc.fabric.sharing import Conversation, open_some
from fabricdoc.model.documents import Unknown, utc_now
from fabricdoc.model.fabric import Endpoint, Fabric, Link, LinkProof, Node, PortKey
from fabricdoc.model.findings import Evidence, Finding
from fabricdoc.transport import NodeSpec

Key = frozenset[PortKey]
INSTALL = (
    "on each of them: sudo apt-get install libibverbs1 ibverbs-providers   (Debian, Ubuntu)",
    "or: sudo dnf install libibverbs   (Fedora, RHEL)",
)


def proven_by_rdma(specs: Sequence[NodeSpec], fabric: Fabric, progress: Callable[[str], None]) -> Fabric:
    """The fabric with every link between ACTIVE RoCE ports pinged by RDMA; as it is where there is none to ping."""
    pairs = pairs_of(fabric)
    if not pairs:
        return fabric
    names = {end.node for pair in pairs for end in (pair.a, pair.b)}
    progress(f"RDMA ping over {len(pairs)} {'link' if len(pairs) == 1 else 'links'}")
    channels, failed = _opened([spec for spec in specs if spec.name in names], fabric)
    with channels:
        talk = Talk(channels, failed)
        talk.greet()
        outcomes = talk.run(rounds_of(_possible(pairs, talk.able)))
        talk.end()
    verdicts = {_key(one.pair): (one, judge(one)) for one in outcomes}
    findings = _findings(verdicts.values(), guessed=isinstance(fabric.links, Unknown))
    untold = _untold(talk.unable, verdicts.values())
    reasons = {_key(pair): _lacking(pair, talk.unable) for pair in pairs if _key(pair) not in verdicts}
    found = (*_once(findings), *([_not_tried(untold, talk.lost)] if untold else []))
    return with_failed(_told(fabric, verdicts, found, reasons), talk.lost)


def _opened(specs: Sequence[NodeSpec], fabric: Fabric) -> tuple[Conversation, dict[str, NodeError]]:
    """The probes, where the server is when a node itself has no libibverbs, and on the node when that fails.

    And why others did not start.
    """
    nodes = {node.name: node for node in fabric.nodes}
    bare = {spec.name: replace(spec, container="", image="") for spec in specs}
    boxed = {spec.name for spec in specs if needs_server(spec, nodes[spec.name])}
    channels, failed = open_some([spec if spec.name in boxed else bare[spec.name] for spec in specs], PROBE)
    if not boxed & set(failed):
        return channels, failed
    channels.close()
    return open_some([spec if spec.name in boxed - set(failed) else bare[spec.name] for spec in specs], PROBE)


def needs_server(spec: NodeSpec, node: Node) -> bool:
    """Whether the probe has to run in the server's container, or one of its image: no libibverbs on the node itself."""
    if not (spec.container or spec.image) or spec.where.kind not in ("local", "ssh"):
        return False
    return isinstance(node.host.libibverbs, Unknown)


def _possible(pairs: Iterable[Pair], able: Mapping[str, str]) -> list[Pair]:
    return [pair for pair in pairs if pair.a.node in able and pair.b.node in able]


def _key(pair: Pair) -> Key:
    return frozenset((pair.a.key, pair.b.key))


def _once(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Without those that say the same of the same: a node that can't lock memory says so once for each HCA."""
    return tuple({(one.id, one.subject): one for one in findings}.values())


def _findings(tried: Iterable[tuple[Outcome, Verdict]], *, guessed: bool) -> list[Finding]:
    """The findings of all pairs. A guessed pair that fails proves nothing of a port that meets another one."""
    tried = list(tried)
    met = {end.key for one, verdict in tried if verdict.works for end in (one.pair.a, one.pair.b)} if guessed else set()
    return [
        verdict.finding
        for one, verdict in tried
        if verdict.finding and not (verdict.works is False and {one.pair.a.key, one.pair.b.key} & met)
    ]


def _lacking(pair: Pair, unable: Mapping[str, str]) -> str:
    return "; ".join(f"{end.node}: {unable[end.node]}" for end in (pair.a, pair.b) if end.node in unable)


def _untold(unable: Mapping[str, str], tried: Iterable[tuple[Outcome, Verdict]]) -> dict[str, str]:
    """Why it is not known on these nodes: what they lack, or that they fell silent."""
    reasons = dict(unable)
    for outcome, verdict in tried:
        if verdict.works is None and verdict.finding is None:
            for end, failure in zip((outcome.pair.a, outcome.pair.b), outcome.failures, strict=True):
                if failure is not None:
                    reasons.setdefault(end.node, failure.text)
    return reasons


def _not_tried(reasons: Mapping[str, str], lost: Mapping[str, NodeError]) -> Finding:
    """Nodes on which RDMA could not be tried, all in one finding; `lost` are those whose probe failed."""
    fixes = dict.fromkeys(lost[name].fix for name in reasons if name in lost and lost[name].fix)
    lacking = reasons.keys() - lost.keys()
    return Finding(
        id="rdma-not-tried",
        severity="info",
        subject=", ".join(reasons),
        evidence=tuple(Evidence(file=name, text=reason) for name, reason in reasons.items()),
        cause="The links of these nodes are proven without RDMA: whether NCCL can connect over them is not known.",
        fix=(*fixes, *(INSTALL if lacking or not fixes else ())),
    )


def _told(
    fabric: Fabric,
    verdicts: Mapping[Key, tuple[Outcome, Verdict]],
    findings: Sequence[Finding],
    reasons: Mapping[Key, str],
) -> Fabric:
    """The fabric with what was learnt of each link, and links for pairs that had none; unknown links may stay so."""
    links = () if isinstance(fabric.links, Unknown) else fabric.links
    at, told = utc_now(), []
    left = dict(verdicts)
    for link in links:
        key = frozenset(link.ends)
        left.pop(key, None)
        told.append(_link(link, verdicts.get(key), reasons.get(key, ""), at))
    told += [_new_link(fabric, outcome, at) for outcome, verdict in left.values() if verdict.works]
    known = fabric.links if isinstance(fabric.links, Unknown) and not told else tuple(told)
    return fabric.model_copy(update={"links": known, "findings": (*fabric.findings, *findings)})


def _link(link: Link, known: tuple[Outcome, Verdict] | None, reason: str, at: str) -> Link:
    if known is None:
        return link.model_copy(update={"rdma": Unknown(unknown=reason)}) if reason else link
    outcome, verdict = known
    if verdict.works is None:
        return link.model_copy(update={"rdma": Unknown(unknown=verdict.reason[:400])})
    if not verdict.works:
        return link.model_copy(update={"rdma": False})
    proof = _proof(outcome, at, turned=outcome.pair.a.key != link.a.key)
    return link.model_copy(update={"rdma": True, "proof": proof, "more_proofs": (link.proof, *link.more_proofs)})


def _proof(outcome: Outcome, at: str, *, turned: bool) -> LinkProof:
    there, back = (messages(outcome, side) for side in ((1, 0) if turned else (0, 1)))
    detail = passed_text(outcome)
    return LinkProof(method="rdma-ping", at=at, frames_a_to_b=there, frames_b_to_a=back, detail=detail)


def _new_link(fabric: Fabric, outcome: Outcome, at: str) -> Link:
    """A segment: what lies between is not known, and others may be there too."""
    facts = port_facts(fabric.nodes, {})
    a, b = (
        Endpoint(node=one.node, netdev=one.netdev, mac=facts[one.key].mac, hca=one.hca, ip=facts[one.key].ip)
        for one in (outcome.pair.a, outcome.pair.b)
    )
    return Link(a=a, b=b, kind="segment", proof=_proof(outcome, at, turned=False), rdma=True)
