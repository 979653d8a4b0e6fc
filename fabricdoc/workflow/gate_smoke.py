"""The gate's smoke level: RDMA messages over every link, and a two-size all-reduce under the preset's variables.

Fresh processes on the preset's nodes, by the bench's agents and worker. What launches show is `gate_smoke_answers`';
what a broken link means is the cable map's. Starts nothing where memory is short or a GPU is in use.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf

from fabricdoc.bench import Agents, Errand, run_launch
from fabricdoc.errors import FabricdocError, NodeError
from fabricdoc.fabric import proven_by_rdma
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Link
from fabricdoc.model.findings import Finding
from fabricdoc.model.gate import GateCheck
from fabricdoc.model.preset import Preset
from fabricdoc.model.run import Launch, Plan
from fabricdoc.transport import NodeSpec
from fabricdoc.workflow.checking import Added, Asked, preset_asked
from fabricdoc.workflow.gate_launches import (
    candidate_of,
    errand,
    limits,
    meeting_address,
    plan_between,
    smoke_shapes,
    smoke_views,
)
from fabricdoc.workflow.gate_looking import gate_nodes
from fabricdoc.workflow.gate_smoke_answers import (
    LATENCY,
    LAUNCH,
    Answer,
    Tried,
    check,
    finding,
    slow_only,
    smoke_answers,
    with_bandwidth,
)
from fabricdoc.workflow.readiness import obstacles

Progress = Callable[[str], None]
Found = tuple[tuple[GateCheck, ...], tuple[Finding, ...]]
Deeper = Callable[[Agents, Fabric], Found]
RDMA = "smoke-rdma"
LEAST_S = 1.0


def deepen(asked: Asked, fabric: Fabric, progress: Progress) -> Added:
    """What the smoke level adds to a quick gate that said go."""
    return Added(*smoke(preset_asked(asked), gate_nodes(asked), fabric, progress, left=asked.left))


def smoke(
    preset: Preset,
    specs: Sequence[NodeSpec],
    fabric: Fabric,
    progress: Progress,
    deeper: Deeper | None = None,
    left: Callable[[], float] = lambda: inf,
) -> Found:
    """All checks of the level and the causes of those that do not hold. NodeError where an agent does not start.

    `left` tells how many seconds the whole gate still has: no wait is longer.

    Over a link that RDMA does not pass nothing is launched: it would hang until its deadline and say less. `deeper`
    goes on with the same agents where all holds, or where it only took longer: it is to tell why. Its checks are added.
    """
    pinged = with_rdma(specs, fabric, progress)
    links, causes = link_answers(fabric, pinged)
    names = [node.name for node in preset.nodes]
    if len(names) < 2 or any(one.outcome == "differs" for one in links):
        return tuple(links), tuple(causes)
    plan = smoke_plan(preset, pinged, left())
    for obstacle in obstacles(plan, pinged, specs):
        return _joined((links, causes), split([hindered(obstacle)]))
    hello_s = min(float(limits()["smoke"]["seconds"]["hello"]), max(LEAST_S, left()))
    with Agents(in_order(specs, names), hello_s=hello_s) as agents:
        found = split(all_reduced(agents, Trial(preset, pinged, plan, node_list(specs), deeper is not None), progress))
        if deeper is not None and slow_only(found[0]):
            found = _explained(found, deeper(agents, pinged))
    return _joined((links, causes), found)


def _joined(first: tuple[Sequence[GateCheck], Sequence[Finding]], second: Found) -> Found:
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


def smoke_plan(preset: Preset, fabric: Fabric, left_s: float = inf) -> Plan:
    """The two-size all-reduce between all nodes of the preset; a launch ends within the data's limit and `left_s`."""
    names = [node.name for node in preset.nodes]
    limit = min(float(limits()["smoke"]["seconds"]["launch"]), max(LEAST_S, left_s))
    return plan_between(preset, fabric, names, smoke_shapes(preset), smoke_views(preset), limit)


@dataclass(frozen=True)
class Trial:
    """What is launched, where, and the nodes as `--nodes` takes them; `measuring`: bandwidth comes after it."""

    preset: Preset
    fabric: Fabric
    plan: Plan
    nodes: str
    measuring: bool = False


def all_reduced(agents: Agents, trial: Trial, progress: Progress) -> list[Answer]:
    """The two-size all-reduce, again where the first launch was slow; every check of it."""
    data, preset, plan = limits()["smoke"], trial.preset, trial.plan
    names = [node.name for node in preset.nodes]
    candidate, master = candidate_of(preset, names), meeting_address(preset, trial.fabric, names)
    work = {"calls": data["calls"], "warmup": data["warmup"], "replays": 1}
    launches: list[Launch] = []
    answers: list[Answer] = []
    progress(f"an all-reduce of {' and '.join(f'{shape.size} B' for shape in plan.shapes)}")
    for number in range(1, int(data["launches"]) + 1):
        launches.append(launched(agents, errand(plan, candidate, number, master, work)))
        answers = smoke_answers(Tried(preset, plan, tuple(launches), trial.nodes, trial.measuring))
        if not any(one.id == LATENCY and one.outcome == "differs" for one, _ in answers):
            break
        progress("slower than measured: once more")
    return answers


def launched(agents: Agents, one: Errand) -> Launch:
    """That launch, by these agents."""
    return run_launch(agents, one.plan, one.candidate, one.place, one.master, one.extra)[0]


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


def node_list(specs: Sequence[NodeSpec]) -> str:
    """The nodes as `--nodes` takes them."""
    return ",".join(spec.name if spec.name == spec.target else f"{spec.name}={spec.target}" for spec in specs)
