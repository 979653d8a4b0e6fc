"""A stored run as flat rows: launches, cells, samples, and the cells of its verdict. Plain dicts, in stored order.

Every row of a table has the same columns. Times are microseconds where a name ends in `_us`, seconds in `_s`,
bandwidths GB/s by nccl-tests' definitions. A fact that is unknown is None.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fabricdoc.model.bandwidth import bandwidth
from fabricdoc.model.documents import Unknown
from fabricdoc.model.run import Cell, Launch, Run
from fabricdoc.model.verdict import CellVerdict, Interval, Verdict
from fabricdoc.store import RunStore

Row = dict[str, Any]


def launch_rows(run: Run) -> Iterator[Row]:
    """One row per launch: what was started, when, how it ended, and what its log proved."""
    sets = {candidate.name: candidate.set_name for candidate in run.plan.candidates}
    for launch in run.launches:
        proof = launch.proof
        yield {
            **_place(run, launch, sets),
            "started": launch.started,
            "seconds": launch.seconds,
            "phase": launch.phase,
            "rank": launch.rank,
            "reason": launch.reason,
            "proof": proof.grade if proof else "none",
            "network": _known(proof.network) if proof else None,
            "nccl": _known(proof.version) if proof else None,
            "gpu_direct": _known(proof.gpu_direct) if proof else None,
        }


def _place(run: Run, launch: Launch, sets: dict[str, str]) -> Row:
    return {
        "run": run.id,
        "launch": launch.number,
        "round": launch.round,
        "block": launch.block,
        "position": launch.position,
        "candidate": launch.candidate,
        "set": sets.get(launch.candidate, ""),
        "status": launch.status,
        "disturbed": launch.disturbed,
    }


def _known(fact: object) -> object:
    return None if isinstance(fact, Unknown) else fact


def cell_rows(run: Run) -> Iterator[Row]:
    """One row per cell: the launch's place, then view, op, size and the summary over calls, with bandwidths."""
    sets = {candidate.name: candidate.set_name for candidate in run.plan.candidates}
    ranks = len(run.plan.ranks)
    for launch in run.launches:
        for cell in launch.cells:
            yield {**_place(run, launch, sets), **cell.model_dump(), **_speeds(cell, ranks)}


def _speeds(cell: Cell, ranks: int) -> Row:
    try:
        speeds = bandwidth(cell.op, cell.size, ranks, cell.median_us)
    except ValueError:
        return {"algbw_gbs": None, "busbw_gbs": None}
    return {"algbw_gbs": speeds.algbw, "busbw_gbs": speeds.busbw}


def sample_rows(store: RunStore, run: Run) -> Iterator[Row]:
    """One row per call and rank, as measured; many: a run of an hour has millions."""
    for launch in run.launches:
        place = {"run": run.id, "launch": launch.number, "block": launch.block, "candidate": launch.candidate}
        for key, values in store.samples(run.id, launch.number).items():
            named = {**place, **key._asdict()}
            for call, value in enumerate(values):
                yield {**named, "call": call, "us": value}


def verdict_rows(verdict: Verdict) -> Iterator[Row]:
    """One row per candidate and cell that was compared with base, with its ratio (base time / candidate time)."""
    for one in verdict.candidates:
        for cell in one.cells:
            yield {
                "run": verdict.run,
                "objective": verdict.objective,
                "profile": verdict.profile,
                "candidate": one.name,
                "candidate_verdict": one.verdict,
                **_compared(cell),
            }


def _compared(cell: CellVerdict) -> Row:
    fields = cell.model_dump(exclude={"interval"})
    return {**fields, **_interval(cell.interval)}


def _interval(interval: Interval) -> Row:
    return {"ratio": interval.ratio, "low": interval.low, "high": interval.high, "blocks": interval.blocks}
