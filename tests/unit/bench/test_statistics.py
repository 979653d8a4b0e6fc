"""Claims of fabricdoc.bench.statistics, with scipy as the oracle."""

from __future__ import annotations

import math
import random
from statistics import fmean, stdev

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

from fabricdoc.bench import statistics as subject

pytestmark = pytest.mark.unit

finite = st.floats(min_value=-5.0, max_value=5.0)
times = st.floats(min_value=1e-3, max_value=1e7)


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


@settings(deadline=None)
@given(logs=st.lists(finite, min_size=2, max_size=20), comparisons=st.integers(1, 20))
def test_paired_interval_agrees_with_scipy(logs: list[float], comparisons: int) -> None:
    got = subject.paired_interval(logs, comparisons=comparisons)
    half = stats.t.ppf(1 - 0.025 / comparisons, len(logs) - 1) * stdev(logs) / math.sqrt(len(logs))
    bound = math.log(subject.RATIO_BOUND)
    assert got.ratio == pytest.approx(math.exp(fmean(logs)), rel=1e-9)
    assert math.log(got.low) == pytest.approx(max(fmean(logs) - half, -bound), abs=1e-7)
    assert math.log(got.high) == pytest.approx(min(fmean(logs) + half, bound), abs=1e-7)
    assert got.blocks == len(logs)


@settings(deadline=None)
@given(logs=st.lists(finite, min_size=2, max_size=12))
def test_more_comparisons_never_narrow_an_interval(logs: list[float]) -> None:
    one, ten = (subject.paired_interval(logs, comparisons=count) for count in (1, 10))
    assert ten.low <= one.low <= one.high <= ten.high


@settings(deadline=None)
@given(logs=st.lists(finite, min_size=2, max_size=12))
def test_swapping_base_and_candidate_inverts_the_interval(logs: list[float]) -> None:
    there, back = subject.paired_interval(logs), subject.paired_interval([-value for value in logs])
    assert there.low * back.high == pytest.approx(1.0, rel=1e-9)


def test_one_block_says_nothing_yet_stays_finite() -> None:
    got = subject.paired_interval([0.3])
    assert (got.low, got.high) == (pytest.approx(1e-6), pytest.approx(1e6))
    assert got.ratio == pytest.approx(math.exp(0.3))


@pytest.mark.parametrize("logs", [[], [math.nan, 1.0], [math.inf, 1.0]])
def test_paired_interval_refuses_what_is_no_number(logs: list[float]) -> None:
    with pytest.raises(ValueError, match="log ratio"):
        subject.paired_interval(logs)


def test_paired_interval_refuses_no_comparison() -> None:
    with pytest.raises(ValueError, match="comparisons"):
        subject.paired_interval([0.1, 0.2], comparisons=0)


def test_intervals_hold_the_truth_about_as_often_as_they_say() -> None:
    random.seed(7)
    held = 0
    for _ in range(1000):
        got = subject.paired_interval([random.gauss(0.1, 0.05) for _ in range(6)])
        held += got.low <= math.exp(0.1) <= got.high
    assert 930 <= held <= 970


def test_aa_floor_is_half_width_plus_drift() -> None:
    logs = [0.02, -0.01, 0.03, 0.00, 0.01, 0.01]
    half = stats.t.ppf(0.975, 5) * stdev(logs) / math.sqrt(6)
    assert subject.aa_floor(logs) == pytest.approx(math.exp(half + abs(fmean(logs))) - 1, rel=1e-9)


@settings(deadline=None)
@given(logs=st.lists(finite, min_size=1, max_size=12))
def test_aa_floor_does_not_care_which_base_came_first(logs: list[float]) -> None:
    assert subject.aa_floor(logs) == pytest.approx(subject.aa_floor([-value for value in logs]), rel=1e-9)
    assert subject.aa_floor(logs) >= 0.0


def test_aa_floor_of_few_blocks() -> None:
    assert subject.aa_floor([]) == 0.0
    assert subject.aa_floor([-0.1]) == pytest.approx(math.exp(0.1) - 1)


def test_smallest_effect_is_the_ratio_that_would_just_have_been_called() -> None:
    floor, interval = 0.03, subject.paired_interval([0.01, 0.02, -0.02, 0.03, -0.01, 0.0])
    half = subject.interval_half_width(interval)
    effect = subject.smallest_effect([half], floor)
    shifted_low = (1 + effect) * math.exp(-half)
    assert shifted_low == pytest.approx(1 + floor, rel=1e-9)


def test_smallest_effect_takes_the_typical_candidate() -> None:
    assert subject.smallest_effect([0.01, 0.02, 9.0], 0.0) == pytest.approx(math.exp(0.02) - 1)
    assert subject.smallest_effect([], 0.05) == pytest.approx(0.05)


@pytest.mark.parametrize(("logs", "want"), [([900.0, 901.0], 1e6), ([-900.0, -901.0], 1e-6)])
def test_a_ratio_beyond_all_measure_is_clamped_and_stays_finite(logs: list[float], want: float) -> None:
    got = subject.paired_interval(logs)
    assert got.ratio == pytest.approx(want)
    assert 0.0 < got.low <= got.ratio <= got.high < math.inf
    assert subject.aa_floor(logs) == pytest.approx(1e6 - 1)


def test_equal_blocks_leave_an_interval_of_no_width() -> None:
    got = subject.paired_interval([0.1] * 6, comparisons=8)
    assert got.low == pytest.approx(got.high) == pytest.approx(math.exp(0.1))
    assert subject.interval_half_width(got) == pytest.approx(0.0, abs=1e-12)
    assert subject.half_width([0.1]) == math.inf
