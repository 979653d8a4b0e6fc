"""An agent's words: what its protocol has passes, anything else is refused and named, and nothing crashes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.bench.heard import EVENTS, MOST_SAMPLES, check

pytestmark = pytest.mark.unit

SHAPE = {"rank": 1, "op": "all_gather", "size": 64, "dtype": "int32", "in_place": False}
GOOD: list[dict[str, Any]] = [
    {"event": "store", "port": 40000},
    {"event": "forked", "rank": 1, "pid": 77, "start": 123456},
    {"event": "phase", "rank": 1, "phase": "measure", "what": "", "at_s": 1.0},
    {"event": "cell", "view": "graph", **SHAPE, "samples": [1.5, 2], "replays": [1.25], "correct": True, "wrong": 0},
    {"event": "cell", "view": "eager", **SHAPE, "samples": [1.5], "correct": False},
    {"event": "skew", "view": "eager", **SHAPE, "waits": [0.0], "gated": [1.5]},
    {"event": "direct", "view": "eager", **SHAPE, "samples": [1.5], "wrong": 0},
    {"event": "soak", **SHAPE, "calls": 500, "wrong": 3},
    {
        "event": "rank_done",
        "rank": 1,
        "status": "ok",
        "phase": "done",
        "reason": "",
        "log": "",
        "timings_s": {"init": 0.5},
    },
    {"event": "expired", "reason": "rank 1 was overdue"},
    {"event": "state", "load_1min": 0.5},
    {"event": "launch_done", "status": "ok"},
]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.parametrize("message", GOOD, ids=lambda message: message["event"])
def test_what_an_agent_says_passes(message: dict[str, Any]) -> None:
    assert check(message, {1}) == message["event"]


def test_every_event_is_shown_here() -> None:
    assert {message["event"] for message in GOOD} == set(EVENTS)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"view": "naked"}, "view of cell is 'naked'"),
        ({"op": "reduce"}, "op of cell is 'reduce'"),
        ({"size": -1}, "size of cell"),
        ({"size": True}, "size of cell"),
        ({"dtype": ["int32"]}, "dtype of cell"),
        ({"in_place": "yes"}, "in_place of cell"),
        ({"samples": []}, "samples of cell"),
        ({"samples": [float("nan")]}, "samples of cell"),
        ({"samples": [-0.5]}, "samples of cell"),
        ({"samples": "1.5"}, "samples of cell"),
        ({"samples": [1.5] * (MOST_SAMPLES + 1)}, "samples of cell"),
        ({"replays": None}, "replays of cell"),
        ({"correct": 1}, "correct of cell"),
        ({"wrong": -1}, "wrong of cell"),
        ({"rank": 2}, "cell of rank 2, which is not this node's"),
        ({"rank": "1"}, "rank of cell"),
    ],
)
def test_a_cell_that_is_none_is_refused_by_name(change: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says) as refused:
        check({**GOOD[3], **change}, {1})
    assert len(str(refused.value)) < 200


@pytest.mark.parametrize("port", [0, 65536, "22", None])
def test_a_port_is_a_port(port: Any) -> None:
    with pytest.raises(ValueError, match="port of store"):
        check({"event": "store", "port": port}, {1})


@pytest.mark.parametrize("pid", [0, 1, -5, None])
def test_no_rank_is_the_first_process_of_a_machine(pid: Any) -> None:
    """A pid that a later agent is told to end."""
    with pytest.raises(ValueError, match="pid of forked"):
        check({"event": "forked", "rank": 1, "pid": pid, "start": 1}, {1})


@given(message=st.sampled_from(GOOD), field=st.sampled_from(["rank", "samples", "size", "phase", "port"]), value=JSON)
def test_any_field_of_any_kind_is_refused_or_known(message: dict[str, Any], field: str, value: Any) -> None:
    try:
        assert check({**message, field: value}, {1}) in EVENTS
    except ValueError as refused:
        assert message["event"] in str(refused)


@given(message=st.dictionaries(st.text(max_size=5), JSON, max_size=4), name=JSON)
def test_what_is_no_event_is_passed_over(message: dict[str, Any], name: Any) -> None:
    try:
        assert check({**message, "event": name}, set()) in {"", *EVENTS}
    except ValueError:
        assert name in EVENTS
