"""Limits of phases: what is asked over what is usual, and nothing that is no limit."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.probes.deadlines import DEFAULTS, limits_for
from fabricdoc.probes.events import PHASES

pytestmark = pytest.mark.unit


def test_every_phase_has_a_limit() -> None:
    assert set(limits_for({})) == set(PHASES) == set(DEFAULTS)
    assert limits_for({"deadlines": None}) == DEFAULTS


@given(asked=st.dictionaries(st.sampled_from(PHASES), st.floats(0.001, 1e6)))
def test_what_is_asked_wins(asked: dict[str, float]) -> None:
    assert limits_for({"deadlines": asked}) == {**DEFAULTS, **asked}


@pytest.mark.parametrize("seconds", [0, 30, 3600.5, None])
def test_a_soak_has_its_own_length_besides(seconds: float | None) -> None:
    assert limits_for({"soak_s": seconds})["soak"] == DEFAULTS["soak"] + (seconds or 0)
    assert limits_for({"soak_s": seconds, "deadlines": {"soak": 5}})["soak"] == 5 + (seconds or 0)


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"lunch": 3}, "no phases lunch; known: rendezvous, init"),
        ({"init": 0}, "no positive number of seconds"),
        ({"init": -1}, "no positive number of seconds"),
        ({"init": float("nan")}, "no positive number of seconds"),
        ({"init": float("inf")}, "no positive number of seconds"),
        ({"init": "soon"}, "could not convert"),
    ],
)
def test_what_is_no_limit_is_refused(asked: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        limits_for({"deadlines": asked})
