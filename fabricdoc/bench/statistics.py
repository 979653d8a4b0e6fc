"""The arithmetic behind every verdict: intervals on paired log ratios, floors, and the blocks that an effect needs.

The launch is the unit: one log ratio per block, never one per call (those are `summary`'s, the t distribution is
`student`'s). This module does not know what a run, a candidate or a verdict is, reads no file, and decides nothing;
`fabricdoc.tuning` does. Standard library only (scipy is the oracle in the tests, never a dependency).

Which interval: an exact one by relabelling the launches of a block, wherever its resolution reaches the corrected
error: against base, which is in a block twice, with 6 blocks up to 18 candidates; against a set that is in it once
(`current`), where relabelling is the sign-flip test, 6 blocks for one candidate and 8 for six. It assumes nothing about
the noise, and is narrower than t besides. Below that resolution exact tests could never call anything, and Student's
t is used. The correction is Bonferroni's: all shown intervals hold at once, which those that fit Holm's do not.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from statistics import fmean

from fabricdoc.bench.relabelling import resolves, typical_interval
from fabricdoc.bench.student import student_t_quantile
from fabricdoc.bench.summary import CallSummary, call_summary, quantile
from fabricdoc.bench.trend import Trend, trend_of
from fabricdoc.model.verdict import Interval, Method

__all__ = [
    "RATIO_BOUND", "CallSummary", "Trend", "aa_floor", "block_interval", "blocks_needed", "call_summary", "deviation",
    "half_width",
    "interval_half_width", "paired_interval", "quantile", "smallest_effect", "student_t_quantile", "t_interval",
    "trend_of", "unpaired_interval",
]  # fmt: skip

RATIO_BOUND = 1e6
"""A ratio beyond this (or below its inverse) is no measurement: intervals are clamped to it and stay finite."""

LEAST_BLOCKS = 6
MOST_BLOCKS = 999


def deviation(values: Sequence[float]) -> float:
    """The sample's standard deviation (n - 1); infinite below two values."""
    if len(values) < 2:
        return math.inf
    centre = fmean(values)
    return math.sqrt(math.fsum((value - centre) ** 2 for value in values) / (len(values) - 1))


def half_width(values: Sequence[float], *, comparisons: int = 1, confidence: float = 0.95) -> float:
    """Half the width of the t interval of the mean, Bonferroni-corrected; infinite below two values."""
    tail = _tail(comparisons, confidence)
    if len(values) < 2:
        return math.inf
    return student_t_quantile(1.0 - tail, len(values) - 1) * deviation(values) / math.sqrt(len(values))


def _tail(comparisons: int, confidence: float) -> float:
    if comparisons < 1 or not 0.0 < confidence < 1.0:
        raise ValueError("an interval needs comparisons >= 1 and a confidence between 0 and 1")
    return (1.0 - confidence) / (2.0 * comparisons)


def paired_interval(log_ratios: Sequence[float], *, comparisons: int = 1, confidence: float = 0.95) -> Interval:
    """As `block_interval`, from one log ratio per block: the sign-flip interval where it can be, else t."""
    return block_interval([(value,) for value in log_ratios], comparisons=comparisons, confidence=confidence)


def block_interval(
    differences: Sequence[Sequence[float]], *, comparisons: int = 1, confidence: float = 0.95
) -> Interval:
    """Geometric mean ratio with its interval from, per block, the logarithm of each of base's launches / the candidate.

    `comparisons` is the number of candidates judged at once (see the module header for the choice of the interval).
    With one block it is as wide as RATIO_BOUND allows. Raises ValueError without a log ratio, or with one not finite.
    """
    tail = _tail(comparisons, confidence)
    logs = _all_finite([fmean(block) for block in differences])
    launches = {len(block) for block in differences}
    if len(launches) > 1 or not resolves(len(logs), tail, next(iter(launches))):
        return t_interval(logs, comparisons=comparisons, confidence=confidence)
    low, high = typical_interval(differences, tail)
    method: Method = "sign-flip" if launches == {1} else "relabelling"
    return _interval(fmean(logs), low, high, len(logs), method)


