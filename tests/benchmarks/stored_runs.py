"""Whole runs out of a store, made small enough to keep beside the results: every launch, its proof and its times.

`python tests/benchmarks/stored_runs.py STORE RUN FILE` writes one; `stored_run(FILE)` gives it back to judge. Kept of a
cell are calls, median, p95, p99 and maximum, rounded to a tenth of a per mille; logs, states and per-phase times are
not. Launches nothing.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from fabricdoc.model.run import Cell, Launch, Run
from fabricdoc.store import RunStore
from tests.benchmarks.recorded_launches import PROFILE, RESULTS

TIMES = ("median_us", "p95_us", "p99_us", "max_us")
SHAPE = ("view", "op", "size", "dtype", "in_place", "calls")
LAUNCH = ("number", "round", "block", "position", "candidate", "status", "started", "seconds")


def stored_run(name: str, folder: Path = RESULTS) -> Run:
    """The run in that file."""
    kept = json.loads((folder / name).read_text(encoding="utf-8"))
    shapes = [dict(zip(SHAPE, one, strict=True)) for one in kept["shapes"]]
    launches = [_launch(row, shapes, kept["proofs"]) for row in kept["launches"]]
    run = Run.model_validate(kept["run"])
    plan = run.plan.model_copy(update={"profile": PROFILE})
    return run.model_copy(update={"plan": plan, "launches": tuple(launches)})


def _launch(row: list[Any], shapes: list[dict[str, Any]], proofs: list[Any]) -> Launch:
    *fields, proof, cells = row
    told = dict(zip(LAUNCH, fields, strict=True))
    made = [
        Cell.model_validate({**shapes[shape], **dict(zip(TIMES, times, strict=True)), "correct": True})
        for shape, *times in cells
    ]
    return Launch.model_validate({**told, "proof": None if proof is None else proofs[proof], "cells": made})


def kept_of(run: Run) -> dict[str, Any]:
    """What is kept of a run, as JSON. ValueError for one that has more to tell: a failure, a wrong result."""
    shapes: list[list[Any]] = []
    proofs: list[Any] = []
    rows = [_row(launch, shapes, proofs) for launch in run.launches]
    plan = run.plan.model_copy(update={"profile": Path(PROFILE).name})
    nodes = tuple(node.model_copy(update={"python": "python3", "environment": None}) for node in run.nodes)
    bare = run.model_copy(update={"launches": (), "plan": plan, "nodes": nodes})
    whole = bare.model_dump(mode="json", by_alias=True)
    return {"run": whole, "shapes": shapes, "proofs": proofs, "launches": rows}


def _row(launch: Launch, shapes: list[list[Any]], proofs: list[Any]) -> list[Any]:
    if launch.status != "ok" or launch.disturbed or not all(cell.correct for cell in launch.cells):
        raise ValueError(f"launch {launch.number} did not end well: this form keeps only those that did")
    proof = None if launch.proof is None else _place(launch.proof.model_dump(mode="json"), proofs)
    cells = [
        [_place([getattr(cell, name) for name in SHAPE], shapes), *(float(f"{getattr(cell, t):.5g}") for t in TIMES)]
        for cell in launch.cells
    ]
    return [*(getattr(launch, name) for name in LAUNCH), proof, cells]


def _place(thing: Any, known: list[Any]) -> int:
    """Its place in the list, to which it is added when it is new."""
    if thing not in known:
        known.append(thing)
    return known.index(thing)


def text_of(kept: dict[str, Any]) -> str:
    """The JSON text: a launch, a proof and a shape a line each, so that two files can be compared."""
    parts = [f'"run": {json.dumps(kept["run"])}']
    for name in ("shapes", "proofs", "launches"):
        lines = ",\n".join(json.dumps(one, separators=(",", ":")) for one in kept[name])
        parts.append(f'"{name}": [\n{lines}\n]')
    return "{" + ",\n".join(parts) + "}\n"


def main(store: str, run_id: str, file: str) -> int:
    """Write the run of a store to a file."""
    with RunStore.open(Path(store)) as opened:
        run = opened.load(run_id or None)
    Path(file).write_text(text_of(kept_of(run)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
