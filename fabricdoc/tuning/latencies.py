"""What each shape took under the variables that became the preset: what a gate holds a new launch against.

Only gathers from launches that count; judging a new launch is the gate's.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from statistics import median

from fabricdoc.model.preset import Latency
from fabricdoc.model.run import Cell, Launch, Run

ROUNDS = ("search", "combine", "confirm", "drop")
Key = tuple[str, str, int, str, bool]


def latencies_of(run: Run, candidate: str) -> tuple[Latency, ...]:
    """The lowest, middle and highest median of every view, op, size and form over that candidate's good launches.

    A proof's launch times nothing; one that was disturbed, or whose results were wrong, tells nothing of the fabric.
    """
    cells: dict[Key, list[float]] = defaultdict(list)
    for cell in _cells(launch for launch in run.launches if launch.candidate == candidate):
        if cell.correct and cell.median_us > 0:
            cells[cell.view, cell.op, cell.size, cell.dtype, cell.in_place].append(cell.median_us)
    return tuple(_latency(key, cells[key]) for key in sorted(cells))


def _cells(launches: Iterable[Launch]) -> Iterable[Cell]:
    for launch in launches:
        if launch.round in ROUNDS and launch.status == "ok" and not launch.disturbed:
            yield from launch.cells


def _latency(key: Key, medians: list[float]) -> Latency:
    view, op, size, dtype, in_place = key
    return Latency.model_validate(
        {
            "view": view,
            "op": op,
            "size": size,
            "dtype": dtype,
            "in_place": in_place,
            "low_us": round(min(medians), 3),
            "median_us": round(median(medians), 3),
            "high_us": round(max(medians), 3),
            "launches": len(medians),
        }
    )
