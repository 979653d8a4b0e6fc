"""From the launches of a run to paired blocks: what base and each candidate took, side by side.

A block counts when both its base launches ended well and nothing disturbed any of its launches; a candidate is paired
in it when its own launch ended well. A disturbed block is left out whole: no single launch of it is judged, however
good it looks. Times are natural logarithms of the cells' medians in µs, so that differences are ratios. No statistics.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal, NamedTuple

from fabricdoc.model.run import Launch, Round, Run
from fabricdoc.model.verdict import Quarantined

SEARCHED: tuple[Round, ...] = ("search", "combine")
CONFIRMED: tuple[Round, ...] = ("confirm",)


class CellKey(NamedTuple):
    """What was timed: view, op, size in bytes, data type, and whether output and input were one buffer."""

    view: str
    op: str
    size: int
    dtype: str = "bfloat16"
    in_place: bool = True


LogTimes = Mapping[CellKey, float]
Taken = Literal["median_us", "p99_us"]
"""Which number of a cell is taken: its median, or the time that one call in a hundred exceeds."""


@dataclass(frozen=True)
class Block:
    """Base's two launches in the order they ran, and the launch of every candidate that ended well."""

    base: tuple[LogTimes, LogTimes]
    others: Mapping[str, LogTimes]


def blocks_of(run: Run, rounds: Sequence[Round], base: str, taken: Taken = "median_us") -> tuple[Block, ...]:
    """The complete, undisturbed blocks of those rounds, in order. Launches that did not end well are left out."""
    blocks = (_block(launches, base, taken) for launches in _grouped(run, rounds).values())
    return tuple(block for block in blocks if block is not None)


def quarantined(run: Run) -> tuple[Quarantined, ...]:
    """The disturbed blocks of every round, in order, each with the first reason that was stored for it."""
    rounds: tuple[Round, ...] = ("search", "combine", "confirm", "drop")
    found = {key: _disturbance(launches) for key, launches in _grouped(run, rounds).items()}
    return tuple(Quarantined(round=key[0], block=key[1], reason=why) for key, why in found.items() if why)


def _grouped(run: Run, rounds: Sequence[Round]) -> dict[tuple[Round, int], list[Launch]]:
    """The launches of each block in the order they ran, blocks in order."""
    found: dict[tuple[Round, int], list[Launch]] = defaultdict(list)
    for launch in run.launches:
        if launch.round in rounds:
            found[launch.round, launch.block].append(launch)
    ordered = sorted(found, key=lambda key: (rounds.index(key[0]), key[1]))
    return {key: sorted(found[key], key=lambda launch: launch.position) for key in ordered}


def _disturbance(launches: Sequence[Launch]) -> str:
    return next((launch.disturbed for launch in launches if launch.disturbed), "")


def _block(launches: Sequence[Launch], base: str, taken: Taken) -> Block | None:
    well = [launch for launch in launches if launch.status == "ok"]
    bases = [log_times(launch, taken) for launch in well if launch.candidate == base]
    if len(bases) < 2 or _disturbance(launches):
        return None
    others = {launch.candidate: log_times(launch, taken) for launch in well if launch.candidate != base}
    return Block(base=(bases[0], bases[1]), others=others)


def log_times(launch: Launch, taken: Taken = "median_us") -> LogTimes:
    """Natural logarithm of the median (or p99) of every cell that has one; cells of one key are averaged."""
    found: dict[CellKey, list[float]] = defaultdict(list)
    for cell in launch.cells:
        micros = cell.median_us if taken == "median_us" else cell.p99_us
        if micros > 0.0 and math.isfinite(micros):
            key = CellKey(cell.view, cell.op, cell.size, cell.dtype, cell.in_place)
            found[key].append(math.log(micros))
    return {key: fmean(logs) for key, logs in found.items()}


def measured_by_base(blocks: Sequence[Block]) -> tuple[CellKey, ...]:
    """Every cell that some base launch has, sorted."""
    return tuple(sorted({key for block in blocks for times in block.base for key in times}))
