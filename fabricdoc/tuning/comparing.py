"""One comparison: a candidate's launches against base's two per block, or against another candidate's one.

Each gives a ratio, its interval, the floor and a judgement.

The rules of measuring (at least 6 paired blocks to call a difference, at least 5 to say anything, clear of the A/A
floor) live here and nowhere else.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Self

from fabricdoc.bench.statistics import (
    aa_floor,
    block_interval,
    deviation,
    interval_half_width,
    paired_interval,
    smallest_effect,
)
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

    @property
    def spread(self) -> float:
        """The standard deviation of base against itself, in logarithms; 0.0 below two blocks."""
        own = [pair[0] - pair[1] for pair in self.base if pair is not None]
        return deviation(own) if len(own) > 1 else 0.0

    @property
    def base_us(self) -> float | None:
        """Base's median over launches in µs; None where no block has it."""
        both = [value for pair in self.base if pair is not None for value in pair]
        return math.exp(median(both)) if both else None

    def base_by_block(self) -> list[float]:
        """Base's mean in every block that has it, as a logarithm of µs, in order."""
        return [(pair[0] + pair[1]) / 2.0 for pair in self.base if pair is not None]


@dataclass(frozen=True)
class Reading:
    """A candidate against base (or another reference) in one quantity; times are medians over launches, in µs.

    `spread` is the standard deviation of its log ratio over blocks; infinite for a single block.
    """

    interval: Interval
    floor: float
    verdict: Judgement
    base_us: float
    candidate_us: float
    spread: float = math.inf

    @property
    def smallest_effect(self) -> float:
        """The effect, as a ratio minus 1, that would just have been called."""
        return smallest_effect([interval_half_width(self.interval)], self.floor)


def compare(series: Series, name: str, comparisons: int) -> Reading | None:
    """Read candidate `name` against base, or None when no block has both.

    Per block: the logarithm of each of base's two times minus the candidate's. `comparisons` is the number of
    readings that may be called at once.
    """
    blocks = zip(series.base, series.others, strict=True)
    paired = [(pair, others[name]) for pair, others in blocks if pair is not None and name in others]
    if not paired:
        return None
    differences = [(first - mine, second - mine) for (first, second), mine in paired]
    interval = block_interval(differences, comparisons=comparisons)
    bases = [value for pair, _ in paired for value in pair]
    means = [sum(one) / 2.0 for one in differences]
    return _reading(interval, series.floor, bases, [mine for _, mine in paired], means)


def compare_to(series: Series, name: str, reference: str, comparisons: int) -> Reading | None:
    """Read candidate `name` against candidate `reference` in the blocks that have both, or None without any.

    The floor is base's: how far two launches of one setting lie apart does not depend on which.
    """
    paired = [(others[reference], others[name]) for others in series.others if {reference, name} <= others.keys()]
    if not paired:
        return None
    ratios = [theirs - mine for theirs, mine in paired]
    interval = paired_interval(ratios, comparisons=comparisons)
    return _reading(interval, series.floor, [one for one, _ in paired], [mine for _, mine in paired], ratios)


def _reading(
    interval: Interval, floor: float, reference: Sequence[float], mine: Sequence[float], ratios: Sequence[float]
) -> Reading:
    return Reading(
        interval=interval,
        floor=floor,
        verdict=called(interval, floor),
        base_us=math.exp(median(reference)),
        candidate_us=math.exp(median(mine)),
        spread=deviation(ratios),
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
