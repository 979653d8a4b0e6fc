"""What a known step time says: communication's share, the gain of a change, and the honest ceiling."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.model.profile import StepTime

pytestmark = pytest.mark.unit


def test_the_reference_case() -> None:
    step = StepTime(compute_ms=43.3, tokens=2.5)
    assert step.share(4.7) == pytest.approx(0.098, abs=0.001)
    assert step.ceiling(4.7) == pytest.approx(0.1085, abs=0.001)
    assert step.tokens_per_s(4.7) == pytest.approx(2500 / 48)
    assert step.gain(4.7, 4.7) == 0


def test_the_ceiling_in_words() -> None:
    assert StepTime(compute_ms=40).ceiling_text(4) == (
        "communication is 9.1 % of the step (4 of 44 ms), so at most 10.0 % more tokens a second"
    )


times = st.floats(0.001, 1e5)


@given(compute=times, base=times, other=times)
def test_no_change_gains_more_than_the_ceiling(compute: float, base: float, other: float) -> None:
    step = StepTime(compute_ms=compute)
    assert step.gain(base, other) <= step.ceiling(base) * (1 + 1e-9)
    assert 0 < step.share(base) < 1
    assert (step.gain(base, other) > 0) == (step.tokens_per_s(other) > step.tokens_per_s(base)) or base == other
