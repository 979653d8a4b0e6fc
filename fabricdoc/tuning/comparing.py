"""One comparison: base's two launches per block against the candidate's, as ratio, interval, floor and judgement.

The rules of measuring (at least 6 paired blocks to call a difference, at least 5 to say anything, clear of the A/A
floor) live here and nowhere else.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Self

from fabricdoc.bench.statistics import aa_floor, paired_interval
from fabricdoc.model.verdict import Interval, Judgement
from fabricdoc.tuning.blocks import Block, LogTimes

BLOCKS_TO_SPEAK = 5
BLOCKS_TO_CALL = 6

Quantity = Callable[[LogTimes], float | None]
"""What of a launch is compared: the logarithm of a time in µs, or None where the launch has none."""


@dataclass(frozen=True)
class Series:
    """One quantity over the blocks of a round, as logarithms of µs: base's pair of every block that has it (else
    None), every candidate's value by name, and the A/A floor (a ratio minus 1) of base against itself."""

    base: tuple[tuple[float, float] | None, ...]
    others: tuple[Mapping[str, float], ...]
    floor: float

    @classmethod
    def of(cls, blocks: Sequence[Block], quantity: Quantity) -> Self:
        """Read the quantity from every launch of the blocks."""
        base = tuple(_both(quantity(block.base[0]), quantity(block.base[1])) for block in blocks)
        read = ({name: quantity(times) for name, times in block.others.items()} for block in blocks)
        others = tuple({name: value for name, value in one.items() if value is not None} for one in read)
        return cls(base, others, aa_floor([pair[0] - pair[1] for pair in base if pair is not None]))


@dataclass(frozen=True)
class Reading:
    """A candidate against base in one quantity; times are medians over launches, in µs."""

    interval: Interval
    floor: float
    verdict: Judgement
    base_us: float
    candidate_us: float


def compare(series: Series, name: str, comparisons: int) -> Reading | None:
    """Read candidate `name` against base, or None when no block has both.

    One log ratio per block: the mean of base's two logarithms minus the candidate's. `comparisons` is the number of
    candidates judged at once.
    """
    blocks = zip(series.base, series.others, strict=True)
    paired = [(*pair, others[name]) for pair, others in blocks if pair is not None and name in others]
    if not paired:
        return None
    ratios = [(first + second) / 2.0 - mine for first, second, mine in paired]
    interval = paired_interval(ratios, comparisons=comparisons)
    return Reading(
        interval=interval,
        floor=series.floor,
        verdict=called(interval, series.floor),
        base_us=math.exp(median(value for first, second, _ in paired for value in (first, second))),
        candidate_us=math.exp(median(mine for _, _, mine in paired)),
    )


def _both(first: float | None, second: float | None) -> tuple[float, float] | None:
    return None if first is None or second is None else (first, second)


def called(interval: Interval, floor: float) -> Judgement:
    """The judgement an interval and its floor allow (above 1 the candidate is faster)."""
    if interval.blocks < BLOCKS_TO_SPEAK:
        return "inconclusive"
    if interval.low <= 1.0 + floor and interval.high >= 1.0 / (1.0 + floor):
        return "same"
    if interval.blocks < BLOCKS_TO_CALL:
        return "inconclusive"
    return "better" if interval.low > 1.0 + floor else "worse"
