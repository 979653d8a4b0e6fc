"""A full grid of settings, every one launched in every block: recorded once on real nodes, or invented with a truth.

The file is JSON: {"schema", "made", "nodes", "profile", "objective", "axes": {axis: {choice: {variable: value}}},
"blocks": [{setting: seconds-free log time in ln(µs) of the objective's stage, "base#2": ...}, ...]}. A setting is
named by its choices joined with "+" in the order of the axes ("tree+simple"), "base" has none. `record_grid.py`
writes it, `search_regret.py` replays searches on it. Launches nothing itself.
"""

from __future__ import annotations

import itertools
import json
import math
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from fabricdoc.bench.combining import combined
from fabricdoc.model.run import Candidate

SCHEMA = "fabricdoc/recorded-grid/1"
SECOND = "base#2"
"""Base's second launch of a block."""

AXES: Mapping[str, Mapping[str, Mapping[str, str]]] = {
    "algorithm": {"tree": {"NCCL_ALGO": "ring;allreduce:tree"}},
    "protocol": {"simple": {"NCCL_PROTO": "Simple"}, "ll": {"NCCL_PROTO": "LL"}},
    "channels": {"ctas-1": {"NCCL_MAX_CTAS": "1"}, "ctas-2": {"NCCL_MAX_CTAS": "2"}, "ctas-4": {"NCCL_MIN_CTAS": "4"}},
    "threads": {"threads-64": {"NCCL_NTHREADS": "64"}},
    "buffers": {"buffers-1m": {"NCCL_BUFFSIZE": "1048576"}},
}
"""96 settings of five choices that NCCL 2.28 takes together on sockets (gpu_lab.md names what each does there)."""


class Grid(NamedTuple):
    """`singles` by name, and per block the log time of every setting that was launched well in it."""

    singles: Mapping[str, Mapping[str, str]]
    blocks: tuple[Mapping[str, float], ...]

    @property
    def settings(self) -> tuple[str, ...]:
        """Every setting of the grid that was launched at all, without base."""
        return tuple(sorted({name for block in self.blocks for name in block} - {"base", SECOND}))


def single_candidates(axes: Mapping[str, Mapping[str, Mapping[str, str]]]) -> list[Candidate]:
    """One candidate for each choice of each axis."""
    return [
        Candidate(name=name, variables=dict(values)) for choices in axes.values() for name, values in choices.items()
    ]


def settings_of(axes: Mapping[str, Mapping[str, Mapping[str, str]]]) -> list[Candidate]:
    """Every setting of the full grid but base; a union is named and made as the search's own combinations are."""
    chosen = []
    known = {one.name: one for one in single_candidates(axes)}
    for choices in itertools.product(*[["", *names] for names in axes.values()]):
        members = sorted((known[name] for name in choices if name), key=lambda one: one.name)
        one = members[0] if len(members) == 1 else combined(members)
        if one is not None:
            chosen.append(one)
    return chosen


def read_grid(path: Path) -> Grid:
    """A recorded grid. ValueError for a file of another kind."""
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if content.get("schema") != SCHEMA:
        raise ValueError(f"{path} is no recorded grid")
    singles = {name: values for choices in content["axes"].values() for name, values in choices.items()}
    return Grid(singles, tuple({str(k): float(v) for k, v in block.items()} for block in content["blocks"]))


def invented_grid(seed: int, blocks: int = 12, noise: float = 0.035) -> tuple[Grid, dict[str, float]]:
    """A grid with the axes' effects drawn, pairs that help or hurt each other, and its true log times by setting.

    Gains run into a floor (60 of base's 100 µs), as the recorded ones do: tree, Simple and one channel each reach 70 to
    75 of 105 µs at 20 KiB. Noise as recorded launches have it: blocks that differ and drift slowly, launches that
    spread, one in 30 far off.
    """
    chance = random.Random(f"grid/{seed}")
    singles = {one.name: one for one in single_candidates(AXES)}
    own = {name: chance.gauss(0.05, 0.15) for name in singles}
    pairs = {pair: chance.gauss(0.0, 0.04) for pair in itertools.combinations(sorted(singles), 2)}
    true = {"base": math.log(100.0)}
    for one in settings_of(AXES):
        members = one.name.split("+")
        gain = sum(own[name] for name in members) + sum(pairs[pair] for pair in itertools.combinations(members, 2))
        true[one.name] = math.log(60.0 + 40.0 * math.exp(-2.5 * gain))
    level, made = 0.0, []
    for _ in range(blocks):
        level += chance.gauss(0.0, 0.02)
        made.append(_block(true, level + chance.gauss(0.0, 0.03), noise, chance))
    return Grid({name: one.variables for name, one in singles.items()}, tuple(made)), true


def _block(true: Mapping[str, float], level: float, noise: float, chance: random.Random) -> dict[str, float]:
    names = [*true, SECOND]
    return {
        name: true["base" if name == SECOND else name]
        + level
        + chance.gauss(0.0, noise)
        + (0.4 * chance.random() if chance.random() < 1 / 30 else 0.0)
        for name in names
    }


def means_of(blocks: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The log time of every setting with the blocks' levels taken out, as the mean of what it has."""
    levels = [sum(block.values()) / len(block) for block in blocks]
    found: dict[str, list[float]] = {}
    for block, level in zip(blocks, levels, strict=True):
        for name, value in block.items():
            found.setdefault("base" if name == SECOND else name, []).append(value - level)
    return {name: sum(values) / len(values) for name, values in found.items()}