def t_interval(log_ratios: Sequence[float], *, comparisons: int = 1, confidence: float = 0.95) -> Interval:
    """As `paired_interval`, always Student's t: right where the noise of a block's ratio is near normal."""
    centre = fmean(_all_finite(log_ratios))
    half = half_width(log_ratios, comparisons=comparisons, confidence=confidence)
    return _interval(centre, centre - half, centre + half, len(log_ratios), "t")


def unpaired_interval(first: Sequence[float], second: Sequence[float], *, comparisons: int = 1) -> Interval:
    """Ratio exp(mean first - mean second) of values that share no blocks, with Welch's t interval (95 %, Bonferroni).

    `first` and `second` are logarithms, one per launch or block. Whatever else differed between the two series is in
    the ratio too. `blocks` is the smaller number of values.
    """
    centre = fmean(_all_finite(first)) - fmean(_all_finite(second))
    parts = [deviation(values) ** 2 / len(values) for values in (first, second)]
    half, spread = math.inf, sum(parts)
    if math.isfinite(spread):
        free = [part**2 / (len(values) - 1) for part, values in zip(parts, (first, second), strict=True)]
        degrees = spread**2 / sum(free) if sum(free) > 0.0 else 1e6
        half = student_t_quantile(1.0 - _tail(comparisons, 0.95), degrees) * math.sqrt(spread)
    return _interval(centre, centre - half, centre + half, min(len(first), len(second)), "welch-t")


def _all_finite(logs: Sequence[float]) -> Sequence[float]:
    if not logs or not all(map(math.isfinite, logs)):
        raise ValueError("an interval needs at least one log ratio, all of them finite")
    return logs


def _interval(centre: float, low: float, high: float, blocks: int, method: Method) -> Interval:
    ends = (_bounded_exp(min(low, centre)), _bounded_exp(max(high, centre)))
    return Interval(ratio=_bounded_exp(centre), low=ends[0], high=ends[1], blocks=blocks, method=method)


def aa_floor(log_ratios: Sequence[float]) -> float:
    """What base against itself shows at this number of blocks, as a ratio minus 1.

    `log_ratios` holds ln(first base launch / second base launch) of each block. The floor is the size of their mean,
    or its standard error where that is larger, taken back from logarithms: the effect that base has on itself, by a
    drift inside blocks or by chance. A candidate's interval, which carries its own 95 %, must clear 1 by more than
    this. One block: the one difference seen; none: 0.0.
    """
    if not log_ratios:
        return 0.0
    error = deviation(log_ratios) / math.sqrt(len(log_ratios)) if len(log_ratios) > 1 else 0.0
    return _bounded_exp(max(error, abs(fmean(log_ratios)))) - 1.0


def smallest_effect(half_widths: Sequence[float], floor: float) -> float:
    """The effect, as a ratio minus 1, that would just have been called better of any candidate.

    `half_widths` are the half widths of the candidates' intervals in log units; the widest is taken, and the A/A
    `floor` (a ratio minus 1) lies on top. Without any half width: the floor alone.
    """
    return _bounded_exp(max(half_widths, default=0.0) + math.log1p(floor)) - 1.0


def blocks_needed(spread: float, base_spread: float, effect: float, *, comparisons: int = 1) -> int | None:
    """How many blocks would do to call a difference of `effect` (a ratio minus 1), None where 999 would not.

    `spread` is the standard deviation of a candidate's log ratios over blocks, `base_spread` that of base against
    itself, whose floor shrinks with more blocks too.
    """
    target = math.log1p(effect)

    def enough(blocks: int) -> bool:
        own = student_t_quantile(1.0 - _tail(comparisons, 0.95), blocks - 1) * spread
        return (own + base_spread) / math.sqrt(blocks) <= target

    if not enough(MOST_BLOCKS):
        return None
    return bisect_left(range(LEAST_BLOCKS, MOST_BLOCKS), True, key=enough) + LEAST_BLOCKS


def interval_half_width(interval: Interval) -> float:
    """Half the width of an interval in log units, as `smallest_effect` takes it."""
    return (math.log(interval.high) - math.log(interval.low)) / 2.0


def _bounded_exp(value: float) -> float:
    bound = math.log(RATIO_BOUND)
    return math.exp(min(max(value, -bound), bound))
