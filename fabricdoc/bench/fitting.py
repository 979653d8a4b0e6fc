"""Whether a plan fits the time its user allows, and what would fit: arithmetic on the plan's own estimate.

A verdict needs as many blocks as the design says, however short the time; less would be measured for nothing.
"""

from __future__ import annotations

from fabricdoc.bench.cost import CONFIRMED, launch_seconds
from fabricdoc.bench.plan import DECIDING_BLOCKS
from fabricdoc.errors import UsageError
from fabricdoc.model.run import Plan

SEARCH_BLOCKS = 3
"""Blocks after which the adaptive search may drop a candidate (design rule 4: three launches may only drop)."""


def needed_s(plan: Plan) -> float:
    """Seconds until a verdict can be spoken at all: the proof round, then as many blocks as it needs."""
    return _launches(plan, len(plan.candidates)) * launch_seconds(plan)


def _launches(plan: Plan, candidates: int) -> int:
    """Launches up to the first verdict of that many candidates (base among them)."""
    wanted = min(plan.blocks, DECIDING_BLOCKS)
    if plan.search == "grid":
        return candidates + wanted * (candidates + 1)
    return candidates + min(wanted, SEARCH_BLOCKS) * (candidates + 1) + wanted * (2 + min(CONFIRMED, candidates - 1))


def check_budget(plan: Plan) -> str:
    """What the budget leaves out, "" where all fits; UsageError where no verdict fits, saying what does."""
    if plan.budget_s is None or plan.budget_s >= plan.estimate.seconds:
        return ""
    if plan.budget_s < needed_s(plan):
        raise _too_small(plan, plan.budget_s)
    left = f"the budget of {_minutes(plan.budget_s)} may end the confirmation of winners early"
    return f"{left}: all of it takes up to {_minutes(plan.estimate.seconds)}"


def _too_small(plan: Plan, budget_s: float) -> UsageError:
    launch_s = launch_seconds(plan)
    blocks = max(0, int((budget_s / launch_s - len(plan.candidates)) / (len(plan.candidates) + 1)))
    fitting = max((n for n in range(2, len(plan.candidates)) if _launches(plan, n) * launch_s <= budget_s), default=0)
    wanted = min(plan.blocks, DECIDING_BLOCKS)
    ways = [f"give --budget {_minutes(needed_s(plan), up=True)}"]
    if fitting:
        ways.append(f"or {fitting} candidates in place of {len(plan.candidates)} (base and default count)")
    ways.append("or fewer --sizes")
    return UsageError(
        f"a budget of {_minutes(budget_s)} fits {blocks} block{'' if blocks == 1 else 's'} of {len(plan.candidates)} "
        f"candidates ({launch_s:.1f} s a launch), and a verdict needs {wanted}",
        fix=", ".join(ways),
        id="budget-too-small",
    )


def _minutes(seconds: float, *, up: bool = False) -> str:
    """90s, 10m, 2h as --budget takes it; rounded up where it must suffice."""
    if seconds < 120:
        return f"{-int(-seconds // 1) if up else round(seconds)}s"
    minutes = seconds / 60
    return f"{-int(-minutes // 1) if up else round(minutes)}m"
