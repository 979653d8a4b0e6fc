"""Many calls as a few numbers: quantiles over calls of the slowest rank, never a mean over ranks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class CallSummary:
    """Calls of one view, op and size over all ranks: number of calls, and quantiles in the unit of the samples."""

    calls: int
    median: float
    p95: float
    p99: float
    max: float


def call_summary(per_rank: Sequence[Sequence[float]]) -> CallSummary:
    """Summarise calls: first the maximum over ranks of each call, then quantiles over calls.

    `per_rank` holds one sequence of times per rank, same call at the same index; ranks that have more calls
    than another are cut to the shortest. Raises ValueError when a rank or the whole has no call.
    """
    if not per_rank or not all(per_rank):
        raise ValueError("a summary needs at least one call of every rank")
    slowest = sorted(max(call) for call in zip(*per_rank, strict=False))
    return CallSummary(
        calls=len(slowest),
        median=quantile(slowest, 0.5),
        p95=quantile(slowest, 0.95),
        p99=quantile(slowest, 0.99),
        max=slowest[-1],
    )


def quantile(sorted_values: Sequence[float], q: float) -> float:
    """Quantile `q` (0 to 1) of ascending values, linear between neighbours (numpy's default, "type 7")."""
    if not sorted_values or not 0.0 <= q <= 1.0:
        raise ValueError("a quantile needs at least one value and q between 0 and 1")
    place = q * (len(sorted_values) - 1)
    below = math.floor(place)
    if below == len(sorted_values) - 1:
        return sorted_values[-1]
    part = place - below
    lower, upper = sorted_values[below], sorted_values[below + 1]
    return min(max(lower * (1.0 - part) + upper * part, lower), upper)  # rounding must not leave the neighbours
