"""Whether something moved while a run went on: Mann's exact trend test and Theil and Sen's slope over blocks.

Ranks alone count, so one block that was slow for once is no trend. Knows nothing of runs and sets no limits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from statistics import median

EXACT_UP_TO = 60  # above, the normal approximation is right to the third digit


@dataclass(frozen=True)
class Trend:
    """`change`: from the first to the last value along the median slope, in the values' unit; `chance`: of seeing as
    much order among values without any trend (two-sided, 0 to 1)."""

    change: float
    chance: float


def trend_of(values: Sequence[float]) -> Trend:
    """The trend over equally spaced values. Below four nothing can be said: change 0 and chance 1.

    Exact without ties (H. B. Mann, "Nonparametric tests against trend", Econometrica 13, 1945); a tie counts as half
    an inversion, which makes the chance larger, never smaller.
    """
    if len(values) < 4:
        return Trend(0.0, 1.0)
    pairs = list(combinations(range(len(values)), 2))
    slope = median((values[late] - values[early]) / (late - early) for early, late in pairs)
    down = sum(values[early] > values[late] for early, late in pairs)
    up = sum(values[early] < values[late] for early, late in pairs)
    inversions = min(down, up) + (len(pairs) - down - up) / 2.0
    return Trend(slope * (len(values) - 1), min(1.0, 2.0 * _at_most(len(values), math.floor(inversions + 0.5))))


def _at_most(length: int, inversions: int) -> float:
    """The chance that a random order of `length` values has at most so many inversions."""
    if length > EXACT_UP_TO:
        middle = length * (length - 1) / 4.0
        spread = math.sqrt(length * (length - 1) * (2 * length + 5) / 72.0)
        return 0.5 * math.erfc((middle - inversions - 0.5) / (spread * math.sqrt(2.0)))
    return sum(_orders(length)[: inversions + 1]) / math.factorial(length)


@lru_cache(maxsize=EXACT_UP_TO)
def _orders(length: int) -> tuple[int, ...]:
    """How many orders of `length` values have 0, 1, 2, ... inversions (the Mahonian numbers)."""
    counts = [1]
    for more in range(1, length):
        longer = [0] * (len(counts) + more)
        for place, count in enumerate(counts):
            for shift in range(more + 1):
                longer[place + shift] += count
        counts = longer
    return tuple(counts)
