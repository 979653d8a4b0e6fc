"""The time a profile's stage spends in collectives, from the cells one launch measured.

A step is summed call by call (collectives run one after another on one stream): count x time. Decode is asked at every
captured batch: its log time is the mean over the batches' steps, so that every batch weighs the same; under weights the
stages are a weighted mean too. Sizes nobody measured are `between`'s business. The result is a lower bound of the real
stage, meant for ratios.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from fabricdoc.model.profile import Collective, Stage
from fabricdoc.tuning.aim import PER, PHASES, Aim, Phase
from fabricdoc.tuning.between import Call, Choices, told
from fabricdoc.tuning.blocks import CellKey, LogTimes

__all__ = ["PER", "PHASES", "Phase", "StageRecipe", "Step", "phases_of", "recipes_of", "stage_recipe"]


@dataclass(frozen=True)
class Step:
    """The calls of one step or chunk of `rows` tokens, and its weight among the steps of its recipe."""

    rows: int
    calls: tuple[Call, ...]
    weight: float = 1.0

    @cached_property
    def cells(self) -> frozenset[CellKey]:
        """The measured cells this step's time rests on."""
        return frozenset(key for call in self.calls for key, _ in call.parts)

    def log_time(self, times: LogTimes) -> float | None:
        """Natural logarithm of the step's time in µs; None when the launch lacks one of the cells."""
        if not self.calls or any(key not in times for key in self.cells):
            return None
        logs = (call.plus + sum(weight * times[key] for key, weight in call.parts) for call in self.calls)
        return math.log(math.fsum(call.count * math.exp(log) for call, log in zip(self.calls, logs, strict=True)))


@dataclass(frozen=True)
class StageRecipe:
    """How to get a stage's time from a launch.

    `missing` says what of it nobody measured: an op, or a size with the reason; `wanted` are the (op, bytes) that a
    bench has to measure for it, `beyond` sizes outside what was measured.
    """

    phase: Phase
    steps: tuple[Step, ...] = ()
    missing: tuple[str, ...] = ()
    beyond: tuple[str, ...] = ()
    wanted: tuple[tuple[str, int], ...] = ()

    @cached_property
    def calls(self) -> tuple[Call, ...]:
        """The calls of all steps."""
        return tuple(call for step in self.steps for call in step.calls)

    @cached_property
    def cells(self) -> frozenset[CellKey]:
        """The measured cells this stage's time rests on."""
        return frozenset(key for step in self.steps for key in step.cells)

    @property
    def usable(self) -> bool:
        """Whether the stage sends anything and all of it can be told from what was measured."""
        return bool(self.calls) and not self.missing

    def log_time(self, times: LogTimes) -> float | None:
        """Mean over the steps, by weight, of the natural logarithm of their µs; None when a cell is lacking."""
        logs = [(step.log_time(times), step.weight) for step in self.steps if step.calls]
        known = [(log, weight) for log, weight in logs if log is not None]
        if not self.usable or len(known) < len(logs):
            return None
        return math.fsum(log * weight for log, weight in known) / math.fsum(weight for _, weight in known)


def recipes_of(aim: Aim, measured: Sequence[CellKey], choices: Choices | None = None) -> dict[Phase, StageRecipe]:
    """The recipe of decode and of prefill, and where weights count the one of both together."""
    recipes = {phase: stage_recipe(aim, phase, measured, choices) for phase in PHASES}
    if aim.weighted is not None:
        recipes["weighted"] = _weighted([recipes[phase] for phase in PHASES], aim.weighted)
    return recipes


def _weighted(recipes: Sequence[StageRecipe], weights: Mapping[str, float]) -> StageRecipe:
    """Both stages as one, each by its weight; one of weight 0 does not count at all."""
    counted = [one for one in recipes if weights.get(one.phase, 0.0) > 0.0]
    steps = []
    for one in counted:
        busy = [step for step in one.steps if step.calls]
        steps += [replace(step, weight=weights[one.phase] / len(busy)) for step in busy]
    return StageRecipe(
        "weighted",
        tuple(steps),
        tuple(dict.fromkeys(text for one in counted for text in one.missing)),
        tuple(dict.fromkeys(text for one in counted for text in one.beyond)),
        tuple(dict.fromkeys(shape for one in counted for shape in one.wanted)),
    )


def stage_recipe(aim: Aim, phase: Phase, measured: Sequence[CellKey], choices: Choices | None = None) -> StageRecipe:
    """The recipe of one stage, given the cells base measured and what NCCL chose under base where its log shows that.

    Decode calls inside a graph are read from the graph view, all others from the eager view; when that view was not
    measured for the op, from the other one (never from throughput).
    """
    found = [_step(stage, phase, measured, choices or {}) for stage in aim.stages(phase)]
    return StageRecipe(
        phase,
        tuple(step for step, _ in found),
        tuple(dict.fromkeys(text for _, lack in found for text in lack.missing)),
        tuple(dict.fromkeys(text for _, lack in found for text in lack.beyond)),
        tuple(dict.fromkeys(shape for _, lack in found for shape in lack.wanted)),
    )


def _step(stage: Stage, phase: Phase, measured: Sequence[CellKey], choices: Choices) -> tuple[Step, StageRecipe]:
    """One step's calls, and what is lacking for it (as a recipe without steps)."""
    calls: list[Call] = []
    missing: list[str] = []
    beyond: list[str] = []
    wanted: list[tuple[str, int]] = []
    for one in stage.collectives:
        if not _crosses(one):
            continue
        order = ("graph", "eager") if phase == "decode" and one.in_graph else ("eager", "graph")
        views = [view for view in order if any((key.view, key.op) == (view, one.op) for key in measured)]
        if not views:
            missing.append(one.op)
            wanted.append((one.op, one.size))
            continue
        like = _like(one, views[0], measured)
        sizes = sorted(key.size for key in measured if key._replace(size=0) == like)
        answer = told(one.op, one.size, one.count, like, sizes, choices)
        calls += [answer.call] if answer.call else []
        missing += [answer.gap] if answer.gap else []
        beyond += [answer.beyond] if answer.beyond else []
        wanted += [(one.op, one.size)] if answer.gap or answer.beyond else []
    lack = StageRecipe(phase, (), tuple(missing), tuple(beyond), tuple(wanted))
    return Step(stage.rows, tuple(calls)), lack


def _like(one: Collective, view: str, measured: Sequence[CellKey]) -> CellKey:
    """The kind of cell (its size left 0) that stands for a collective: its own type and in place where measured."""
    kinds = {key._replace(size=0) for key in measured if (key.view, key.op) == (view, one.op)}
    return min(kinds, key=lambda kind: (kind.dtype != one.dtype, not kind.in_place, kind))


def _crosses(one: Collective) -> bool:
    """Whether NCCL carries it between nodes (the same rule as a bench's shapes)."""
    return one.spans_nodes and one.bypass == "none"


def phases_of(aim: Aim) -> dict[tuple[str, int], Phase]:
    """The phase each (op, size) of the stages belongs to; a size of both is decode's."""
    return {
        (one.op, one.size): phase
        for phase in reversed(PHASES)
        for stage in aim.stages(phase)
        for one in stage.collectives
        if _crosses(one)
    }
