"""The time a profile's stage spends in collectives, from the cells one launch measured.

A stage is summed call by call (collectives run one after another on one stream): count x time. A size that was not
measured lies on the straight line, in logarithms of size and time, between its measured neighbours; below the
smallest it takes the smallest's time, above the largest it grows in proportion to bytes (and `beyond` says so).
The result is a lower bound of the real stage, meant for ratios.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from fabricdoc.model.profile import Collective, Profile
from fabricdoc.tuning.blocks import CellKey, LogTimes
from fabricdoc.tuning.wording import shape_text, size_text

Phase = Literal["decode", "prefill"]
PHASES: tuple[Phase, ...] = ("decode", "prefill")

PER = {"decode": "per decode step", "prefill": "per prefill chunk"}


@dataclass(frozen=True)
class Call:
    """`count` calls whose log time is `plus` and the weighted sum of measured cells."""

    count: int
    parts: tuple[tuple[CellKey, float], ...]
    plus: float = 0.0


@dataclass(frozen=True)
class StageRecipe:
    """How to get a stage's time from a launch. `missing` names the ops of it that nobody measured."""

    phase: Phase
    calls: tuple[Call, ...] = ()
    missing: tuple[str, ...] = ()
    beyond: tuple[str, ...] = ()

    @cached_property
    def cells(self) -> frozenset[CellKey]:
        """The measured cells this stage's time rests on."""
        return frozenset(key for call in self.calls for key, _ in call.parts)

    @property
    def usable(self) -> bool:
        """Whether the stage sends anything and all of it can be told from what was measured."""
        return bool(self.calls) and not self.missing

    def log_time(self, times: LogTimes) -> float | None:
        """Natural logarithm of the stage's time in µs; None when the launch lacks one of the cells."""
        if not self.usable or any(key not in times for key in self.cells):
            return None
        logs = (call.plus + sum(weight * times[key] for key, weight in call.parts) for call in self.calls)
        return math.log(math.fsum(call.count * math.exp(log) for call, log in zip(self.calls, logs, strict=True)))


def stage_recipe(profile: Profile, phase: Phase, measured: Sequence[CellKey]) -> StageRecipe:
    """The recipe of one stage, given the cells base measured.

    Decode calls inside a graph are read from the graph view, all others from the eager view; when that view was not
    measured for the op, from the other one (never from throughput).
    """
    calls, missing, beyond = [], [], []
    for one in getattr(profile, phase).collectives:
        if not _crosses(one):
            continue
        order = ("graph", "eager") if phase == "decode" and one.in_graph else ("eager", "graph")
        views = [view for view in order if any((key.view, key.op) == (view, one.op) for key in measured)]
        if not views:
            missing.append(one.op)
            continue
        like = _like(one, views[0], measured)
        sizes = sorted(key.size for key in measured if key._replace(size=0) == like)
        calls.append(_call(one, like, sizes))
        if one.size > sizes[-1]:
            beyond.append(
                f"{shape_text(one.op, one.size)} was not measured: its time is taken from"
                f" {size_text(sizes[-1])} in proportion to bytes"
            )
    return StageRecipe(phase, tuple(calls), tuple(dict.fromkeys(missing)), tuple(dict.fromkeys(beyond)))


def _like(one: Collective, view: str, measured: Sequence[CellKey]) -> CellKey:
    """The kind of cell (its size left 0) that stands for a collective: its own type and in place where measured."""
    kinds = {key._replace(size=0) for key in measured if (key.view, key.op) == (view, one.op)}
    return min(kinds, key=lambda kind: (kind.dtype != one.dtype, not kind.in_place, kind))


def _crosses(one: Collective) -> bool:
    """Whether NCCL carries it between nodes (the same rule as a bench's shapes)."""
    return one.spans_nodes and one.bypass == "none"


def _call(one: Collective, like: CellKey, sizes: Sequence[int]) -> Call:
    """The calls of a collective from the ascending `sizes` (bytes) measured for its kind of cell."""
    place = bisect_left(sizes, one.size)
    if place == len(sizes):
        return Call(one.count, ((like._replace(size=sizes[-1]), 1.0),), math.log(one.size / sizes[-1]))
    if place == 0 or sizes[place] == one.size:
        return Call(one.count, ((like._replace(size=sizes[place]), 1.0),))
    below, above = sizes[place - 1], sizes[place]
    part = math.log(one.size / below) / math.log(above / below)
    return Call(one.count, ((like._replace(size=below), 1.0 - part), (like._replace(size=above), part)))


def phases_of(profile: Profile) -> dict[tuple[str, int], Phase]:
    """The phase each (op, size) of the profile belongs to; a size of both is decode's."""
    return {
        (one.op, one.size): phase
        for phase in reversed(PHASES)
        for one in getattr(profile, phase).collectives
        if _crosses(one)
    }
