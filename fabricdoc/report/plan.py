"""The plan of a bench for people, before it starts: what will be done, and the most it can cost.

Computes nothing: the bounds are the plan's own estimate.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fabricdoc.report.cells import BOLD, DIM, WARN, indent, labelled, line
from fabricdoc.report.text import counted, seconds_text, size_text

if TYPE_CHECKING:
    from rich.console import RenderableType

    from fabricdoc.model.run import Candidate, Plan


def render_plan(plan: Plan, notes: Sequence[str] = ()) -> list[RenderableType]:
    """The plan, its bounds, its candidates, then the notes the user should read first."""
    names = ", ".join(candidate.name for candidate in plan.candidates)
    told = [indent(line(note)) for note in notes]
    return [
        plan_line(plan),
        labelled("candidates", names),
        *not_offered(plan),
        labelled("bounds", bounds_text(plan)),
        *told,
    ]


def render_planned(plan: Plan) -> list[RenderableType]:
    """A plan that is the answer (`--dry-run`): its bounds, who is left out, what each candidate sets and may break."""
    bounds = labelled("bounds", bounds_text(plan))
    return [plan_line(plan), bounds, *not_offered(plan), line(), *(part for c in plan.candidates for part in _one(c))]


def _one(candidate: Candidate) -> list[RenderableType]:
    """A candidate: name and why, its variables, its risk."""
    values = [*candidate.variables.items()]
    own = [(node, *item) for node, table in candidate.node_variables.items() for item in table.items()]
    said = [f"{name}={value}" for name, value in values] + [f"{node}: {name}={value}" for node, name, value in own]
    parts: list[RenderableType] = [line((candidate.name, BOLD), f"  {candidate.why}")]
    parts += [indent(line((text, DIM)), 4) for text in said]
    return parts + ([indent(line(("risk: ", WARN), candidate.risk), 4)] if candidate.risk else [])


def not_offered(plan: Plan) -> list[RenderableType]:
    """The candidates left out; those with the same reason in one line."""
    groups: dict[str, list[str]] = {}
    for one in plan.not_offered:
        groups.setdefault(one.reason, []).append(one.name)
    lines = [line((", ".join(names), BOLD), f": {reason}") for reason, names in groups.items()]
    return [labelled("not tried", counted(len(plan.not_offered), "candidate")), *map(indent, lines)] if lines else []


def bounds_text(plan: Plan) -> str:
    """`about 3 min, up to 90 launches (each a fresh start of 2 ranks), 2 GiB over a link, 4 GiB of memory per node`."""
    estimate = plan.estimate
    budget = f"; within {seconds_text(plan.budget_s)}, as asked" if plan.budget_s is not None else ""
    return (
        f"about {seconds_text(estimate.seconds)}, up to {counted(estimate.launches, 'launch', 'launches')} "
        f"(each a fresh start of {counted(len(plan.ranks), 'rank')}), "
        f"{size_text(estimate.bytes_per_link)} over a link, {size_text(estimate.memory_per_node)} of memory per node"
        f"{budget}"
    )


def plan_line(plan: Plan) -> RenderableType:
    """`plan  nccl, 2 ranks on alpha, beta; 5 candidates x 6 blocks; ...` as one paragraph."""
    nodes = ", ".join(dict.fromkeys(rank.node for rank in plan.ranks))
    return labelled(
        "plan",
        f"{plan.backend}, {counted(len(plan.ranks), 'rank')} on {nodes}; ",
        f"{counted(len(plan.candidates), 'candidate')} x {counted(plan.blocks, 'block')}, base twice in each; ",
        f"{plan.search} search; views {', '.join(plan.views)}; {counted(len(plan.shapes), 'shape')}; ",
        f"profile {plan.profile}, objective {plan.objective}; seed {plan.seed}",
        arms_text(plan),
    )


def arms_text(plan: Plan) -> str:
    """What a launch has besides plain calls, and the user's own limits: `; path both; arrival skew by gates`."""
    limits = ", ".join(f"{phase} {seconds:g} s" for phase, seconds in plan.deadlines_s.items())
    parts = (
        f"path {plan.path}" if plan.path != "torch" else "",
        "arrival skew by gates" if plan.skew else "",
        f"a product {'x'.join(map(str, plan.gemm))} before each timed call" if plan.gemm else "",
        f"deadlines {limits}" if limits else "",
    )
    return "".join(f"; {part}" for part in parts if part)
