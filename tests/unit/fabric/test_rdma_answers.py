"""Whatever a node's probe says of its pings: nothing raises, text is bounded, no success is made of nonsense."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.fabric.rdma_answers import (
    MOST_TEXT,
    Failure,
    Opened,
    Report,
    by_number,
    clean,
    read_connected,
    read_failure,
    read_opened,
    read_report,
)

pytestmark = pytest.mark.unit

GOOD_END = {"id": 1, "qpn": 17, "psn": 5, "rkey": 7, "address": 1 << 47, "active_mtu": 4096}
GOOD_TEST = {"test": "send", "bytes": 8, "status": 0, "arrived": True, "whole": True}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


def test_an_end_as_it_should_be() -> None:
    assert read_opened(GOOD_END) == Opened(17, 5, 7, 1 << 47, 4096)


@pytest.mark.parametrize(
    "wrong",
    [
        {"qpn": 1 << 24},
        {"qpn": -1},
        {"qpn": True},
        {"qpn": 17.0},
        {"psn": "5"},
        {"rkey": 1 << 32},
        {"address": 1 << 64},
        {"address": None},
        {"active_mtu": 9000},
        {"active_mtu": [4096]},
        {"active_mtu": "4096"},
    ],
)
def test_an_end_with_one_thing_wrong_is_a_failure(wrong: dict[str, Any]) -> None:
    found = read_opened({**GOOD_END, **wrong})
    assert isinstance(found, Failure) and found.phase == "answer"


def test_a_failure_is_told_with_phase_errno_and_words() -> None:
    said = {"phase": "rtr", "errno": 110, "text": "Failed to modify QP\n\x1b[31m"}
    assert read_failure(said) == Failure("rtr", 110, "Failed to modify QP  [31m")
    assert read_connected({"failure": said}) == Failure("rtr", 110, "Failed to modify QP  [31m")
    assert read_connected({"id": 1}) is None


@pytest.mark.parametrize(
    "raw", [None, [], "rtr", {"phase": "boom", "errno": 1}, {"phase": "rtr", "errno": -5}, {"phase": []}]
)
def test_a_senseless_failure_is_one_all_the_same(raw: Any) -> None:
    assert read_failure(raw).phase == "answer"


def test_a_report_as_it_should_be() -> None:
    report = read_report({"id": 1, "tests": [GOOD_TEST] * 4, "laps_us": [1.5, 2], "failure": None})
    assert [one.passed for one in report.tests] == [True] * 4
    assert (report.laps_us, report.failure) == ((1.5, 2.0), None)


@pytest.mark.parametrize(
    "wrong",
    [
        {"test": "read"},
        {"bytes": "8"},
        {"bytes": 1 << 20},
        {"bytes": True},
        {"status": -1},
        {"status": "0"},
        {"status": False},
        {"arrived": 1},
        {"arrived": None},
        {"whole": "yes"},
    ],
)
def test_one_senseless_test_spoils_the_report(wrong: dict[str, Any]) -> None:
    report = read_report({"tests": [GOOD_TEST, {**GOOD_TEST, **wrong}], "laps_us": [], "failure": None})
    assert report.tests == ()
    assert report.failure is not None and report.failure.phase == "answer"


@pytest.mark.parametrize("lap", [-1, 1e300, float("nan"), float("inf"), "1", None, True])
def test_times_that_are_none_are_left_out(lap: Any) -> None:
    assert read_report({"tests": [GOOD_TEST], "laps_us": [lap, 2.0]}).laps_us == (2.0,)


def test_round_trips_of_larger_messages_are_read_by_size() -> None:
    said = {"8192": [3.0, -1, "x", 4], "20480": [9], "huge": [1], "-8": [1], "8": [1.0] * 65, "16": 7}
    assert read_report({"tests": [GOOD_TEST], "laps_us": [], "writes_us": said}).writes_us == {
        8192: (3.0, 4.0),
        20480: (9.0,),
    }
    assert read_report({"tests": [GOOD_TEST], "laps_us": [], "writes_us": {"99999999": [1]}}).writes_us == {}
    for raw in (None, [], "8192", {str(size): [1.0] for size in range(1, 10)}):
        assert read_report({"tests": [GOOD_TEST], "laps_us": [], "writes_us": raw}).writes_us == {}


def test_a_report_that_is_too_long_is_none() -> None:
    assert read_report({"tests": [GOOD_TEST] * 9, "laps_us": []}).failure is not None
    assert read_report({"tests": [GOOD_TEST], "laps_us": [1.0] * 65}).failure is not None
    assert read_report({"tests": "xxxx", "laps_us": []}).failure is not None


def test_entries_are_found_by_their_number_only() -> None:
    entries = [{"id": 1}, {"id": True}, {"id": "2"}, {"id": -3}, {}, None, 7, {"id": 2, "x": 1}]
    assert by_number({"pairs": entries}) == {1: {"id": 1}, 2: {"id": 2, "x": 1}}
    for pairs in (None, {}, "pairs", 3):
        assert by_number({"pairs": pairs}) == {}


def test_a_pair_left_out_is_no_success() -> None:
    assert isinstance(read_opened(None), Failure)
    assert isinstance(read_connected(None), Failure)
    assert read_report(None).failure is not None


@pytest.mark.long
@given(JSON)
def test_whatever_is_said_nothing_raises(raw: Any) -> None:
    for message in ({"pairs": raw}, {"pairs": [raw]}):
        assert isinstance(by_number(message), dict)
    assert isinstance(read_failure(raw), Failure)
    entry = raw if isinstance(raw, dict) else {"failure": raw, "tests": raw, "laps_us": raw}
    assert isinstance(read_opened(entry), Opened | Failure)
    assert isinstance(read_report(entry), Report)
    for key in (*GOOD_END, "tests", "laps_us", "writes_us"):
        read_opened({**GOOD_END, key: raw})
        read_report({"tests": [GOOD_TEST], "laps_us": [], key: raw})


@pytest.mark.long
@given(JSON, st.sampled_from(sorted(GOOD_TEST)))
def test_a_test_passes_only_as_it_should_be(raw: Any, key: str) -> None:
    report = read_report({"tests": [{**GOOD_TEST, key: raw}], "laps_us": []})
    if any(one.passed for one in report.tests):
        assert key == "test" or key == "bytes" or (raw in (0, True) and isinstance(raw, int))


@pytest.mark.long
@given(st.text(max_size=2000) | JSON)
def test_text_is_one_bounded_printable_line(raw: Any) -> None:
    text = clean(raw)
    assert len(text) <= MOST_TEXT and (text.isprintable() or not text)
    text.encode()
