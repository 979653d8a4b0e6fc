"""The rules that turn an interval into a judgement, held at their edges."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricdoc.bench.statistics import aa_floor, paired_interval
from fabricdoc.model.verdict import Interval
from fabricdoc.tuning.blocks import Block
from fabricdoc.tuning.comparing import Series, called, compare

pytestmark = pytest.mark.unit

KEY = ("eager", "all_reduce", 8)


def _block(first: float, second: float, **others: float) -> Block:
    return Block(base=({KEY: first}, {KEY: second}), others={name: {KEY: value} for name, value in others.items()})


def _interval(low: float, high: float, blocks: int = 8) -> Interval:
    return Interval(ratio=math.sqrt(low * high), low=low, high=high, blocks=blocks)


@pytest.mark.parametrize(
    ("low", "high", "blocks", "verdict"),
    [
        (1.11, 1.30, 6, "better"),
        (1.09, 1.30, 6, "same"),
        (0.70, 0.90, 6, "worse"),
        (0.70, 0.92, 6, "same"),
        (0.95, 1.05, 6, "same"),
        (1.11, 1.30, 5, "inconclusive"),
        (0.70, 0.90, 5, "inconclusive"),
        (0.95, 1.05, 5, "same"),
        (0.95, 1.05, 4, "inconclusive"),
        (9.00, 9.10, 4, "inconclusive"),
    ],
)
def test_a_difference_must_be_clear_of_a_floor_of_ten_per_cent(low, high, blocks, verdict) -> None:
    assert called(_interval(low, high, blocks), 0.10) == verdict


@settings(deadline=None)
@given(low=st.floats(0.1, 10), width=st.floats(1.0, 3.0), floor=st.floats(0, 1), blocks=st.integers(1, 12))
def test_swapping_sides_swaps_the_judgement(low: float, width: float, floor: float, blocks: int) -> None:
    there = called(_interval(low, low * width, blocks), floor)
    back = called(_interval(1 / (low * width), 1 / low, blocks), floor)
    edge = any(abs(one * (1 + floor) - 1) < 1e-9 or abs(one / (1 + floor) - 1) < 1e-9 for one in (low, low * width))
    assert edge or back == {"better": "worse", "worse": "better"}.get(there, there)


def test_the_ratio_of_a_block_is_the_mean_of_both_bases_against_the_candidate() -> None:
    series = Series.of([_block(1.0, 2.0, one=1.2), _block(1.0, 1.4, one=1.1)], lambda times: times[KEY])
    reading = compare(series, "one", 3)
    assert reading is not None
    assert reading.interval == paired_interval([1.5 - 1.2, 1.2 - 1.1], comparisons=3)
    assert reading.floor == pytest.approx(aa_floor([-1.0, -0.4]))
    assert reading.base_us == pytest.approx(math.exp(1.2), rel=0.2)
    assert reading.candidate_us == pytest.approx(math.exp(1.15))


def test_the_floor_rests_on_every_block_of_base_and_the_ratio_on_paired_ones() -> None:
    series = Series.of(
        [_block(1.0, 1.1, one=1.0), _block(1.0, 1.5), _block(1.0, 1.1, one=1.0)], lambda times: times[KEY]
    )
    reading = compare(series, "one", 1)
    assert reading is not None
    assert reading.interval.blocks == 2
    assert reading.floor == pytest.approx(aa_floor([-0.1, -0.5, -0.1]))


def test_a_block_in_which_either_side_lacks_the_quantity_is_left_out() -> None:
    blocks = [_block(1.0, 1.0, one=1.0), Block(base=({}, {KEY: 1.0}), others={"one": {KEY: 1.0}}),
              Block(base=({KEY: 1.0}, {KEY: 1.0}), others={"one": {}})]  # fmt: skip
    reading = compare(Series.of(blocks, lambda times: times.get(KEY)), "one", 1)
    assert reading is not None
    assert reading.interval.blocks == 1


def test_a_candidate_that_was_never_paired_has_no_reading() -> None:
    assert compare(Series.of([_block(1.0, 1.0)], lambda times: times[KEY]), "one", 1) is None
    assert compare(Series.of([], lambda times: times[KEY]), "one", 1) is None


@settings(deadline=None)
@given(st.lists(st.tuples(*[st.floats(-1, 1)] * 3), min_size=6, max_size=10), st.floats(-3, 3))
def test_a_drift_that_a_whole_block_shares_changes_nothing(values: list[tuple[float, ...]], drift: float) -> None:
    def read(shift: float) -> object:
        blocks = [_block(first + shift * index, second + shift * index, one=mine + shift * index)
                  for index, (first, second, mine) in enumerate(values)]  # fmt: skip
        reading = compare(Series.of(blocks, lambda times: times[KEY]), "one", 2)
        assert reading is not None
        return [math.log(value) for value in (reading.interval.low, reading.interval.high, 1 + reading.floor)]

    assert read(drift) == pytest.approx(read(0.0), abs=1e-9)
