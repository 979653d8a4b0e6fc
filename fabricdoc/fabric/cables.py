"""The cables job: prove the links of a scanned fabric by every kind of evidence, strongest last, then judge it once.

Each kind of evidence is a module of its own and a step here: a function from a fabric to the same fabric with more
proofs and findings. What the steps found stays; what the checks find is made anew, now that the links are known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from fabricdoc.checks import judged
from fabricdoc.fabric.beacons import candidate_ports, exchange
from fabricdoc.fabric.cabling import links_from
from fabricdoc.fabric.failing import standing, with_failed
from fabricdoc.fabric.heard import Heard
from fabricdoc.fabric.link_findings import beacon_findings
from fabricdoc.fabric.listing import no_candidates, unmatched
from fabricdoc.fabric.lldp import with_lldp
from fabricdoc.fabric.rdma_ping import proven_by_rdma
from fabricdoc.fabric.reaching import with_reach
from fabricdoc.fabric.selecting import with_selectors
from fabricdoc.fabric.sharing import sharing
from fabricdoc.fabric.sparing import lldp_first
from fabricdoc.fabric.traits import with_traits
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric
from fabricdoc.transport import NodeSpec

Progress = Callable[[str], None]
Step = Callable[[Sequence[NodeSpec], Fabric, Progress], Fabric]


class Evidence(NamedTuple):
    """What is asked of any two nodes after the beacons, in this order.

    `proofs` strengthen links, or make them where beacons could not. `following` follows from links, and is asked only
    where there are some. `weak` proves no link, and needs none.
    """

    proofs: tuple[Step, ...]
    following: tuple[Step, ...]
    weak: tuple[Step, ...]


BEACONS_ALONE = Evidence((), (with_traits, with_selectors), ())


def every_kind(tcp_ports: Sequence[int] = ()) -> Evidence:
    """All of it; TCP is tried on `tcp_ports`, those of the user's launcher (default: torch's rendezvous port)."""
    return Evidence((with_lldp, proven_by_rdma), BEACONS_ALONE.following, (partial(with_reach, ports=tcp_ports),))


EVERY_KIND = every_kind()


def map_cables(
    specs: Sequence[NodeSpec],
    fabric: Fabric,
    progress: Progress = lambda _: None,
    evidence: Evidence = EVERY_KIND,
) -> Fabric:
    """`fabric` with `links` proven, or the reason they could not be, and with its findings.

    Sends a few layer-2 frames from RDMA-backed or listed ports only. Nodes that failed the scan are left out, and those
    that fail on the way from there on: each is in `failed`, and the others' links stand.
    """
    with sharing():
        fabric = _by_beacons(specs, standing(specs, fabric), fabric, progress)
        for step in evidence.proofs:
            fabric = _asked(step, specs, fabric, progress)
        for step in evidence.following if fabric.links and not isinstance(fabric.links, Unknown) else ():
            fabric = step(standing(specs, fabric), fabric, progress)
        for step in evidence.weak:
            fabric = _asked(step, specs, fabric, progress)
    return judged(fabric)


def _asked(step: Step, specs: Sequence[NodeSpec], fabric: Fabric, progress: Progress) -> Fabric:
    """After a step that asks the nodes which still answer, where there are two of them."""
    present = standing(specs, fabric)
    return step(present, fabric, progress) if len(present) > 1 else fabric


def _by_beacons(specs: Sequence[NodeSpec], present: Sequence[NodeSpec], fabric: Fabric, progress: Progress) -> Fabric:
    """The links that beacons prove between the nodes that could be read."""
    if len(present) < 2:
        read = f"{len(present)} of {len(specs)} could be read"
        return _without_links(fabric, f"cables join at least two nodes: {NAMED if len(specs) < 2 else read}")
    scanned = {node.name: node for node in fabric.nodes}
    ports = {spec.name: candidate_ports(spec, scanned[spec.name]) for spec in present}
    if not any(ports.values()):
        return _without_links(fabric, no_candidates(present, fabric.nodes))
    fabric = fabric.model_copy(update={"findings": (*fabric.findings, *unmatched(present, fabric.nodes))})
    fabric, ports = lldp_first(present, fabric, ports)
    if not any(ports.values()):
        return _without_links(fabric, "no beacon was sent: LLDP shows every port behind a switch")
    progress(f"beacons on {sum(map(len, ports.values()))} ports")
    return with_links(fabric, exchange(present, ports))


NAMED = "name them with --nodes"


def _without_links(fabric: Fabric, reason: str) -> Fabric:
    return fabric.model_copy(update={"links": Unknown(unknown=reason)})


def with_links(fabric: Fabric, heard: Heard) -> Fabric:
    """The fabric with the links that were heard, what beacons alone can tell of its ports, and nodes that failed."""
    links = links_from(heard, fabric.nodes) if heard.macs else Unknown(unknown=_why_none(heard))
    told = beacon_findings(heard, () if isinstance(links, Unknown) else links, fabric.nodes)
    fabric = fabric.model_copy(update={"links": links, "findings": (*fabric.findings, *told)})
    return with_failed(fabric, heard.failed)


def _why_none(heard: Heard) -> str:
    """Why no port at all was open."""
    if heard.failed and not heard.refused:
        return next(iter(heard.failed.values())).message
    return f"beacons need CAP_NET_RAW on the nodes: {next(iter(heard.refused.values()), 'no port could be opened')}"
