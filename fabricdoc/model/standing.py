"""How the candidates of a run do so far: what a search decides by before there is a verdict. Never stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Standing:
    """A candidate so far: the logarithm of base's time / its time under the objective, and its launches behind it."""

    name: str
    log_ratio: float
    launches: int


@dataclass(frozen=True)
class Standings:
    """Every candidate's standing, by name.

    `noise` is the standard deviation of one launch in logarithms, with its degrees of freedom `free`; `base_launches`
    how many of base there are; `lost` are the candidates that lose at a size where the objective lets none lose.
    """

    of: Mapping[str, Standing]
    noise: float
    free: float
    base_launches: int
    lost: frozenset[str] = frozenset()
