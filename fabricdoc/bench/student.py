"""Student's t distribution from first principles: its tail and its quantile, by the incomplete beta function.

Standard library only; scipy is the oracle in the tests, never a dependency.
"""

from __future__ import annotations

import math
from functools import lru_cache

_TINY = 1e-300
_FRACTION_STEPS = 10_000


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
