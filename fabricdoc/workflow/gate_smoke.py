"""The gate's smoke level: RDMA messages over every link, and a two-size all-reduce under the preset's variables.

Fresh processes on the preset's nodes, by the bench's agents and worker. What launches show is `gate_smoke_answers`';
what a broken link means is the cable map's. Starts nothing where memory is short or a GPU is in use.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from fabricdoc.bench import Agents
from fabricdoc.errors import FabricdocError, NodeError
from fabricdoc.fabric import proven_by_rdma, within
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Link
from fabricdoc.model.findings import Finding
from fabricdoc.model.gate import GateCheck
from fabricdoc.transport import NodeSpec
from fabricdoc.workflow.checking import Added, Asked, preset_asked
from fabricdoc.workflow.gate_all_reduce import Progress, Trial, all_reduced, smoke_plan
from fabricdoc.workflow.gate_launches import limits
from fabricdoc.workflow.gate_looking import gate_nodes
from fabricdoc.workflow.gate_smoke_answers import LAUNCH, Answer, check, finding, slow_only, with_bandwidth
from fabricdoc.workflow.gate_time import TIME, Found, in_time, is_over, to_wait, without
from fabricdoc.workflow.readiness import obstacles

Deeper = Callable[[Agents, Fabric], Found]
RDMA = "smoke-rdma"


def deepen(asked: Asked, fabric: Fabric, progress: Progress) -> Added:
    """What the smoke level adds to a quick gate that said go."""
    return within_deadline(asked, Trial(preset_asked(asked), gate_nodes(asked), fabric, progress))


def within_deadline(asked: Asked, trial: Trial, deeper: Deeper | None = None) -> Added:
    """What the level adds; no wait for a node goes beyond what is left of the gate's deadline."""
    with within(to_wait(asked.left())):
        found = smoke(trial, deeper)
    return Added(*in_time(found, trial.nodes, asked.deadline_s))


def smoke(trial: Trial, deeper: Deeper | None = None) -> Found:
    """All checks of the level and the causes of those that do not hold, with those of the parts that were not done.

    Over a link that RDMA does not pass nothing is launched: it would hang until its deadline and say less. `deeper`
    goes on with the same agents where all holds, or where it only took longer: it is to tell why. Its checks are added.
    """
    pinged = with_rdma(trial.specs, trial.fabric, trial.progress)
    links, causes = link_answers(trial.fabric, pinged)
    first = tuple(links), tuple(causes)
    if len(trial.names) < 2 or any(one.outcome == "differs" for one in links):
        return first
    trial = replace(trial, fabric=pinged, measuring=deeper is not None)
    if is_over():
        return _joined(first, without(trial.parts))
    for obstacle in obstacles(smoke_plan(trial), pinged, trial.specs):
        return _joined(first, split([hindered(obstacle)]))
    return _joined(first, _launched(trial, deeper))


def _launched(trial: Trial, deeper: Deeper | None) -> Found:
    """The all-reduce, and what goes deeper; an agent that does not answer fails its node and ends both."""
    found: Found = (), ()
    open_parts: Sequence[str] = trial.parts
    specs = in_order(trial.specs, trial.names)
    try:
        with Agents(specs, hello_s=float(limits()["smoke"]["seconds"]["hello"])) as agents:
            found, open_parts = split(all_reduced(agents, trial)), trial.parts[1:]
            if deeper is not None and slow_only(found[0]):
                found, open_parts = _explained(found, deeper(agents, trial.fabric)), ()
    except NodeError as gone:
        found = _joined(found, split([unanswered(gone, trial)]))
    ended = is_over() or any(one.id == TIME for one in found[0])
    return _joined(found, without(open_parts)) if ended else found


def unanswered(gone: NodeError, trial: Trial) -> Answer:
    """A node whose agent did not start, or was lost: it has failed."""
    node = next((name for name in trial.names if _names(gone.message, name)), "")
    told = check(LAUNCH, node, "launch", "all ranks start and end", f"not tried: {gone.message}", "failed")
    fix = [*([gone.fix] if gone.fix else []), f"fabricdoc scan --nodes {trial.nodes}"]
    return told, finding(LAUNCH, node or ", ".join(trial.names), gone.message, fix)


def _names(text: str, name: str) -> bool:
    return re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w.-])", text) is not None


def _joined(first: Found, second: Found) -> Found:
    return (*first[0], *second[0]), (*first[1], *second[1])


def _explained(found: Found, deeper: Found) -> Found:
    """Both, the deeper level's causes first: a slow rail is why an all-reduce takes longer."""
    slow = tuple(with_bandwidth(one, deeper[1]) for one in found[1])
    return (*found[0], *deeper[0]), (*deeper[1], *slow)


def split(answers: Sequence[Answer]) -> Found:
    """The checks, and the findings that came with them, each cause once."""
    found = {(one.id, one.subject): one for _, one in reversed(answers) if one is not None}
    return tuple(one for one, _ in answers), tuple(reversed(found.values()))


def with_rdma(specs: Sequence[NodeSpec], fabric: Fabric, progress: Progress) -> Fabric:
    """The fabric with its links pinged, where the look before did not do that already."""
    links = () if isinstance(fabric.links, Unknown) else fabric.links
    asked = any(not isinstance(link.rdma, Unknown) for link in links)
    return fabric if asked or len(specs) < 2 else proven_by_rdma(specs, fabric, progress)


def link_answers(before: Fabric, after: Fabric) -> tuple[list[GateCheck], list[Finding]]:
    """A check for each link between HCAs; the findings that the ping made, of broken links only."""
    links = [link for link in (() if isinstance(after.links, Unknown) else after.links) if link.a.hca and link.b.hca]
    checks = [_link(link) for link in links if link.kind in ("cable", "segment")]
    known = {(one.id, one.subject) for one in before.findings}
    new = [one for one in after.findings if one.id.startswith("rdma-") and (one.id, one.subject) not in known]
    if before is after:
        new = [one for one in after.findings if one.id.startswith("rdma-")]
    return checks, [one for one in new if one.severity != "info"]


def _link(link: Link) -> GateCheck:
    """Unknown does not hinder a launch: whether NCCL can connect is what the next step shows."""
    subject = f"{link.a.netdev} - {link.b.node}/{link.b.netdev}"
    if isinstance(link.rdma, Unknown):
        seen = f"not tried: {link.rdma.unknown}"
        return check(RDMA, link.a.node, subject, "messages pass both ways", seen, "ok")
    seen = "messages pass both ways" if link.rdma else "they do not"
    return check(RDMA, link.a.node, subject, "messages pass both ways", seen, "ok" if link.rdma else "differs")


def in_order(specs: Sequence[NodeSpec], names: Sequence[str]) -> list[NodeSpec]:
    """The nodes of the preset in its order; NodeError for one that is not there."""
    known = {spec.name: spec for spec in specs}
    for name in names:
        if name not in known:
            raise NodeError(
                f"{name} of the preset is not among the nodes named", fix="leave --nodes out", id="no-such-node"
            )
    return [known[name] for name in names]


def hindered(obstacle: FabricdocError) -> Answer:
    """What keeps a launch from being made: memory, or a GPU in use. It could not be told then."""
    node = obstacle.message.partition(":")[0] if ":" in obstacle.message else ""
    found = finding(
        LAUNCH, node, f"not tried: {obstacle.message}", [obstacle.fix] if obstacle.fix else [], (), "warning"
    )
    return check(LAUNCH, node, "launch", "all ranks start and end", f"unknown: {obstacle.message}", "unknown"), found
