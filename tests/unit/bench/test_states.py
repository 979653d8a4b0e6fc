"""A node's word about itself: as it was when it fits, unknown with the reason when it does not."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.bench.states import MOST, state_of
from fabricdoc.model.documents import Unknown

pytestmark = pytest.mark.unit

SAID: dict[str, Any] = {
    "sm_clock_mhz": [1980, 1965],
    "throttled": ["sw_power_cap"],
    "other_gpu_processes": [4321],
    "load_1min": 0.75,
    "port_bytes": {"rocep1s0f0/1": [1000, 2000]},
    "port_errors": {"enp1s0f0np0 rx_dropped": 3},
}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


def test_what_fits_is_kept_as_it_is() -> None:
    state = state_of("alpha", SAID)
    assert state.node == "alpha"
    assert (state.sm_clock_mhz, state.throttled, state.other_gpu_processes) == (
        (1980, 1965),
        ("sw_power_cap",),
        (4321,),
    )
    assert (state.load_1min, state.port_bytes) == (0.75, {"rocep1s0f0/1": (1000, 2000)})
    assert state.port_errors == {"enp1s0f0np0 rx_dropped": 3}


def test_ranks_of_other_nodes_on_the_same_machine_are_ours_and_disturb_nothing() -> None:
    said = SAID | {"other_gpu_processes": [7, 4321, 8]}
    assert state_of("alpha", said, {7, 8}).other_gpu_processes == (4321,)
    assert state_of("alpha", said, {7, 8, 4321}).other_gpu_processes == ()


def test_what_is_unknown_keeps_its_reason_and_what_is_missing_was_not_read() -> None:
    state = state_of("alpha", {"sm_clock_mhz": {"unknown": "no driver"}})
    assert state.sm_clock_mhz == Unknown(unknown="no driver")
    assert state.load_1min == Unknown(unknown="not read")
    assert state.port_bytes == {}


@pytest.mark.parametrize(
    "wrong",
    [
        {"sm_clock_mhz": [1]},
        {"sm_clock_mhz": "1980"},
        {"throttled": {"a": 1}},
        {"other_gpu_processes": [-1]},
        {"load_1min": "nan"},
        {"load_1min": -1},
        {"port_bytes": {"p": [1, 2, 3]}},
        {"port_errors": {"p": True}},
    ],
)
def test_what_does_not_fit_is_unknown_with_the_reason(wrong: dict[str, Any]) -> None:
    state = state_of("alpha", SAID | wrong)
    assert isinstance(state.load_1min, Unknown)
    assert state.load_1min.unknown.startswith("the agent's answer does not fit: ")
    assert (state.port_bytes, state.port_errors) == ({}, {})


def test_names_are_clean_and_lists_have_an_end() -> None:
    state = state_of(
        "alpha", {"throttled": ["a\x1b[31m\n" + "x" * 500] * 1000, "port_errors": {str(i): i for i in range(999)}}
    )
    assert isinstance(state.throttled, tuple)
    assert len(state.throttled) == len(state.port_errors) == MOST
    assert state.throttled[0].startswith("a?[31m?x") and len(state.throttled[0]) == 80


@given(said=st.dictionaries(st.sampled_from(sorted(SAID)), JSON))
def test_no_answer_breaks_it(said: dict[str, Any]) -> None:
    state = state_of("alpha", said)
    assert state.model_dump_json()
