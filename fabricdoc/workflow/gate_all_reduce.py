"""The two-size all-reduce of the gate's smoke level: launched by the agents, again where it took longer than it did.

Each launch gets what the gate's deadline leaves it. What launches show is `gate_smoke_answers`'.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from fabricdoc.bench import Agents, run_side_by_side
from fabricdoc.model.fabric import Fabric
from fabricdoc.model.naming import node_word
from fabricdoc.model.preset import Preset
from fabricdoc.model.run import Plan
from fabricdoc.transport import NodeSpec
from fabricdoc.workflow.gate_launches import (
    candidate_of,
    errand,
    limits,
    meeting_address,
    plan_between,
    smoke_shapes,
    smoke_views,
)
from fabricdoc.workflow.gate_smoke_answers import LATENCY, Answer, Tried, cut_off, once_only, smoke_answers
from fabricdoc.workflow.gate_time import is_over, launch_s, not_done, was_cut

Progress = Callable[[str], None]
REDUCING, AGAIN, BANDWIDTH = "the all-reduce", "the all-reduce once more", "the bandwidth"


@dataclass(frozen=True)
class Trial:
    """What is launched, where, and to whom it is told; `measuring`: the bandwidth comes after it."""

    preset: Preset
    specs: tuple[NodeSpec, ...]
    fabric: Fabric
    progress: Progress
    measuring: bool = False

    @property
    def names(self) -> list[str]:
        """The nodes in the order of ranks."""
        return [node.name for node in self.preset.nodes]

    @property
    def parts(self) -> tuple[str, ...]:
        """What is still to be done once the links were pinged, in order."""
        return (REDUCING, BANDWIDTH) if self.measuring else (REDUCING,)

    @property
    def nodes(self) -> str:
        """The nodes as `--nodes` takes them."""
        return node_list(self.specs)


def own_limit_s() -> float:
    """The seconds that a launch may take where the gate has time."""
    return float(limits()["smoke"]["seconds"]["launch"])


def smoke_plan(trial: Trial) -> Plan:
    """The two-size all-reduce between all nodes of the preset; a launch ends in what the gate's deadline leaves it."""
    preset, limit_s = trial.preset, launch_s(own_limit_s())
    return plan_between(preset, trial.fabric, trial.names, smoke_shapes(preset), smoke_views(preset), limit_s)


def all_reduced(agents: Agents, trial: Trial) -> list[Answer]:
    """Every check of it. NodeError where agents that need variables of their own do not start."""
    candidate = candidate_of(trial.preset, trial.names)
    if candidate.fresh_agent:
        agents.restart(candidate.node_variables)
    tried = Tried(trial.preset, smoke_plan(trial), (), trial.nodes, trial.measuring)
    trial.progress(f"an all-reduce of {' and '.join(f'{shape.size} B' for shape in tried.plan.shapes)}")
    answers: list[Answer] = []
    for _ in range(int(limits()["smoke"]["launches"])):
        if answers:
            if is_over():
                return [*once_only(answers), (not_done(AGAIN), None)]
            trial.progress("slower than measured: once more")
        tried = _launched(agents, trial, tried)
        if was_cut(tried.last, tried.plan.launch_deadline_s, own_limit_s()):
            return [*once_only(answers), cut_off(tried), (not_done(AGAIN if answers else REDUCING), None)]
        answers = smoke_answers(tried)
        if not any(one.id == LATENCY and one.outcome == "differs" for one, _ in answers):
            break
    return answers


def _launched(agents: Agents, trial: Trial, tried: Tried) -> Tried:
    """With one launch more."""
    data, plan = limits()["smoke"], smoke_plan(trial)
    work = {"calls": data["calls"], "warmup": data["warmup"], "replays": 1}
    master = meeting_address(trial.preset, trial.fabric, trial.names)
    candidate = candidate_of(trial.preset, trial.names)
    (launch,) = run_side_by_side(agents, [errand(plan, candidate, len(tried.launches) + 1, master, work)])
    return replace(tried, plan=plan, launches=(*tried.launches, launch))


def node_list(specs: Sequence[NodeSpec]) -> str:
    """The nodes as `--nodes` takes them."""
    return ",".join(node_word(spec.name, spec.target) for spec in specs)
