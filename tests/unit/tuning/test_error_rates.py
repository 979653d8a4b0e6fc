"""How often a verdict errs on launches that really happened: resampled runs of the recorded benchmarks."""

from __future__ import annotations

import math
from statistics import fmean

import pytest

from tests.benchmarks.false_winners import line, rates, sources
from tests.benchmarks.recorded_launches import Resampler, recorded

pytestmark = pytest.mark.unit


def _totals(runs: int, planted: int, most: int = 8) -> tuple[int, int, int, int]:
    found = [rates(source, kind, runs, planted, 5, 6, "mix") for source, kind in sources()[:most]]
    return tuple(sum(getattr(one, name) for one in found) for name in ("runs", "crowned", "planted", "seen"))  # type: ignore[return-value]


@pytest.mark.long
def test_few_runs_crown_nobody_and_see_twice_the_smallest_effect() -> None:
    runs, crowned, planted, seen = _totals(3, 2, most=2)
    assert (runs, planted, crowned) == (6, 4, 0)
    assert seen >= 3


@pytest.mark.long
@pytest.mark.timeout(600)
def test_of_a_thousand_runs_without_an_effect_two_per_cent_at_most_crown_a_winner_and_19_of_20_see_twice_the_smallest():
    runs, crowned, planted, seen = _totals(125, 10)
    assert runs == 1000
    assert crowned <= 20
    assert seen >= 0.95 * planted


def test_four_recorded_runs_are_read_with_every_block_of_base() -> None:
    found = recorded()
    assert [len(one.blocks) for one in found] == [12, 10, 12, 12]
    assert [one.sizes[-1] for one in found] == [41943040] * 4
    assert found[0].blocks[0][0][20480] == pytest.approx(math.log(100.5))
    assert found[0].blocks[0][1][20480] == pytest.approx(math.log(100.8))


@pytest.mark.long
@pytest.mark.parametrize("kind", ["differences", "launches"])
def test_a_resampled_run_keeps_the_level_and_the_spread_of_what_was_recorded(kind: str) -> None:
    source = recorded()[2]
    true = [one[20480] for pair in source.blocks for one in pair]
    sampler = Resampler(source, kind, 3)
    runs = [sampler.run(3, 6) for _ in range(20)]
    cells = [cell for run in runs for launch in run.launches for cell in launch.cells if cell.size == 20480]
    logs = [math.log(cell.median_us) for cell in cells]

    def spread(values: list[float]) -> float:
        return math.sqrt(fmean((value - fmean(values)) ** 2 for value in values))

    assert fmean(logs) == pytest.approx(fmean(true), abs=0.02)
    assert spread(logs) == pytest.approx(spread(true), rel=0.4)
    assert len(runs[0].launches) == 12 * 5
    assert all(sum(x.candidate == "base" and x.block == 1 for x in run.launches) == 2 for run in runs)


def test_the_same_seed_gives_the_same_runs_and_an_effect_is_what_it_says() -> None:
    source = recorded()[0]

    def mean(effects: dict[str, float], name: str) -> float:
        run = Resampler(source, "launches", 8).run(2, 30, effects)
        return fmean(math.log(x.cells[0].median_us) for x in run.launches if x.candidate == name)

    assert mean({}, "c0") == mean({}, "c0")
    assert mean({}, "c0") - mean({"c0": 1.5}, "c0") == pytest.approx(math.log(1.5))


def test_a_line_of_the_record_holds_every_figure() -> None:
    one = rates(*sources()[0], 2, 1, 2, 6, "decode")
    assert f"{one.crowned}/2" in line(one)
    assert line(one).endswith(f"{one.seen}/1")
