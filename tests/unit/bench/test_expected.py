"""How many blocks a difference is expected to take."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.bench.expected import blocks_for_effect, usual_noise
from fabricdoc.bench.statistics import MOST_BLOCKS, blocks_needed
from tests.benchmarks.grid import SECOND, read_grid
from tests.benchmarks.recorded_launches import RESULTS

pytestmark = pytest.mark.unit


def test_the_usual_noise_is_that_of_the_recorded_grid() -> None:
    """The numbers in presets/measuring/noise.toml are not invented: within a third of what the file shows today."""
    import statistics

    blocks = [block for block in read_grid(RESULTS / "grid_h200.json").blocks if {"base", SECOND} <= set(block)]
    names = set.intersection(*(set(block) for block in blocks)) - {"base", SECOND}
    spreads = [
        statistics.stdev((block["base"] + block[SECOND]) / 2 - block[name] for block in blocks) for name in names
    ]
    candidate, base = usual_noise()
    assert candidate == pytest.approx(statistics.median(spreads), rel=1 / 3)
    assert base == pytest.approx(statistics.stdev(block["base"] - block[SECOND] for block in blocks), rel=1 / 3)


def test_smaller_differences_and_more_candidates_need_more_blocks() -> None:
    large, small = blocks_for_effect(0.5), blocks_for_effect(0.05)
    assert large == 6
    assert small is not None and 6 < small < 30
    many = blocks_for_effect(0.05, 8)
    assert many is not None and many > small
    assert blocks_for_effect(0.001) is None


@given(st.floats(0.002, 1.0), st.integers(0, 20))
def test_it_is_the_arithmetic_of_a_verdict(effect: float, candidates: int) -> None:
    needed = blocks_for_effect(effect, candidates)
    assert needed == blocks_needed(*usual_noise(), effect, comparisons=max(1, candidates))
    assert needed is None or 6 <= needed <= MOST_BLOCKS
