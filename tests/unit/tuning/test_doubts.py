"""What keeps a run from being trusted is told, with what to do, and only where it is so."""

from __future__ import annotations

import math
import random

import pytest

from fabricdoc.bench.statistics import block_interval
from fabricdoc.model.verdict import Drift, Quarantined
from fabricdoc.tuning import judge
from fabricdoc.tuning.blocks import Block, CellKey
from fabricdoc.tuning.comparing import Reading, Series
from fabricdoc.tuning.doubts import (
    advice_of,
    drift_of,
    drift_text,
    drifted,
    limits,
    needed,
    needed_text,
    noise_text,
    too_noisy,
)

pytestmark = pytest.mark.unit

KEY = CellKey("eager", "all_reduce", 8)


def _series(pairs: list[tuple[float, float]]) -> Series:
    return Series.of([Block(base=({KEY: one}, {KEY: two}), others={}) for one, two in pairs], lambda times: times[KEY])


def _reading(spread: float, blocks: int = 6) -> Reading:
    chance = random.Random(1)
    pairs = [(chance.gauss(0, spread), chance.gauss(0, spread)) for _ in range(blocks)]
    return Reading(block_interval(pairs), 0.02, "same", 10.0, 10.0, spread)


def _blocks(*reasons: str) -> list[Quarantined]:
    return [Quarantined(round="search", block=number, reason=why) for number, why in enumerate(reasons)]


def test_limits_are_numbers_that_make_sense() -> None:
    assert 0.0 < limits()["effect"]["worth"] < limits()["effect"]["too_noisy"] < 1.0
    assert 0.0 < limits()["drift"]["told"] < limits()["drift"]["limit"]
    assert 0.0 < limits()["drift"]["chance"] <= 0.05


def test_noise_is_too_much_where_it_hides_what_settings_can_do() -> None:
    assert not too_noisy(_reading(0.05))
    assert too_noisy(_reading(0.6))


def test_the_blocks_needed_grow_with_the_noise_and_end() -> None:
    series = _series([(0.0, 0.01), (0.01, 0.0)] * 3)
    few, many = (needed(_reading(spread), series, 4) for spread in (0.02, 0.1))
    assert few is not None
    assert many is not None
    assert 6 <= few < many
    assert needed(Reading(block_interval([(0.1, 0.1)]), 0.0, "same", 1.0, 1.0), series, 4) is None
    assert needed_text(few) == f"about {few} blocks would show 5.0 %"
    assert needed_text(None) == "no number of blocks would show 5.0 % on nodes like these"


def test_noise_is_told_with_the_smallest_effect_and_the_blocks_that_would_do() -> None:
    text = noise_text(_reading(0.6), 400)
    assert text.startswith("too noisy: less than ")
    assert text.endswith("can't be told from noise in 6 blocks, and about 400 blocks would show 5.0 %")


@pytest.mark.parametrize(
    ("step", "told", "too_much"), [(0.0, False, False), (0.004, False, False), (0.02, True, False), (0.1, True, True)]
)
def test_a_rise_of_base_is_a_drift_from_a_size_on(step: float, told: bool, too_much: bool) -> None:
    drift = drift_of(_series([(step * block, step * block + 0.001) for block in range(6)]))
    assert drift is not None
    assert drift.ratio == pytest.approx(math.exp(5 * step))
    assert (drifted(drift, "told"), drifted(drift, "limit")) == (told, too_much)


def test_a_fall_is_a_drift_too_and_few_blocks_show_none() -> None:
    falling = drift_of(_series([(-0.1 * block, -0.1 * block) for block in range(6)]))
    assert falling is not None
    assert drifted(falling, "limit")
    assert drift_text(falling) == "base itself became 65 % faster from the first block to the last"
    assert drift_of(_series([(0.0, 0.0)] * 3)) is None
    assert not drifted(None, "told")


def test_blocks_of_chance_order_are_no_drift_however_far_apart() -> None:
    assert not drifted(Drift(ratio=1.5, chance=0.2), "told")


