"""A node's clock from one question: the middle counts, and slowness is never taken for a wrong clock."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.fabric.clocks import PRECISE_S, SURELY_OFF_S, clock_offset
from fabricdoc.model.documents import Unknown

pytestmark = pytest.mark.unit

ASKED_AT = 1_796_000_000.0


@pytest.mark.parametrize(
    ("clock", "seconds", "offset"),
    [
        (ASKED_AT + 0.2, 0.4, 0.0),
        (ASKED_AT + 3.2, 0.4, 3.0),
        (ASKED_AT - 3.8, 0.4, -4.0),
        (ASKED_AT + 0.3, 1.0, -0.2),
        (ASKED_AT + 1.8, 1.8, 0.9),
        (ASKED_AT + 3600.0, 0.0, 3600.0),
    ],
)
def test_the_reading_against_the_middle_of_the_question(clock: float, seconds: float, offset: float) -> None:
    assert clock_offset(clock, ASKED_AT, seconds) == offset


def test_a_clock_that_was_not_read_keeps_its_reason() -> None:
    assert clock_offset(Unknown(unknown="time limit"), ASKED_AT, 0.1) == Unknown(unknown="time limit")


def test_a_slow_login_is_not_a_wrong_clock() -> None:
    """Four seconds of login, then a reading by a right clock: the middle would say 1.9 s."""
    found = clock_offset(ASKED_AT + 3.9, ASKED_AT, 4.0)
    assert found == Unknown(unknown="the answer took 4.0 s, which is too long to compare clocks")


def test_a_clock_that_is_far_off_is_told_by_a_slow_answer_too() -> None:
    assert clock_offset(ASKED_AT + 62.0, ASKED_AT, 4.0) == 60.0
    assert clock_offset(ASKED_AT - 58.0, ASKED_AT, 4.0) == -60.0


@given(
    off=st.floats(-100, 100),
    before=st.floats(0, 20),
    after=st.floats(0, 20),
)
def test_what_is_reported_is_right_to_half_of_the_time(off: float, before: float, after: float) -> None:
    """A clock that is `off`, read `before` seconds after the question and `after` seconds before the answer."""
    found = clock_offset(ASKED_AT + before + off, ASKED_AT, before + after)
    half = (before + after) / 2
    if isinstance(found, Unknown):
        assert half > PRECISE_S
        assert abs(off) <= 2 * half + SURELY_OFF_S + 0.001
    else:
        assert abs(found - off) <= half + 0.001


@given(before=st.floats(0, 20), after=st.floats(0, 20))
def test_a_right_clock_is_never_a_second_off(before: float, after: float) -> None:
    found = clock_offset(ASKED_AT + before, ASKED_AT, before + after)
    assert isinstance(found, Unknown) or abs(found) < 1.0
