"""From the raw events of a launch to its cells: per-call samples of every rank become one summary.

The summary is over calls of the maximum over ranks (never a mean over ranks); raw samples go to the store
untouched, keyed by view, op, size, dtype and rank.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from fabricdoc.bench.statistics import call_summary
from fabricdoc.model.run import Cell
from fabricdoc.store import SampleKey

CellKey = tuple[str, str, int, str]


def samples_of(events: Sequence[Mapping[str, Any]]) -> dict[SampleKey, tuple[float, ...]]:
    """Raw samples in microseconds, keyed for the store."""
    return {
        SampleKey(*_key(event), int(event["rank"])): tuple(float(value) for value in event["samples"])
        for event in events
    }


def cells_of(events: Sequence[Mapping[str, Any]], world: int) -> tuple[Cell, ...]:
    """One cell per view, op and size for which every rank sent samples; correct only if every rank says so."""
    grouped: dict[CellKey, list[Mapping[str, Any]]] = defaultdict(list)
    for event in events:
        grouped[_key(event)].append(event)
    return tuple(_cell(key, group) for key, group in grouped.items() if len(group) == world)


def _key(event: Mapping[str, Any]) -> CellKey:
    return str(event["view"]), str(event["op"]), int(event["size"]), str(event["dtype"])


def _cell(key: CellKey, group: Sequence[Mapping[str, Any]]) -> Cell:
    summary = call_summary([[float(value) for value in event["samples"]] for event in group])
    view, op, size, dtype = key
    return Cell.model_validate(
        {
            "view": view,
            "op": op,
            "size": size,
            "dtype": dtype,
            "calls": summary.calls,
            "median_us": summary.median,
            "p95_us": summary.p95,
            "p99_us": summary.p99,
            "max_us": summary.max,
            "correct": all(event["correct"] is True for event in group),
        }
    )
