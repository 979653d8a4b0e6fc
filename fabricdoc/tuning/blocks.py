"""From the launches of a run to paired blocks: what base and each candidate took, side by side.

A block counts when both its base launches ended well; a candidate is paired in it when its own launch did. Times are
natural logarithms of the cells' medians in µs, so that differences are ratios. No statistics here.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from fabricdoc.model.run import Launch, Run

CellKey = tuple[str, str, int]
"""View, op and size in bytes."""

LogTimes = Mapping[CellKey, float]


@dataclass(frozen=True)
class Block:
    """Base's two launches in the order they ran, and the launch of every candidate that ended well."""

    base: tuple[LogTimes, LogTimes]
    others: Mapping[str, LogTimes]


def blocks_of(run: Run, round_: Literal["search", "confirm"], base: str) -> tuple[Block, ...]:
    """The complete blocks of one round, in order. Launches that did not end well are left out."""
    launched: dict[int, list[Launch]] = defaultdict(list)
    for launch in run.launches:
        if launch.round == round_ and launch.status == "ok":
            launched[launch.block].append(launch)
    blocks = (_block(launched[number], base) for number in sorted(launched))
    return tuple(block for block in blocks if block is not None)


def _block(launches: Sequence[Launch], base: str) -> Block | None:
    ordered = sorted(launches, key=lambda launch: launch.position)
    bases = [log_times(launch) for launch in ordered if launch.candidate == base]
    if len(bases) < 2:
        return None
    others = {launch.candidate: log_times(launch) for launch in ordered if launch.candidate != base}
    return Block(base=(bases[0], bases[1]), others=others)


def log_times(launch: Launch) -> LogTimes:
    """Natural logarithm of the median of every cell; cells of one key (another dtype) are averaged."""
    found: dict[CellKey, list[float]] = defaultdict(list)
    for cell in launch.cells:
        if cell.median_us > 0.0 and math.isfinite(cell.median_us):
            found[cell.view, cell.op, cell.size].append(math.log(cell.median_us))
    return {key: fmean(logs) for key, logs in found.items()}


def measured_by_base(blocks: Sequence[Block]) -> tuple[CellKey, ...]:
    """Every cell that some base launch has, sorted."""
    return tuple(sorted({key for block in blocks for times in block.base for key in times}))
