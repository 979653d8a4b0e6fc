"""A node's words about what it tried: checked, cut, and refused where they are none."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.fabric.tried import OUTCOMES, Asked, Dialled, Taken
from fabricdoc.fabric.ways import Place, Way

pytestmark = pytest.mark.unit

A = Place("alpha", "p0", "10.77.0.1", "10.77.0.0/24", 9000)
B = Place("beta", "p1", "10.77.0.2", "10.77.0.0/24", 9000)
WAY = Way(A, B, "link")
REFUSED = (KeyError, TypeError, ValueError)


def test_an_answer_is_read_and_cut() -> None:
    told = {"arrived": True, "came_in_by": "p" * 500, "reason": "r" * 500}
    one = Asked.read(A, B, 56, told)
    assert (one.arrived, len(one.came_in_by), len(one.reason)) == (True, 64, 160)


def test_a_connection_and_a_taken_port_are_read_and_cut() -> None:
    one = Dialled.read(WAY, 0, {"outcome": "refused", "port": 40000, "reason": "r" * 500})
    assert (one.outcome, one.port, len(one.reason)) == ("refused", 40000, 160)
    taken = Taken.read("alpha", {"ip": "10.0.0.1", "port": 29500, "owner": "o" * 500})
    assert (taken.port, len(taken.owner)) == (29500, 160)


@pytest.mark.parametrize(
    "told", [{}, {"arrived": 1, "came_in_by": "", "reason": ""}, {"arrived": True, "came_in_by": 3, "reason": ""}]
)
def test_an_answer_that_is_none(told: dict[str, Any]) -> None:
    with pytest.raises(REFUSED):
        Asked.read(A, B, 56, told)


WORD = st.none() | st.booleans() | st.integers() | st.text(max_size=9) | st.sampled_from(sorted(OUTCOMES))
TOLD = st.dictionaries(st.sampled_from(["arrived", "came_in_by", "reason", "outcome", "port", "ip", "owner"]), WORD)


@given(TOLD)
def test_any_words_are_read_or_refused(told: dict[str, Any]) -> None:
    for read in (
        lambda: Asked.read(A, B, 56, told),
        lambda: Dialled.read(WAY, 0, told),
        lambda: Taken.read("alpha", told),
    ):
        try:
            read()
        except REFUSED:
            continue
