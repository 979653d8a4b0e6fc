"""The time a user gave: what a verdict needs at least, whether the next block fits, and what does not.

Pure arithmetic on counts and seconds; the clock is read elsewhere.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from fabricdoc.bench.search import LEAST_LAUNCHES
from fabricdoc.model.run import Plan

BLOCKS_TO_CALL = 6  # DESIGN 6.4, as fabricdoc.tuning.comparing has it: a winner needs as many, twice
SLACK = 1.1  # a launch may take longer than the usual one by so much


def confirm_launches() -> int:
    """The launches that confirm one winner: base twice and the winner, in fresh blocks."""
    return 3 * BLOCKS_TO_CALL


def least_launches(plan: Plan) -> int:
    """The fewest launches after which some candidate could be called better and be confirmed."""
    tried = len(plan.candidates)
    first = BLOCKS_TO_CALL if plan.search == "grid" else LEAST_LAUNCHES
    rest = 0 if plan.search == "grid" else 3 * (BLOCKS_TO_CALL - LEAST_LAUNCHES)
    return tried + first * (tried + 1) + rest + confirm_launches()


def too_small(plan: Plan, seconds_per_launch: float) -> str:
    """Why the plan's budget can't lead to a verdict, with what would fit; empty where it can (or has no limit)."""
    if plan.budget_s is None:
        return ""
    needed = least_launches(plan) * seconds_per_launch
    if needed <= plan.budget_s:
        return ""
    return (
        f"a verdict on {len(plan.candidates) - 1} candidates needs {least_launches(plan)} launches, about"
        f" {math.ceil(needed)} s; {plan.budget_s:.0f} s hold {int(plan.budget_s / seconds_per_launch)}:"
        f" {_fitting(plan, seconds_per_launch)}"
    )


def _fitting(plan: Plan, seconds_per_launch: float) -> str:
    """How many candidates would fit, or the least budget for one."""
    for count in range(len(plan.candidates) - 1, 0, -1):
        fewer = plan.model_copy(update={"candidates": plan.candidates[: count + 1]})
        if least_launches(fewer) * seconds_per_launch <= (plan.budget_s or 0.0):
            return f"{count} would fit"
    one = plan.model_copy(update={"candidates": plan.candidates[:2]})
    return f"one candidate alone needs {math.ceil(least_launches(one) * seconds_per_launch)} s"


@dataclass(frozen=True)
class Purse:
    """What is left: `limit` in seconds (None: no limit), `spent` so far, and the usual `launch`, all in seconds."""

    limit: float | None
    spent: float
    launch: float

    def holds(self, launches: int, reserve: int = 0) -> bool:
        """Whether so many launches fit, and after them the reserved ones."""
        return self.limit is None or self.spent + (launches + reserve) * self.launch * SLACK <= self.limit
