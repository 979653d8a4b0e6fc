"""Quantiles and summaries over calls, against scipy."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from fabricdoc.bench import summary as subject

pytestmark = pytest.mark.unit

finite = st.floats(min_value=-5.0, max_value=5.0)
times = st.floats(min_value=1e-3, max_value=1e7)


@settings(deadline=None)
@given(values=st.lists(finite, min_size=1, max_size=40), q=st.floats(0, 1))
def test_quantile_lies_inside_and_agrees_with_scipy(values: list[float], q: float) -> None:
    ordered = sorted(values)
    got = subject.quantile(ordered, q)
    assert ordered[0] - 1e-12 <= got <= ordered[-1] + 1e-12
    assert got == pytest.approx(float(stats.mstats.mquantiles(ordered, [q], alphap=1, betap=1)[0]), abs=1e-9)


def test_quantile_refuses_nothing_and_bad_q() -> None:
    for values, q in (([], 0.5), ([1.0], 1.5), ([1.0], math.nan)):
        with pytest.raises(ValueError, match="quantile"):
            subject.quantile(values, q)


def test_call_summary_takes_the_slowest_rank_of_each_call_before_the_median() -> None:
    # Rank medians are 10 and 10; the slowest rank of each call is 100 twice out of three.
    got = subject.call_summary([[100.0, 10.0, 10.0], [10.0, 100.0, 10.0]])
    assert (got.calls, got.median, got.max) == (3, 100.0, 100.0)


def test_call_summary_cuts_to_the_shortest_rank() -> None:
    got = subject.call_summary([[1.0, 2.0, 99.0], [2.0, 1.0]])
    assert (got.calls, got.max) == (2, 2.0)


@settings(deadline=None)
@given(st.integers(1, 30).flatmap(lambda n: st.lists(st.lists(times, min_size=n, max_size=n), min_size=1, max_size=4)))
def test_call_summary_is_ordered_and_never_below_a_single_rank(ranks: list[list[float]]) -> None:
    got = subject.call_summary(ranks)
    slack = 1 + 1e-12
    assert got.median <= got.p95 * slack and got.p95 <= got.p99 * slack and got.p99 <= got.max * slack
    assert all(got.median * slack >= subject.quantile(sorted(rank), 0.5) for rank in ranks)


@pytest.mark.parametrize("ranks", [[], [[]], [[1.0], []]])
def test_call_summary_refuses_a_rank_without_calls(ranks: list[list[float]]) -> None:
    with pytest.raises(ValueError, match="at least one call"):
        subject.call_summary(ranks)
