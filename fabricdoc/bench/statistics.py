"""The arithmetic behind every number of a bench: summaries over calls, intervals on paired log ratios, floors.

Standard library only (scipy is the oracle in the tests, never a dependency). The launch is the unit: one log
ratio per block, never one per call. This module does not know what a run, a candidate or a verdict is, reads no
file, and decides nothing; `fabricdoc.tuning` does.

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
from dataclasses import dataclass
from functools import lru_cache
from statistics import fmean

from fabricdoc.bench.relabelling import resolves, typical_interval
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

_TINY = 1e-300
_FRACTION_STEPS = 10_000


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


def regularized_incomplete_beta(a: float, b: float, x: float) -> float:
    """I_x(a, b) for a, b > 0 and x in 0 to 1, by the continued fraction of Abramowitz and Stegun 26.5.8."""
    if not (a > 0.0 and b > 0.0 and 0.0 <= x <= 1.0):
        raise ValueError("the incomplete beta function needs a, b > 0 and x between 0 and 1")
    if x in (0.0, 1.0):
        return x
    scale = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    front = math.exp(scale + a * math.log(x) + b * math.log1p(-x))
    if x < (a + 1.0) / (a + b + 2.0):
        return front * _beta_fraction(a, b, x) / a
    return 1.0 - front * _beta_fraction(b, a, 1.0 - x) / b


def _beta_fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of `regularized_incomplete_beta`, evaluated by Lentz's method."""
    upper, lower = 1.0, _reciprocal(1.0 - (a + b) * x / (a + 1.0))
    value = lower
    for step in range(1, _FRACTION_STEPS):
        even = step * (b - step) * x / ((a + 2 * step - 1) * (a + 2 * step))
        odd = -(a + step) * (a + b + step) * x / ((a + 2 * step) * (a + 2 * step + 1))
        for term in (even, odd):
            lower = _reciprocal(1.0 + term * lower)
            upper = 1.0 + term / (upper if abs(upper) > _TINY else _TINY)
            value *= lower * upper
        if abs(lower * upper - 1.0) < 1e-16:
            break
    return value


def _reciprocal(value: float) -> float:
    return 1.0 / (value if abs(value) > _TINY else _TINY)


def student_t_tail(t: float, df: float) -> float:
    """The chance that Student's t with `df` degrees of freedom is above `t` (for t >= 0)."""
    if t < 1.0:  # near the middle the complement keeps the digits that df / (df + t²) would round away
        return 0.5 - 0.5 * regularized_incomplete_beta(0.5, df / 2.0, t * t / (df + t * t))
    return 0.5 * regularized_incomplete_beta(df / 2.0, 0.5, df / (df + t * t))


@lru_cache(maxsize=4096)
def student_t_quantile(p: float, df: float) -> float:
    """The value below which Student's t with `df` degrees of freedom falls with probability `p` (0 < p < 1)."""
    if not (0.0 < p < 1.0 and df > 0.0):
        raise ValueError("a t quantile needs 0 < p < 1 and df > 0")
    if p < 0.5:
        return -student_t_quantile(1.0 - p, df)
    low, high = 0.0, 1.0
    while student_t_tail(high, df) > 1.0 - p:
        low, high = high, high * 2.0
    while low < (middle := (low + high) / 2.0) < high:
        low, high = (middle, high) if student_t_tail(middle, df) > 1.0 - p else (low, middle)
    return high if p > 0.5 else 0.0


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
