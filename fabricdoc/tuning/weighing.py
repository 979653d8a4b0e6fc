"""One candidate in one round, weighed: its reading of each stage of the profile, of every measured cell, and of what
no candidate may make worse under the default objective (each captured batch, the slowest calls).

Numbers only; what they mean under an objective is `objective`'s business.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fabricdoc.model.verdict import CellVerdict
from fabricdoc.tuning.aim import PHASES, Aim, Phase
from fabricdoc.tuning.between import Choices, gaps_of
from fabricdoc.tuning.blocks import Block, CellKey, LogTimes, measured_by_base
from fabricdoc.tuning.comparing import Quantity, Reading, Series, compare, compare_to
from fabricdoc.tuning.doubts import too_noisy
from fabricdoc.tuning.stage import StageRecipe, phases_of, recipes_of

SLOWEST = "the slowest 1 % of calls of {phase}"
BATCH = "the decode step of {rows} rows"


@dataclass(frozen=True)
class Scales:
    """What a round is weighed with: its blocks, the recipe and the series of each stage, the series of every cell, the
    series of every guard (by what it guards), and the phase of every (op, size) of the profile.

    `choices` is what NCCL chose under each candidate, where its log shows that.
    """

    blocks: tuple[Block, ...]
    recipes: Mapping[Phase, StageRecipe]
    stages: Mapping[Phase, Series]
    cells: Mapping[CellKey, Series]
    phases: Mapping[tuple[str, int], Phase]
    guards: Mapping[str, Series] = field(default_factory=dict)
    choices: Mapping[str, Choices] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        blocks: Sequence[Block],
        aim: Aim,
        tails: Sequence[Block] = (),
        choices: Mapping[str, Choices] | None = None,
        base: str = "base",
    ) -> Scales:
        """The scales for these blocks and that aim; `tails` are the same blocks with the p99 of every cell."""
        measured = measured_by_base(blocks)
        chosen = choices or {}
        recipes = recipes_of(aim, measured, chosen.get(base))
        return cls(
            blocks=tuple(blocks),
            recipes=recipes,
            stages={phase: Series.of(blocks, recipe.log_time) for phase, recipe in recipes.items()},
            cells={key: Series.of(blocks, cell_quantity(key)) for key in measured},
            phases=phases_of(aim),
            guards=_guards(blocks, tails, recipes),
            choices=chosen,
        )

    @property
    def scored(self) -> frozenset[CellKey]:
        """The cells some stage's time rests on."""
        return frozenset().union(*(recipe.cells for recipe in self.recipes.values()))

    def paired(self, name: str) -> int:
        """The number of blocks in which that candidate ended well."""
        return sum(name in block.others for block in self.blocks)


def _guards(blocks: Sequence[Block], tails: Sequence[Block], recipes: Mapping[Phase, StageRecipe]) -> dict[str, Series]:
    """Each captured batch where there are several, and the tail of each stage that can be told."""
    found: dict[str, Series] = {}
    steps = recipes["decode"].steps if recipes["decode"].usable else ()
    for step in steps if len(steps) > 1 else ():
        found[BATCH.format(rows=step.rows)] = Series.of(blocks, step.log_time)
    for phase in PHASES:
        if recipes[phase].usable and tails:
            found[SLOWEST.format(phase=phase)] = Series.of(tails, recipes[phase].log_time)
    return found


@dataclass(frozen=True)
class Weighed:
    """A candidate's readings of one round; `lost` are the cells the profile uses that are worse, `against_current` its
    readings of the stages against what the user runs today (empty where that was not measured).

    `guards` are its readings of what the default objective lets none make worse; `gaps` why sizes of a stage can't be
    told of it, though they can of base.
    """

    name: str
    blocks: int
    stages: Mapping[Phase, Reading]
    cells: tuple[CellVerdict, ...]
    lost: tuple[CellVerdict, ...]
    against_current: Mapping[Phase, Reading] = field(default_factory=dict)
    guards: Mapping[str, Reading] = field(default_factory=dict)
    gaps: Mapping[Phase, tuple[str, ...]] = field(default_factory=dict)

    @property
    def breached(self) -> dict[str, Reading]:
        """The guards that it makes worse."""
        return {what: reading for what, reading in self.guards.items() if reading.verdict == "worse"}


def weigh(name: str, scales: Scales, comparisons: int, *, due: int = 1, current: str | None = None) -> Weighed:
    """Read every stage, every cell and every guard of candidate `name`.

    `comparisons` is the number of candidates judged at once, `due` in how many stages each of them may win, `current`
    the candidate that every other one is held against too.
    """
    against = {
        phase: compare_to(series, name, current, comparisons * due)
        for phase, series in scales.stages.items()
        if current is not None and current != name
    }
    cells = {key: cell for key in scales.cells if (cell := _cell(key, name, scales, comparisons)) is not None}
    scored = scales.scored
    return Weighed(
        name,
        scales.paired(name),
        _read({phase: compare(series, name, comparisons * due) for phase, series in scales.stages.items()}),
        tuple(cells.values()),
        tuple(cell for key, cell in cells.items() if key in scored and cell.verdict == "worse"),
        _read(against),
        {
            what: reading
            for what, series in scales.guards.items()
            if (reading := compare(series, name, comparisons)) is not None
        },
        _gaps(name, scales),
    )


def _read(readings: Mapping[Phase, Reading | None]) -> dict[Phase, Reading]:
    return {phase: reading for phase, reading in readings.items() if reading is not None}


def _gaps(name: str, scales: Scales) -> dict[Phase, tuple[str, ...]]:
    """What the candidate's own switches of protocol hide, stage by stage; only stages that something is hidden of."""
    found = {phase: gaps_of(one.calls, scales.choices.get(name, {})) for phase, one in scales.recipes.items()}
    return {phase: gaps for phase, gaps in found.items() if gaps}


def cell_quantity(key: CellKey) -> Quantity:
    """One cell of a launch as a quantity to compare."""

    def log_time(times: LogTimes) -> float | None:
        return times.get(key)

    return log_time


def _cell(key: CellKey, name: str, scales: Scales, comparisons: int) -> CellVerdict | None:
    reading = compare(scales.cells[key], name, comparisons)
    if reading is None:
        return None
    return CellVerdict(
        **key._asdict(),
        phase=scales.phases.get((key.op, key.size), "grid"),
        base_us=reading.base_us,
        candidate_us=reading.candidate_us,
        interval=reading.interval,
        floor=reading.floor,
        verdict="inconclusive" if reading.verdict == "same" and too_noisy(reading) else reading.verdict,
    )
