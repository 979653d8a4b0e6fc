"""The plan of a bench from a request, a looked-at fabric and agents that said hello; starts nothing.

Puts together what `field` (where it stands) and `choosing` (the candidates) found, with shapes, blocks and bounds, and
says in notes what the user should read first.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

from fabricdoc.bench import (
    GRID,
    Arms,
    check_budget,
    grid_shapes,
    make_plan,
    merge_shapes,
    placed,
)
from fabricdoc.errors import NodeError, UsageError
from fabricdoc.model.fabric import Fabric
from fabricdoc.model.profile import Profile
from fabricdoc.model.run import Estimate, Plan, Rank, Run, Shape
from fabricdoc.serving import captured_shapes, decode_stages, load_profile, shapes_for
from fabricdoc.workflow.arms import blocks_of
from fabricdoc.workflow.choosing import choose
from fabricdoc.workflow.contexts import contexts
from fabricdoc.workflow.field import field_of, has_unified_memory, master_of
from fabricdoc.workflow.judging import with_step
from fabricdoc.workflow.readiness import Hello
from fabricdoc.workflow.requests import Request


class Greeted(Protocol):
    """Agents that have said hello."""

    @property
    def hello(self) -> dict[str, dict[str, Any]]:
        """What each node's agent said of its python, torch and NCCL."""


@dataclass(frozen=True)
class Prepared:
    """Everything decided before the first launch. `notes` are sentences the user should read first.

    `resumes`: the run is a stored one, whose launches are gone through before new ones are made.
    """

    run: Run
    profile: Profile
    master: str
    notes: tuple[str, ...] = ()
    resumes: bool = False


def prepare(request: Request, fabric: Fabric, agents: Greeted) -> Prepared:
    """Plan the run. Raises UsageError for one node or a budget too small, InconclusiveError without a common rail,
    NodeError where NCCL is missing or not the same everywhere."""
    refuse_incomplete(request, fabric)
    profile = with_step(load_profile(request.profile, request.presets), request.step)
    field = field_of(request, fabric, agents.hello)
    chosen = choose(request, field, fabric, profile)
    blocks, enough = blocks_of(
        request.blocks, request.effect, sum(one.role == "candidate" for one in chosen.candidates)
    )
    ranks = [
        Rank(rank=index * request.ranks_per_node + local, node=name, local_rank=local)
        for index, name in enumerate(field.names)
        for local in range(request.ranks_per_node)
    ]
    plan = make_plan(
        backend=field.backend,
        ranks=ranks,
        candidates=chosen.candidates,
        shapes=shapes_of(request, profile),
        blocks=blocks,
        seed=request.seed if request.seed is not None else secrets.randbits(31),
        profile=request.profile,
        objective=request.objective,
        unified_memory=[node.name for node in fabric.nodes if has_unified_memory(node)],
        not_offered=chosen.not_offered,
        search=request.search,
        budget_s=request.budget_s,
        arms=Arms(request.path, request.skew, request.gemm),
        deadlines_s=request.deadlines_s,
    )
    estimate = with_check(plan)
    plan = plan.model_copy(update={"weights": dict(request.weights or {}), "estimate": estimate})
    nodes = contexts(request.specs, fabric, agents.hello)
    run = Run(id=new_run_id(), plan=plan, nodes=nodes, links=fabric.links, command=tuple(request.command))
    notes = (*chosen.notes, *_batches(profile), *_inherited(agents.hello), *filter(None, [enough, check_budget(plan)]))
    return Prepared(run, profile, request.master or master_of(field.rails, field.names[0]), notes)


def with_check(plan: Plan) -> Estimate:
    """The estimate with the launches of a drop-one check: of the candidate with the most lines, or of two combined."""
    lines = sorted((len(one.variables) for one in plan.candidates if one.role == "candidate"), reverse=True)
    most = sum(lines[:2]) if plan.search == "adaptive" else max(lines, default=0)
    whole = plan.estimate
    if most < 2:
        return whole
    more = plan.blocks * (3 + most) + 1 + plan.blocks * 4
    share = 1.0 + more / max(1, whole.launches)
    return whole.model_copy(
        update={
            "launches": whole.launches + more,
            "seconds": round(whole.seconds * share, 1),
            "bytes_per_link": round(whole.bytes_per_link * share),
        }
    )


def shapes_of(request: Request, profile: Profile) -> tuple[Shape, ...]:
    """What is timed: the profile's shapes, those of its other captured batches, and the grid (or the user's sizes)."""
    grid = grid_shapes(request.sizes or GRID, request.ops, request.dtype)
    merged = merge_shapes(shapes_for(profile), (*captured_shapes(profile), *grid))
    return tuple(placed(shape, in_place=not request.out_of_place) for shape in merged)


def refuse_incomplete(request: Request, fabric: Fabric) -> None:
    """NodeError where a node could not be read, UsageError for a single one."""
    if fabric.failed:
        lost = fabric.failed[0]
        raise NodeError(lost.message, fix=lost.fix, id=lost.id)
    if len(fabric.nodes) < 2:
        raise UsageError(
            "one node: there is nothing between nodes to measure",
            fix=f"fabricdoc bench --nodes {request.specs[0].target if request.specs else 'local'},OTHER_HOST",
            id="one-node",
        )


def _batches(profile: Profile) -> tuple[str, ...]:
    """How many decode batches are asked, where it is not one."""
    stages = decode_stages(profile)
    if len(stages) < 2:
        return ()
    span = f"{stages[0].rows} to {stages[-1].rows} rows"
    more = len(captured_shapes(profile))
    return (f"decode is scored over {len(stages)} captured batches ({span}), which takes {more} sizes more",)


def _inherited(hello: Hello) -> tuple[str, ...]:
    notes = []
    for node, answer in hello.items():
        kept = ", ".join(f"{name}={value}" for name, value in sorted((answer.get("environment") or {}).items()))
        if kept:
            notes.append(f"{node}: kept from the environment, as a server started there would: {kept}")
    return tuple(notes)


def new_run_id() -> str:
    """A run's id: UTC time to the second and four random hex digits; sorts by time."""
    return datetime.now(UTC).strftime("%Y%m%d-%H%M%S-") + secrets.token_hex(2)
