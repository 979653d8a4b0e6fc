"""One candidate in one round, weighed: its reading of each stage of the profile and of every measured cell.

Numbers only; what they mean under an objective is `objective`'s business.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fabricdoc.model.profile import Profile
from fabricdoc.model.verdict import CellVerdict
from fabricdoc.tuning.blocks import Block, CellKey, LogTimes, measured_by_base
from fabricdoc.tuning.comparing import Quantity, Reading, Series, compare, compare_to
from fabricdoc.tuning.stage import PHASES, Phase, StageRecipe, phases_of, stage_recipe


@dataclass(frozen=True)
class Scales:
    """What a round is weighed with: its blocks, the recipe and the series of each stage, the series of every cell, and
    the phase of every (op, size) of the profile."""

    blocks: tuple[Block, ...]
    recipes: Mapping[Phase, StageRecipe]
    stages: Mapping[Phase, Series]
    cells: Mapping[CellKey, Series]
    phases: Mapping[tuple[str, int], Phase]

    @classmethod
    def of(cls, blocks: Sequence[Block], profile: Profile) -> Scales:
        """The scales for these blocks and that profile."""
        measured = measured_by_base(blocks)
        recipes: dict[Phase, StageRecipe] = {phase: stage_recipe(profile, phase, measured) for phase in PHASES}
        return cls(
            blocks=tuple(blocks),
            recipes=recipes,
            stages={phase: Series.of(blocks, recipe.log_time) for phase, recipe in recipes.items()},
            cells={key: Series.of(blocks, cell_quantity(key)) for key in measured},
            phases=phases_of(profile),
        )

    @property
    def scored(self) -> frozenset[CellKey]:
        """The cells some stage's time rests on."""
        return frozenset().union(*(recipe.cells for recipe in self.recipes.values()))

    def paired(self, name: str) -> int:
        """The number of blocks in which that candidate ended well."""
        return sum(name in block.others for block in self.blocks)


@dataclass(frozen=True)
class Weighed:
    """A candidate's readings of one round; `lost` are the cells the profile uses that are worse, `against_current` its
    readings of the stages against what the user runs today (empty where that was not measured)."""

    name: str
    blocks: int
    stages: Mapping[Phase, Reading]
    cells: tuple[CellVerdict, ...]
    lost: tuple[CellVerdict, ...]
    against_current: Mapping[Phase, Reading] = field(default_factory=dict)


def weigh(name: str, scales: Scales, comparisons: int, *, due: int = 1, current: str | None = None) -> Weighed:
    """Read every stage and every cell of candidate `name`.

    `comparisons` is the number of candidates judged at once, `due` in how many stages each of them may win, `current`
    the candidate that every other one is held against too.
    """
    read = {phase: compare(series, name, comparisons * due) for phase, series in scales.stages.items()}
    stages = {phase: reading for phase, reading in read.items() if reading is not None}
    held = {
        phase: compare_to(series, name, current, comparisons * due)
        for phase, series in scales.stages.items()
        if current is not None and current != name
    }
    against = {phase: reading for phase, reading in held.items() if reading is not None}
    cells = {key: cell for key in scales.cells if (cell := _cell(key, name, scales, comparisons)) is not None}
    scored = scales.scored
    lost = tuple(cell for key, cell in cells.items() if key in scored and cell.verdict == "worse")
    return Weighed(name, scales.paired(name), stages, tuple(cells.values()), lost, against)


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
        verdict=reading.verdict,
    )
