"""The plan of a bench for people, before it starts: what will be done, and the most it can cost.

Computes nothing: the bounds are the plan's own estimate.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fabricdoc.report.cells import indent, labelled, line
from fabricdoc.report.text import counted, seconds_text, size_text

if TYPE_CHECKING:
    from rich.console import RenderableType

    from fabricdoc.model.run import Plan


def render_plan(plan: Plan, notes: Sequence[str] = ()) -> list[RenderableType]:
    """The plan, its bounds, its candidates, then the notes the user should read first."""
    estimate = plan.estimate
    bounds = (
        f"about {seconds_text(estimate.seconds)}, up to {counted(estimate.launches, 'launch', 'launches')} "
        f"(each a fresh start of {counted(len(plan.ranks), 'rank')}), "
        f"{size_text(estimate.bytes_per_link)} over a link, {size_text(estimate.memory_per_node)} of memory per node"
    )
    names = ", ".join(candidate.name for candidate in plan.candidates)
    told = [indent(line(note)) for note in notes]
    return [plan_line(plan), labelled("candidates", names), labelled("bounds", bounds), *told]


def plan_line(plan: Plan) -> RenderableType:
    """`plan  nccl, 2 ranks on alpha, beta; 5 candidates x 6 blocks; ...` as one paragraph."""
    nodes = ", ".join(dict.fromkeys(rank.node for rank in plan.ranks))
    return labelled(
        "plan",
        f"{plan.backend}, {counted(len(plan.ranks), 'rank')} on {nodes}; ",
        f"{counted(len(plan.candidates), 'candidate')} x {counted(plan.blocks, 'block')}, base twice in each; ",
        f"views {', '.join(plan.views)}; {counted(len(plan.shapes), 'size')}; ",
        f"profile {plan.profile}, objective {plan.objective}; seed {plan.seed}",
    )
