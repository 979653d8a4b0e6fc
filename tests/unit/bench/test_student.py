"""The t distribution against scipy, and what has no answer."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

from fabricdoc.bench import student as subject

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("df", [1, 2, 3, 4, 5, 7, 9, 15, 30, 100, 1000, 1e6])
@pytest.mark.parametrize("p", [0.5, 0.6, 0.9, 0.975, 0.995, 0.9975, 0.9999, 0.025, 0.001])
def test_t_quantile_agrees_with_scipy(p: float, df: float) -> None:
    assert subject.student_t_quantile(p, df) == pytest.approx(stats.t.ppf(p, df), rel=1e-8, abs=1e-12)


@settings(deadline=None)
@given(a=st.floats(0.5, 200), b=st.floats(0.5, 200), x=st.floats(0, 1))
def test_incomplete_beta_agrees_with_scipy(a: float, b: float, x: float) -> None:
    assert subject.regularized_incomplete_beta(a, b, x) == pytest.approx(special.betainc(a, b, x), rel=1e-8, abs=1e-14)


@settings(deadline=None)
@given(t=st.floats(0, 1e6), df=st.integers(1, 500))
def test_t_tail_agrees_with_scipy(t: float, df: int) -> None:
    assert subject.student_t_tail(t, df) == pytest.approx(stats.t.sf(t, df), rel=1e-8, abs=1e-300)


@settings(deadline=None)
@given(p=st.floats(0.001, 0.999), df=st.integers(1, 60))
def test_t_quantile_is_odd_and_inverts_the_tail(p: float, df: int) -> None:
    value = subject.student_t_quantile(p, df)
    assert value == pytest.approx(-subject.student_t_quantile(1 - p, df), rel=1e-9, abs=1e-9)
    assert subject.student_t_tail(abs(value), df) == pytest.approx(min(p, 1 - p), rel=1e-9)


@pytest.mark.parametrize(("p", "df"), [(0.0, 3), (1.0, 3), (0.5, 0), (-1, 3)])
def test_t_quantile_refuses_what_has_no_answer(p: float, df: float) -> None:
    with pytest.raises(ValueError, match="t quantile"):
        subject.student_t_quantile(p, df)


def test_incomplete_beta_refuses_what_has_no_answer() -> None:
    with pytest.raises(ValueError, match="incomplete beta"):
        subject.regularized_incomplete_beta(0.0, 1.0, 0.5)
