"""From the raw events of a launch to its cells: per-call samples of every rank become one summary.

The summary is over calls of the maximum over ranks (never a mean over ranks); raw samples go to the store
untouched, keyed by view, op, size, dtype and rank. Arrival skew comes from gates before each call, and is told only
where the gates did not disturb what is measured. Everything a node says is checked before it is used.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from fabricdoc.bench.summary import call_summary
from fabricdoc.model.run import Cell
from fabricdoc.store import SampleKey

CellKey = tuple[str, str, int, str, bool]
OUT_OF_PLACE = " out of place"
GATE_COST_LIMIT = 0.10


def samples_of(events: Sequence[Mapping[str, Any]]) -> dict[SampleKey, tuple[float, ...]]:
    """Raw samples in microseconds, keyed for the store."""
    return {_sample_key(event): _numbers(event["samples"]) for event in events}


def _sample_key(event: Mapping[str, Any]) -> SampleKey:
    view, op, size, dtype, in_place = _key(event)
    return SampleKey(view, op, size, dtype, int(event["rank"]), in_place)


def cells_of(
    events: Sequence[Mapping[str, Any]],
    world: int,
    skews: Sequence[Mapping[str, Any]] = (),
    directs: Sequence[Mapping[str, Any]] = (),
) -> tuple[Cell, ...]:
    """One cell per view, op, form and size for which every rank sent samples; correct only if every rank says so."""
    gated, direct = _grouped(skews), _grouped(directs)
    return tuple(
        _cell(key, group, gated.get(key, []), direct.get(key, []))
        for key, group in _grouped(events).items()
        if _is_whole(group, world)
    )


def _is_whole(group: Sequence[Mapping[str, Any]], world: int) -> bool:
    """Whether every rank said it once."""
    return len(group) == world == len({event["rank"] for event in group})


def wrong_of(events: Sequence[Mapping[str, Any]]) -> str:
    """Where results were not bit-exact, in words: op, size, view, how many elements on which rank; "" for nowhere.

    A rank is named that saw it. In a sum in place one rank's error becomes everybody's by the next call.
    """
    wrong = [event for event in events if event["correct"] is not True]
    said = [f"{_words(key)} on {_ranks(group)}" for key, group in _grouped(wrong).items()]
    more = f" and {len(said) - 3} more" if len(said) > 3 else ""
    return ", ".join(said[:3]) + more


def _words(key: CellKey) -> str:
    view, op, size, dtype, in_place = key
    return f"{op} {size} B {dtype}{'' if in_place else OUT_OF_PLACE} ({view})"


def _ranks(group: Sequence[Mapping[str, Any]]) -> str:
    counts = sorted((int(event["rank"]), int(event.get("wrong") or 0)) for event in group)
    return ", ".join(f"rank {rank}" + (f" ({count} elements)" if count > 1 else "") for rank, count in counts[:4])


def _grouped(events: Sequence[Mapping[str, Any]]) -> dict[CellKey, list[Mapping[str, Any]]]:
    grouped: dict[CellKey, list[Mapping[str, Any]]] = defaultdict(list)
    for event in events:
        grouped[_key(event)].append(event)
    return grouped


def _key(event: Mapping[str, Any]) -> CellKey:
    in_place = event.get("in_place") is not False
    return str(event["view"]), str(event["op"]), int(event["size"]), str(event["dtype"]), in_place


def _numbers(values: Sequence[Any]) -> tuple[float, ...]:
    return tuple(float(value) for value in values)


def _cell(
    key: CellKey,
    group: Sequence[Mapping[str, Any]],
    gated: Sequence[Mapping[str, Any]],
    direct: Sequence[Mapping[str, Any]],
) -> Cell:
    summary = call_summary([_numbers(event["samples"]) for event in group])
    view, op, size, dtype, in_place = key
    return Cell.model_validate(
        {
            "view": view,
            "op": op,
            "size": size,
            "dtype": dtype,
            "in_place": in_place,
            "calls": summary.calls,
            "median_us": summary.median,
            "p95_us": summary.p95,
            "p99_us": summary.p99,
            "max_us": summary.max,
            "correct": all(event["correct"] is True for event in group) and all(not event["wrong"] for event in direct),
            "replay_us": _replay(group),
            "skew_us": _skew(gated, summary.median) if len(gated) == len(group) else None,
            "direct_us": _direct(direct) if _is_whole(direct, len(group)) else None,
        }
    )


def _direct(group: Sequence[Mapping[str, Any]]) -> float:
    """Median over calls of the slowest rank, by NCCL's own calls."""
    return round(call_summary([_numbers(event["samples"]) for event in group]).median, 3)


def _replay(group: Sequence[Mapping[str, Any]]) -> float | None:
    """Median over replays of the slowest rank's mean per call; None where a rank sent no such replays."""
    replays = [_numbers(event.get("replays") or ()) for event in group]
    return round(call_summary(replays).median, 3) if all(replays) else None


def _skew(gated: Sequence[Mapping[str, Any]], ungated_us: float) -> float | None:
    """Median over calls of how much longer the first rank waited than the last; None where the gates disturbed.

    Gates disturb when the median behind them (of the slowest rank) is off the one without by more than a tenth.
    Without a clock common to nodes, waiting tells of arrival: the last rank to arrive waits least.
    """
    behind = call_summary([_numbers(event["gated"]) for event in gated]).median
    if abs(behind - ungated_us) > GATE_COST_LIMIT * ungated_us:
        return None
    waits = zip(*(_numbers(event["waits"]) for event in gated), strict=False)
    spread = [max(call) - min(call) for call in waits]
    return round(median(spread), 3) if spread else None