def test_nothing_in_doubt_is_no_advice() -> None:
    assert advice_of(Drift(ratio=1.5, chance=0.2), [], 6, noisy=False, blocks=None) == ()


def test_advice_names_what_disturbed_most_often_and_how_often() -> None:
    (one,) = advice_of(None, _blocks("beta: pid 7", "alpha: clock", "beta: pid 7"), 12, noisy=False, blocks=None)
    assert one == "3 blocks left out as disturbed: beta: pid 7 (2x) and 1 other reason."
    (most,) = advice_of(None, _blocks("beta: pid 7"), 2, noisy=False, blocks=None)
    assert most == "1 block left out as disturbed: beta: pid 7 (1x). Mend that first: it disturbs most blocks."


def test_a_run_whose_base_drifts_far_concludes_nothing_and_one_that_drifts_little_does(synthetic, profile) -> None:
    def verdict(step: float):
        run = synthetic(effects={"good": {None: 1.4}}, noise=0.01, drift=0.0).run()
        launches = [
            one.model_copy(update={"cells": tuple(
                cell.model_copy(update={"median_us": cell.median_us * math.exp(step * one.block)}) for cell in one.cells
            )})
            for one in run.launches
        ]  # fmt: skip
        return judge(run.model_copy(update={"launches": tuple(launches)}), profile)

    steady, warm, other = verdict(0.0), verdict(0.02), verdict(0.08)
    assert (steady.choice, steady.conclusive, steady.advice) == ("good", True, ())
    assert (warm.choice, warm.conclusive) == ("good", True)
    assert warm.advice[0].startswith("Base itself became ")
    assert warm.drift is not None
    assert warm.drift.ratio == pytest.approx(math.exp(0.14), rel=0.05)
    assert (other.choice, other.conclusive) == ("base", False)
    assert "these nodes were not the same at the end" in other.reason


def test_too_many_disturbed_blocks_leave_too_few_and_the_verdict_says_why(synthetic, profile) -> None:
    changes = {("base", "search", block): {"disturbed": "beta: the GPU is used by pid 7"} for block in range(4)}
    verdict = judge(synthetic(effects={"good": {None: 1.4}}, changes=changes).run(), profile)
    assert (verdict.choice, verdict.conclusive, verdict.blocks) == ("base", False, 4)
    assert "4 more were disturbed: beta: the GPU is used by pid 7" in verdict.reason
    assert len(verdict.quarantined) == 4
    assert "Mend that first" in verdict.advice[0]


def test_a_disturbance_that_favours_a_candidate_does_not_crown_it(synthetic, profile) -> None:
    """Base slow in half the blocks because somebody used the GPU: those blocks say nothing."""
    run = synthetic(effects={"nil": {}}, noise=0.01, blocks=12, confirm=12).run()

    def slowed(launch):
        if launch.block % 2 or launch.candidate != "base":
            return launch
        cells = tuple(cell.model_copy(update={"median_us": cell.median_us * 1.5}) for cell in launch.cells)
        return launch.model_copy(update={"cells": cells, "disturbed": "alpha: the GPU is used by pid 7"})

    disturbed = run.model_copy(update={"launches": tuple(slowed(one) for one in run.launches)})
    verdict = judge(disturbed, profile)
    assert (verdict.choice, verdict.blocks, verdict.candidates[0].verdict) == ("base", 6, "same")
    unseen = [one.model_copy(update={"disturbed": ""}) for one in disturbed.launches]
    assert judge(disturbed.model_copy(update={"launches": tuple(unseen)}), profile).drift is not None


def test_what_would_do_is_told_in_launches_too() -> None:
    (told,) = advice_of(None, (), 6, noisy=True, blocks=40, per_block=5)
    assert told.endswith("measure more: about 40 blocks would show 5.0 % (200 launches).")
    (nothing,) = advice_of(None, (), 6, noisy=True, blocks=None, per_block=5)
    assert nothing.endswith("measure again: no number of blocks would show 5.0 % on nodes like these.")
