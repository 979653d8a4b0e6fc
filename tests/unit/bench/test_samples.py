"""Raw events to store keys and cells."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.bench.samples import cells_of, samples_of, wrong_of
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


def test_a_rank_that_says_a_cell_twice_does_not_stand_for_another() -> None:
    assert cells_of([event(0, [1.0]), event(0, [1.0])], world=2) == ()


def test_forms_are_never_mixed_and_are_kept_apart_in_the_store() -> None:
    events = [event(rank, [1.0], op="all_gather", in_place=form) for rank in (0, 1) for form in (True, False)]
    assert sorted(cell.in_place for cell in cells_of(events, world=2)) == [False, True]
    assert {(key.op, key.in_place) for key in samples_of(events)} == {("all_gather", True), ("all_gather", False)}
    assert len(samples_of(events)) == 4


def skew(rank: int, waits: list[float], gated: list[float]) -> dict[str, Any]:
    return {key: value for key, value in event(rank, []).items() if key != "samples"} | {"waits": waits, "gated": gated}


def test_skew_is_how_much_longer_the_first_rank_waited_than_the_last() -> None:
    events = [event(0, [100.0] * 3), event(1, [100.0] * 3)]
    gates = [skew(0, [30.0, 0.0, 5.0], [104.0] * 3), skew(1, [0.0, 50.0, 4.0], [95.0] * 3)]
    (cell,) = cells_of(events, 2, gates)
    assert cell.skew_us == 30.0


@pytest.mark.parametrize(("gated", "told"), [(111.0, False), (109.0, True), (91.0, True), (89.0, False)])
def test_gates_that_change_what_is_measured_tell_nothing(gated: float, told: bool) -> None:
    events = [event(rank, [100.0] * 3) for rank in (0, 1)]
    (cell,) = cells_of(events, 2, [skew(rank, [9.0 * rank] * 3, [gated] * 3) for rank in (0, 1)])
    assert cell.skew_us == (9.0 if told else None)


def test_skew_needs_the_gates_of_every_rank() -> None:
    events = [event(rank, [100.0]) for rank in (0, 1)]
    (cell,) = cells_of(events, 2, [skew(0, [1.0], [100.0])])
    assert cell.skew_us is None
    (cell,) = cells_of(events, 2)
    assert cell.skew_us is None


@pytest.mark.parametrize(
    ("events", "said"),
    [
        ([event(0, [1.0]), event(1, [1.0])], ""),
        ([event(0, [1.0]), event(1, [1.0], correct=False, wrong=1)], "all_reduce 8 B bfloat16 (eager) on rank 1"),
        (
            [event(0, [1.0], correct=False, wrong=12), event(1, [1.0], correct=False)],
            "all_reduce 8 B bfloat16 (eager) on rank 0 (12 elements), rank 1",
        ),
        (
            [event(0, [1.0], correct=False, size=size, in_place=False) for size in range(1, 6)],
            "all_reduce 1 B bfloat16 out of place (eager) on rank 0, all_reduce 2 B bfloat16 out of place (eager) on "
            "rank 0, all_reduce 3 B bfloat16 out of place (eager) on rank 0 and 2 more",
        ),
    ],
)
def test_what_was_wrong_is_said_with_op_size_view_and_rank(events: list[dict[str, Any]], said: str) -> None:
    assert wrong_of(events) == said


def test_bare_replays_give_the_slowest_ranks_mean_and_the_median_of_them() -> None:
    slow, fast = (
        event(0, [9.0, 9.0]) | {"replays": [5.0, 8.0, 6.0]},
        event(1, [9.0, 9.0]) | {"replays": [7.0, 4.0, 4.0]},
    )
    assert cells_of([slow, fast], 2)[0].replay_us == 7.0
    assert cells_of([slow, event(1, [9.0, 9.0])], 2)[0].replay_us is None, "one rank has none"


def direct(rank: int, samples: list[float], wrong: int = 0) -> dict[str, Any]:
    return event(rank, samples, wrong=wrong)


def test_nccls_own_calls_are_told_beside_torchs_and_never_mixed_with_them() -> None:
    events = [event(0, [20.0, 22.0, 24.0]), event(1, [21.0, 21.0, 21.0])]
    (cell,) = cells_of(events, 2, directs=[direct(0, [9.0, 11.0, 13.0]), direct(1, [10.0, 10.0, 10.0])])
    assert (cell.median_us, cell.direct_us) == (22.0, 11.0)
    assert cells_of(events, 2)[0].direct_us is None
    assert cells_of(events, 2, directs=[direct(0, [9.0])])[0].direct_us is None, "one rank has none"
    assert cells_of(events, 2, directs=[direct(0, [9.0]), direct(0, [9.0])])[0].direct_us is None


def test_a_wrong_result_of_nccls_own_calls_makes_the_cell_wrong() -> None:
    events = [event(0, [20.0]), event(1, [21.0])]
    (cell,) = cells_of(events, 2, directs=[direct(0, [9.0]), direct(1, [9.0], wrong=1)])
    assert cell.correct is False
