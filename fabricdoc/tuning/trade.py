"""What choosing a candidate costs elsewhere: print-ready sentences with numbers, worst first.

Says only what was measured; decides nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

from fabricdoc.model.run import Objective
from fabricdoc.model.verdict import CellVerdict
from fabricdoc.tuning.aim import PER, Phase
from fabricdoc.tuning.objective import due_phases
from fabricdoc.tuning.stage import StageRecipe
from fabricdoc.tuning.weighing import SLOWEST, Weighed
from fabricdoc.tuning.wording import cell_text, interval_text

SHOWN_CELLS = 3
SHOWN_GUARDS = 2


def trade_of(weighed: Weighed, objective: Objective, recipes: Mapping[Phase, StageRecipe]) -> tuple[str, ...]:
    """What the chosen candidate loses: the stage the objective does not weigh, batches and tails, then single sizes."""
    due = due_phases(objective, recipes)
    stages = tuple(
        f"{weighed.name} costs {PER[phase]}: {interval_text(reading.interval)}."
        for phase, reading in weighed.stages.items()
        if phase not in due and reading.verdict == "worse"
    )
    known = {SLOWEST.format(phase=phase) for phase, reading in weighed.stages.items() if reading.verdict == "worse"}
    breached = [(what, reading) for what, reading in weighed.breached.items() if what not in known]
    guards = sorted(breached, key=lambda one: one[1].interval.ratio)[:SHOWN_GUARDS]
    stages += tuple(f"{weighed.name} costs at {what}: {interval_text(reading.interval)}." for what, reading in guards)
    worse = sorted((cell for cell in weighed.cells if cell.verdict == "worse"), key=lambda cell: cell.interval.ratio)
    shown = tuple(f"{weighed.name} loses at {_where(cell)}: {cell_text(cell)}." for cell in worse[:SHOWN_CELLS])
    left = len(worse) - SHOWN_CELLS
    more = (f"{weighed.name} loses at {left} more measured size{'s' if left > 1 else ''}.",) if left > 0 else ()
    return stages + shown + more


def beyond_of(objective: Objective, recipes: Mapping[Phase, StageRecipe]) -> tuple[str, ...]:
    """The sizes of the weighed stages that lie beyond what was measured, as sentences."""
    return tuple(f"{text}." for phase in due_phases(objective, recipes) for text in recipes[phase].beyond)


def _where(cell: CellVerdict) -> str:
    return "a size outside the profile" if cell.phase == "grid" else cell.phase
