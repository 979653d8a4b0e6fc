"""LLDP as evidence of links: what the machine at the other end of a port says of itself.

A link that beacons proved gets LLDP as a further proof. Where beacons could not speak (no right to, or not sent), LLDP
alone makes links, between ports that may be used; where they spoke and LLDP says otherwise, that is a finding naming
both ends. A switch proves no link between nodes. Sends nothing and asks nobody: who is who is `neighbours`' matter.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from fabricdoc.fabric.beacons import candidate_ports
from fabricdoc.fabric.cabling import port_facts
from fabricdoc.fabric.joined import Agreed, Pair
from fabricdoc.fabric.lldp_findings import contradictions, lldp_findings, said
from fabricdoc.fabric.neighbours import sightings, told_by
from fabricdoc.model.documents import Unknown, utc_now
from fabricdoc.model.fabric import Endpoint, Fabric, Link, LinkProof, Node, PortKey
from fabricdoc.model.findings import Finding
from fabricdoc.transport import NodeSpec

SILENT = "port-without-peer"
LONGEST_DETAIL = 400


@dataclass
class Met:
    """What LLDP says of a pair of ports: which of them heard the other, and in which words."""

    heard_at: set[PortKey] = field(default_factory=set)
    words: list[str] = field(default_factory=list)

    def proof(self, pair: Pair, at: str) -> LinkProof:
        """As a proof of the link from pair[0] to pair[1]: a frame arrived where the other is known."""
        to_a, to_b = (int(port in self.heard_at) for port in pair)
        detail = "; ".join(self.words)[:LONGEST_DETAIL]
        return LinkProof(method="lldp", at=at, frames_a_to_b=to_b, frames_b_to_a=to_a, detail=detail)


def with_lldp(specs: Sequence[NodeSpec], fabric: Fabric, progress: Callable[[str], None]) -> Fabric:
    """The fabric with what LLDP proves, contradicts and names; unchanged where no node has LLDP's word."""
    if not any(map(told_by, fabric.nodes)):
        return fabric
    nodes = {node.name: node for node in fabric.nodes}
    usable = {(spec.name, port) for spec in specs for port in candidate_ports(spec, nodes[spec.name])}
    met = met_pairs(fabric.nodes)
    if met:
        progress(f"LLDP: {len(met)} pair{'s' if len(met) != 1 else ''} of ports name each other")
    fabric = _with_links(fabric, met, usable)
    return fabric.model_copy(update={"findings": (*fabric.findings, *lldp_findings(fabric, usable))})


def met_pairs(nodes: Sequence[Node]) -> dict[Pair, Met]:
    """The pairs of known ports of which at least one heard LLDP from the other, each in the order of names."""
    found: dict[Pair, Met] = defaultdict(Met)
    for one in sightings(nodes):
        pair = (one.at, one.of) if one.at < one.of else (one.of, one.at)
        found[pair].heard_at.add(one.at)
        found[pair].words.append(said(one.at, one.told))
    return dict(sorted(found.items()))


def _with_links(fabric: Fabric, met: Mapping[Pair, Met], usable: set[PortKey]) -> Fabric:
    """Proofs for the links that are there, links for pairs whose ports did not both speak, findings for the rest."""
    at = utc_now()
    links = () if isinstance(fabric.links, Unknown) else fabric.links
    known = {link.ends for link in links}
    agreed = Agreed(links, fabric.nodes)
    left = {pair: one for pair, one in met.items() if pair not in known and not agreed.joins(pair)}
    spoke = _spoke(links, fabric.findings)
    wrong = {pair: one.words for pair, one in left.items() if spoke.issuperset(pair)}
    made = _made({pair: one for pair, one in left.items() if pair not in wrong and usable.issuperset(pair)}, fabric, at)
    proven = [_proven(link, met, at) for link in links]
    explained = {f"{node}/{port}" for link in made for node, port in link.ends}
    kept = (one for one in fabric.findings if one.id != SILENT or one.subject not in explained)
    changed: dict[str, object] = {"findings": (*kept, *contradictions(wrong, links, fabric.nodes))}
    if made or proven:
        changed["links"] = tuple(sorted((*proven, *made), key=lambda link: link.ends) if made else proven)
    return fabric.model_copy(update=changed)


def _proven(link: Link, met: Mapping[Pair, Met], at: str) -> Link:
    """The link with LLDP's word of it, whichever end it begins with."""
    pair = link.ends
    found = met.get(pair) or met.get((pair[1], pair[0]))
    if found is None:
        return link
    return link.model_copy(update={"more_proofs": (*link.more_proofs, found.proof(pair, at))})


def _made(met: Mapping[Pair, Met], fabric: Fabric, at: str) -> list[Link]:
    """Links by LLDP alone: a cable where each end knows one port, else a segment."""
    others = Counter(port for pair in met for port in pair)
    facts = port_facts(fabric.nodes, {}) if met else {}
    made = []
    for pair, one in met.items():
        ends = (
            Endpoint(node=key[0], netdev=key[1], mac=facts[key].mac, hca=facts[key].hca, ip=facts[key].ip)
            for key in pair
        )
        kind = "segment" if any(others[port] > 1 for port in pair) else "cable"
        a, b = ends
        made.append(Link.model_validate({"a": a, "b": b, "kind": kind, "proof": one.proof(pair, at)}))
    return made


def _spoke(links: Sequence[Link], findings: Sequence[Finding]) -> set[PortKey]:
    """Ports whose beacons were sent: those in links, and those that met nobody."""
    silent = {(node, port) for one in findings if one.id == SILENT for node, _, port in [one.subject.partition("/")]}
    return silent | {port for link in links for port in link.ends}
