"""Raw events to store keys and cells."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.bench.samples import cells_of, samples_of
from fabricdoc.store import SampleKey

pytestmark = pytest.mark.unit


def event(rank: int, samples: list[float], **other: Any) -> dict[str, Any]:
    fields = {"view": "eager", "op": "all_reduce", "size": 8, "dtype": "bfloat16", "correct": True}
    return {**fields, "rank": rank, "samples": samples, **other}


def test_keys_hold_view_op_size_dtype_rank() -> None:
    assert samples_of([event(1, [1.0, 2.0])]) == {SampleKey("eager", "all_reduce", 8, "bfloat16", 1): (1.0, 2.0)}


@given(st.lists(st.floats(0.1, 1e6), min_size=1, max_size=40), st.lists(st.floats(0.1, 1e6), min_size=1, max_size=40))
def test_a_cell_is_never_faster_than_any_rank_at_the_same_call(first: list[float], second: list[float]) -> None:
    (cell,) = cells_of([event(0, first), event(1, second)], world=2)
    calls = min(len(first), len(second))
    assert cell.calls == calls
    assert cell.max_us == pytest.approx(max(max(a, b) for a, b in zip(first, second, strict=False)))
    assert cell.median_us <= cell.p95_us <= cell.p99_us <= cell.max_us


def test_correct_must_be_said_by_every_rank_and_be_true_itself() -> None:
    (cell,) = cells_of([event(0, [1.0]), event(1, [1.0], correct="yes")], world=2)
    assert cell.correct is False


def test_views_are_never_mixed() -> None:
    events = [event(rank, [1.0], view=view) for rank in (0, 1) for view in ("eager", "graph")]
    assert sorted(cell.view for cell in cells_of(events, world=2)) == ["eager", "graph"]
