"""Whole runs as `gpu_main_job.py` printed them: every launch of every candidate, in order, as a run to judge again.

What a file lacks a run made of it lacks too: proofs, p99 and the eager view were not printed. Launches nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from fabricdoc.model.run import Candidate, Cell, Launch, Plan, Run
from tests.benchmarks.recorded_launches import BASE, RESULTS, plan_of, run_of

ROW = re.compile(
    r"\s*\d+ (?P<round>search|confirm|drop) +(?P<block>\d+) (?P<candidate>\S+) +[\d.]+(?P<cells>(?: +[\d.]+| +-)+)$"
)
HEAD = re.compile(r"\s*no round +blk candidate +s(?P<sizes>(?: +\d+)+)$")
SETS = {
    "ring-tree": {"NCCL_ALGO": "ring;allreduce:tree"},
    "simple": {"NCCL_PROTO": "Simple"},
    "ll": {"NCCL_PROTO": "LL"},
    "one-channel": {"NCCL_MAX_CTAS": "1"},
    "two-channels": {"NCCL_MAX_CTAS": "2"},
}
"""The variables of the candidates, as the benchmark gave them (those of rails differ per node and are left empty)."""


def recorded_runs(name: str, folder: Path = RESULTS) -> tuple[Run, ...]:
    """The runs of a file, in order: one for each table of launches."""
    runs: list[Run] = []
    sizes: list[int] = []
    launches: list[Launch] = []
    for line in [*(folder / name).read_text(encoding="utf-8").splitlines(), "no round   blk candidate s 0"]:
        if head := HEAD.match(line):
            if launches:
                runs.append(_run(launches))
            sizes, launches = [int(size) for size in head["sizes"].split()], []
        elif row := ROW.match(line):
            launches.append(_launch(row, sizes, len(launches) + 1))
    return tuple(runs)


def _launch(row: re.Match[str], sizes: Sequence[int], number: int) -> Launch:
    times = zip(sizes, row["cells"].split(), strict=True)
    cells = tuple(
        Cell(view="graph", op="all_reduce", size=size, dtype="bfloat16", calls=50, median_us=float(value), p95_us=0.0,
             p99_us=0.0, max_us=0.0, correct=True)
        for size, value in times
        if value != "-"
    )  # fmt: skip
    return Launch(
        number=number, round=row["round"], block=int(row["block"]), position=number,  # type: ignore[arg-type]
        candidate=row["candidate"], status="ok", seconds=2.2, started="2026-11-29T16:45:00Z", cells=cells,
    )  # fmt: skip


def _run(launches: Sequence[Launch]) -> Run:
    names = dict.fromkeys(launch.candidate for launch in launches if launch.candidate != "base")
    tried = tuple(_candidate(name) for name in names)
    plan: Plan = plan_of(0, 6, 1, ()).model_copy(update={"candidates": (BASE, *tried)})
    return run_of(plan, launches)


def _candidate(name: str) -> Candidate:
    if name == "default":
        return Candidate(name=name, role="default", on_base=False)
    return Candidate(name=name, variables=SETS.get(name, {}))
