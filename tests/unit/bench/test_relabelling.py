"""The exact intervals, held against the tests they invert: sign by sign, and name by name."""

from __future__ import annotations

import itertools
import random
from statistics import fmean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricdoc.bench.relabelling import MOST_SETS, resolves, typical_interval

pytestmark = pytest.mark.unit

values_ = st.lists(st.floats(-5, 5, allow_subnormal=False), min_size=6, max_size=9)


def _flip(values: list[float], tail: float) -> tuple[float, float]:
    return typical_interval([(value,) for value in values], tail)


def renamed(block: tuple[float, float, float]) -> list[float]:
    """Base's mean minus the candidate's, under each choice of which of the three launches is called the candidate's."""
    return [(sum(block) - one) / 2 - one for one in block]


@settings(deadline=None, max_examples=25)
@given(st.lists(st.tuples(*[st.floats(-2, 2)] * 3), min_size=5, max_size=6), st.sampled_from([0.01, 0.025]))
def test_the_ends_are_where_renaming_stops_refusing(blocks: list[tuple[float, float, float]], tail: float) -> None:
    low, high = typical_interval([(one - mine, two - mine) for one, two, mine in blocks], tail)

    def chance(effect: float) -> float:
        told = [renamed((one, two, mine + effect)) for one, two, mine in blocks]
        seen = sum(block[2] for block in told)
        names = list(itertools.product(*told))
        return sum(sum(one) >= seen - 1e-9 for one in names) / len(names)

    assert chance(low - 1e-6) <= tail or high - low < 1e-3
    assert chance(low + 1e-6) > tail or high - low < 1e-3


def chance_of(values: list[float], centre: float) -> float:
    """The one-sided chance that flipped signs give as large a mean above `centre`: the definition itself."""
    off = [value - centre for value in values]
    seen = sum(off)
    flips = list(itertools.product((1, -1), repeat=len(off)))
    return sum(sum(sign * one for sign, one in zip(signs, off, strict=True)) >= seen - 1e-9 for signs in flips) / len(
        flips
    )


@settings(deadline=None, max_examples=40)
@given(values=values_, tail=st.sampled_from([0.025, 0.05, 0.1]))
def test_the_ends_are_where_the_test_stops_refusing(values: list[float], tail: float) -> None:
    low, high = _flip(values, tail)
    spread = max(values) - min(values)
    assert chance_of(values, low - 1e-3 * spread - 1e-6) <= tail + 1e-12
    assert chance_of(values, low + 1e-6) > tail or spread < 1e-3
    mirrored = _flip([-value for value in values], tail)
    assert mirrored == (pytest.approx(-high), pytest.approx(-low))


@settings(deadline=None)
@given(values=values_, shift=st.floats(-3, 3), tail=st.sampled_from([0.02, 0.2]))
def test_it_moves_with_the_values_and_holds_their_mean(values: list[float], shift: float, tail: float) -> None:
    low, high = _flip(values, tail)
    assert low - 1e-9 <= fmean(values) <= high + 1e-9
    moved = _flip([value + shift for value in values], tail)
    assert moved == (pytest.approx(low + shift, abs=1e-9), pytest.approx(high + shift, abs=1e-9))


def test_at_six_values_it_reaches_from_the_least_to_the_largest() -> None:
    assert _flip([3.0, 1.0, 2.0, 5.0, 4.0, 6.0], 0.025) == (1.0, 6.0)


def test_more_values_than_can_be_listed_are_sampled_and_stay_the_same() -> None:
    chance = random.Random(3)
    for length in (13, 30, 100):
        values = [chance.gauss(0.2, 0.1) for _ in range(length)]
        low, high = _flip(values, 0.025)
        assert (low, high) == _flip(values, 0.025)
        assert high - low == pytest.approx(4 * 0.1 / length**0.5, rel=0.5)
        assert low < fmean(values) < high
    assert MOST_SETS == 3**7


@pytest.mark.parametrize("length", [6, 8, 12])
def test_it_holds_the_truth_as_often_as_it_says_under_heavy_tails(length: int) -> None:
    chance, held = random.Random(length), 0
    for _ in range(200):
        values = [chance.gauss(0.1, 0.05) * (10 if chance.random() < 0.1 else 1) - 0.0 for _ in range(length)]
        values = [0.1 + (value - 0.1) * chance.choice((-1, 1)) for value in values]
        low, high = _flip(values, 0.025)
        held += low <= 0.1 <= high
    assert held >= 0.95 * 200 - 9


@pytest.mark.parametrize(
    ("values", "tail", "can"),
    [(5, 0.025, False), (6, 0.025, True), (6, 0.0125, False), (11, 2**-11, True), (99, 2**-12, False), (0, 0.4, False),
     (6, 0.0, False), (6, 0.5, False), (10**6, 0.025, True)],
)  # fmt: skip
def test_its_resolution_is_two_to_the_number_of_values(values: int, tail: float, can: bool) -> None:
    assert resolves(values, tail) is can


@pytest.mark.parametrize(("candidates", "can"), [(18, True), (19, False)])
def test_base_twice_in_a_block_lets_six_blocks_tell_eighteen_candidates(candidates: int, can: bool) -> None:
    assert resolves(6, 0.025 / candidates, 2) is can


def test_too_few_values_are_refused() -> None:
    with pytest.raises(ValueError, match="5 blocks"):
        _flip([1.0] * 5, 0.025)
