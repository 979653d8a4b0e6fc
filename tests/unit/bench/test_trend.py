"""Trends over blocks: scipy's Kendall test is the oracle."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from fabricdoc.bench.trend import trend_of

pytestmark = pytest.mark.unit


@pytest.mark.long
@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(-1000, 1000), min_size=4, max_size=30, unique=True))
def test_the_chance_is_kendall_s_exact_one(values: list[int]) -> None:
    got = trend_of([float(value) for value in values])
    want = stats.kendalltau(range(len(values)), values, method="exact")
    assert got.chance == pytest.approx(want.pvalue, abs=1e-9)
    assert got.change == pytest.approx(stats.theilslopes(values)[0] * (len(values) - 1), abs=1e-9)


def test_a_rise_in_every_block_is_seen_at_six() -> None:
    got = trend_of([0.0, 0.01, 0.02, 0.03, 0.04, 0.05])
    assert got.change == pytest.approx(0.05)
    assert got.chance == pytest.approx(2 / 720)


def test_one_slow_block_is_no_trend() -> None:
    assert trend_of([0.0, 0.01, 5.0, 0.005, 0.012, 0.003, 0.02]).chance > 0.3


@pytest.mark.parametrize("values", [[], [1.0], [1.0, 2.0, 3.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0]])
def test_nothing_is_said_of_few_or_equal_values(values: list[float]) -> None:
    assert (trend_of(values).change, trend_of(values).chance) == (0.0, 1.0)


def test_ties_make_it_more_careful_never_less() -> None:
    assert trend_of([0, 0, 1, 1, 2, 2]).chance >= trend_of([0, 1, 2, 3, 4, 5]).chance


def test_beyond_sixty_values_it_is_nearly_exact() -> None:
    chance = random.Random(5)
    values = [chance.gauss(0, 1) + 0.01 * place for place in range(80)]
    assert trend_of(values).chance == pytest.approx(stats.kendalltau(range(80), values).pvalue, abs=0.01)


@pytest.mark.parametrize("blocks", [6, 12, 20])
def test_noise_alone_is_called_a_trend_as_rarely_as_it_says(blocks: int) -> None:
    chance = random.Random(blocks)
    seen = sum(trend_of([chance.gauss(0, 0.05) for _ in range(blocks)]).chance <= 0.01 for _ in range(1000))
    assert seen <= 20
