"""What a launch sent back, kept by its kind; text from a node is bounded and printable."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.bench.outcome import Outcome, keep, pids

pytestmark = pytest.mark.unit

ENDED: dict[str, Any] = {
    "rank": 0,
    "status": "timeout",
    "phase": "measure",
    "reason": "late",
    "log": "x",
    "timings_s": {"init": 1},
}


def kept(*events: tuple[str, dict[str, Any]]) -> Outcome:
    outcome = Outcome()
    for event, message in events:
        keep(outcome, event, "alpha", message)
    return outcome


def test_events_go_where_they_belong() -> None:
    one = {"size": 8}
    outcome = kept(("cell", one), ("skew", one), ("direct", one), ("soak", one), ("nothing", one))
    assert (outcome.cells, outcome.skews, outcome.directs, outcome.soaks) == ([one], [one], [one], [one])
    outcome = kept(("phase", {"rank": 1, "phase": "init"}), ("phase", {"rank": 1, "phase": "check"}))
    assert outcome.phases == {1: "check"}
    assert kept(("state", {"load_1min": 1.0})).states == {"alpha": {"load_1min": 1.0}}


def test_a_node_that_is_done_says_whom_nothing_ended() -> None:
    outcome = kept(("launch_done", {"alive": [7]}))
    assert (outcome.done, outcome.left) == ({"alpha"}, {"alpha": (7,)})
    assert kept(("launch_done", {})).left == {}


def test_how_a_rank_ended_is_bounded_printable_text() -> None:
    outcome = kept(("rank_done", {**ENDED, "stack": ["a\x1b[2J" * 200] * 500, "state": "Tracing"}))
    end = outcome.ends[0]
    assert (end.status, end.phase, end.reason, end.state) == ("timeout", "measure", "late", "T")
    assert len(end.stack) == 60 and all(len(line) <= 300 and line.isprintable() for line in end.stack)
    assert end.timings_s == {"init": 1.0}


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=3), st.lists, max_leaves=5))
def test_any_stack_and_any_pids_are_taken(said: Any) -> None:
    end = kept(("rank_done", {**ENDED, "stack": said})).ends[0]
    assert all(isinstance(line, str) for line in end.stack)
    assert all(isinstance(pid, int) for pid in pids(said))
