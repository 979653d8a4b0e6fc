"""What a candidate's readings mean under an objective: better, worse, same or inconclusive, and why.

decode, prefill: the time of that stage alone decides. mix: neither stage, no captured batch and not the slowest calls
may be worse, and no size the profile uses may lose; then a gain in either stage is better. mix with weights: their
weighted mean alone decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fabricdoc.model.run import Objective
from fabricdoc.model.verdict import CellVerdict, Judgement
from fabricdoc.tuning.aim import PER, PHASES, Phase
from fabricdoc.tuning.comparing import BLOCKS_TO_CALL, BLOCKS_TO_SPEAK, Reading
from fabricdoc.tuning.stage import StageRecipe
from fabricdoc.tuning.weighing import Weighed
from fabricdoc.tuning.wording import cell_text, effect_text, interval_text

NOTHING_SENT = "the profile sends nothing between nodes under this objective, so there is nothing to tune"


@dataclass(frozen=True)
class Decision:
    """A judgement with its reason and the stage it rests on (None when none could be scored)."""

    verdict: Judgement
    reason: str
    phase: Phase | None = None


def due_phases(objective: Objective, recipes: Mapping[Phase, StageRecipe]) -> tuple[Phase, ...]:
    """The stages the objective weighs that send anything at all; under weights the one of both together."""
    wanted: tuple[Phase, ...] = PHASES if objective == "mix" else (objective,)
    if "weighted" in recipes:
        wanted = ("weighted",)
    return tuple(phase for phase in wanted if recipes[phase].calls or recipes[phase].missing)


def decide(weighed: Weighed, objective: Objective, recipes: Mapping[Phase, StageRecipe]) -> Decision:
    """Judge one candidate's readings of one round under the objective."""
    due = due_phases(objective, recipes)
    unread = [phase for phase in due if phase not in weighed.stages]
    if not due:
        return Decision("same", NOTHING_SENT)
    if weighed.blocks < BLOCKS_TO_SPEAK or unread:
        return Decision("inconclusive", _nothing_to_say(weighed, unread, recipes))
    if gaps := [gap for phase in due for gap in weighed.gaps.get(phase, ())]:
        return Decision("inconclusive", "; ".join(gaps[:2]))
    readings = {phase: weighed.stages[phase] for phase in due}
    alone = objective != "mix" or due == ("weighted",)
    return _decide_stage(readings, due[0]) if alone else _decide_mix(readings, weighed)


def main_phase(objective: Objective, recipes: Mapping[Phase, StageRecipe]) -> Phase | None:
    """The stage whose floor and smallest effect stand for the whole: the first usable one of the objective."""
    return next((phase for phase in due_phases(objective, recipes) if recipes[phase].usable), None)


def _nothing_to_say(weighed: Weighed, unread: list[Phase], recipes: Mapping[Phase, StageRecipe]) -> str:
    if weighed.blocks < BLOCKS_TO_SPEAK:
        return f"{weighed.blocks} of at least {BLOCKS_TO_CALL} paired blocks were measured"
    missing = [f"{op} of {phase}" for phase in unread for op in recipes[phase].missing]
    return f"{' and '.join(missing or unread)} was not measured"


def _decide_stage(readings: Mapping[Phase, Reading], phase: Phase) -> Decision:
    reading = readings[phase]
    return Decision(reading.verdict, stage_text(phase, reading), phase)


def _decide_mix(readings: Mapping[Phase, Reading], weighed: Weighed) -> Decision:
    by_verdict = {
        verdict: [phase for phase, reading in readings.items() if reading.verdict == verdict]
        for verdict in ("better", "worse", "inconclusive")
    }
    first = next(iter(readings))
    phase = by_verdict["better"][0] if by_verdict["better"] else first
    gain = stage_text(phase, readings[phase])
    if by_verdict["worse"]:
        return _mix_stage_loss(readings, by_verdict["worse"][0], by_verdict["better"], weighed)
    if weighed.lost or weighed.breached:
        loss = f"loses at {'; '.join(losses_of(weighed))}"
        if by_verdict["better"]:
            return Decision("same", f"{gain}, but {loss}", phase)
        return Decision("worse", f"{loss}; {gain}", phase)
    if by_verdict["inconclusive"]:
        unclear = by_verdict["inconclusive"][0]
        return Decision("inconclusive", stage_text(unclear, readings[unclear]), phase)
    if by_verdict["better"]:
        return Decision("better", gain, phase)
    return Decision("same", "; ".join(stage_text(one, reading) for one, reading in readings.items()), phase)


def _mix_stage_loss(readings: Mapping[Phase, Reading], worse: Phase, better: list[Phase], weighed: Weighed) -> Decision:
    """A stage that is worse: named with its worst size, after the gain it would have bought."""
    loss = stage_text(worse, readings[worse])
    cells = [cell for cell in _worst(weighed) if cell.phase == worse][:1]
    loss += "".join(f"; {cell_text(cell)}" for cell in cells)
    if better:
        return Decision("worse", f"{stage_text(better[0], readings[better[0]])}, but loses at {worse}: {loss}", worse)
    return Decision("worse", f"loses at {worse}: {loss}", worse)


def losses_of(weighed: Weighed) -> list[str]:
    """What it makes worse of what the default objective guards, the worst of each kind first: sizes, batches, tails."""
    cells = [f"{_place(cell)}: {cell_text(cell)}" for cell in _worst(weighed)]
    guards = sorted(weighed.breached.items(), key=lambda one: one[1].interval.ratio)[:2]
    return cells + [f"{what}: {interval_text(reading.interval)}" for what, reading in guards]


def _place(cell: CellVerdict) -> str:
    return "a neighbour of the profile's sizes" if cell.phase == "grid" else cell.phase


def _worst(weighed: Weighed) -> list[CellVerdict]:
    return sorted(weighed.lost, key=lambda cell: cell.interval.ratio)[:2]


def stage_text(phase: Phase, reading: Reading) -> str:
    """A stage's reading as a sentence without a stop: the effect, or that there is none to be seen."""
    effect = interval_text(reading.interval)
    if reading.verdict == "same":
        if reading.interval.low <= 1.0 <= reading.interval.high:
            return f"no clear difference {PER[phase]}: {effect}"
        return f"{effect} {PER[phase]}, not clear of the A/A floor of {effect_text(reading.floor)}"
    if reading.verdict == "inconclusive":
        return f"{effect} {PER[phase]}, but {BLOCKS_TO_CALL} paired blocks are needed to call it"
    return f"{effect} {PER[phase]}"
