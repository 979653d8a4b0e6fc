"""Only launches that ended well are paired, and only in blocks where base did so twice."""

from __future__ import annotations

import math

import pytest

from fabricdoc.tuning.blocks import CONFIRMED, SEARCHED, CellKey, blocks_of, log_times, measured_by_base, quarantined

pytestmark = pytest.mark.unit

CELL = CellKey("eager", "all_reduce", 20480)


def test_a_block_pairs_base_twice_with_every_candidate(synthetic) -> None:
    run = synthetic(effects={"one": {}, "two": {}}, blocks=3).run()
    blocks = blocks_of(run, SEARCHED, "base")
    assert len(blocks) == 3
    for number, block in enumerate(blocks):
        launches = [one for one in run.launches if one.round == "search" and one.block == number]
        bases = sorted((one.position, one) for one in launches if one.candidate == "base")
        assert block.base == (log_times(bases[0][1]), log_times(bases[1][1]))
        assert set(block.others) == {"one", "two"}


def test_rounds_are_kept_apart_though_their_blocks_share_numbers(synthetic) -> None:
    run = synthetic(blocks=3, confirm=2).run()
    assert len(blocks_of(run, SEARCHED, "base")) == 3
    assert len(blocks_of(run, CONFIRMED, "base")) == 2


@pytest.mark.parametrize("status", ["failed", "timeout", "interrupted", "incorrect"])
def test_a_block_whose_base_did_not_end_well_is_left_out(synthetic, status: str) -> None:
    run = synthetic(blocks=3, changes={("base", "search", 1): {"status": status}}).run()
    assert len(blocks_of(run, SEARCHED, "base")) == 2


def test_a_candidate_that_did_not_end_well_is_left_out_of_its_block_alone(synthetic) -> None:
    run = synthetic(
        effects={"one": {}, "two": {}}, blocks=2, changes={("one", "search", 0): {"status": "interrupted"}}
    ).run()
    first, second = blocks_of(run, SEARCHED, "base")
    assert (set(first.others), set(second.others)) == ({"two"}, {"one", "two"})


def test_the_order_of_base_is_the_order_it_ran_in(synthetic) -> None:
    run = synthetic(blocks=1, noise=0.3).run()
    backwards = run.model_copy(update={"launches": tuple(reversed(run.launches))})
    assert blocks_of(run, SEARCHED, "base") == blocks_of(backwards, SEARCHED, "base")


def test_times_are_logarithms_of_medians_and_nonsense_is_dropped(synthetic) -> None:
    launch = synthetic(blocks=1).run().launches[0]
    good, *rest = launch.cells
    nonsense = zip(rest, (0.0, -1.0, math.inf, math.nan), strict=True)
    cells = (good, *(cell.model_copy(update={"median_us": bad}) for cell, bad in nonsense))
    times = log_times(launch.model_copy(update={"cells": cells}))
    assert times == {CellKey(good.view, good.op, good.size): math.log(good.median_us)}


def test_cells_of_one_key_are_averaged_as_logarithms(synthetic) -> None:
    launch = synthetic(blocks=1).run().launches[0]
    cell = launch.cells[0]
    pair = tuple(cell.model_copy(update={"median_us": micros}) for micros in (10.0, 40.0))
    (log,) = log_times(launch.model_copy(update={"cells": pair})).values()
    assert math.exp(log) == pytest.approx(20.0)


def test_measured_cells_are_those_of_base(synthetic) -> None:
    spec = synthetic(blocks=2)
    assert measured_by_base(blocks_of(spec.run(), SEARCHED, "base")) == tuple(
        CellKey(*key) for key in sorted(spec.true_us)
    )
    assert measured_by_base(()) == ()


def test_types_and_places_are_cells_of_their_own(synthetic) -> None:
    launch = synthetic(blocks=1).run().launches[0]
    one = launch.cells[0]
    others = [one.model_copy(update=change) for change in ({"dtype": "float32"}, {"in_place": False})]
    keys = set(log_times(launch.model_copy(update={"cells": (one, *others)})))
    assert {(key.dtype, key.in_place) for key in keys} == {("bfloat16", True), ("float32", True), ("bfloat16", False)}


@pytest.mark.parametrize("who", ["base", "one"])
def test_a_disturbed_block_is_left_out_whole_and_told(synthetic, who: str) -> None:
    run = synthetic(blocks=4, confirm=2, changes={(who, "search", 1): {"disturbed": "beta: SM clock"}}).run()
    assert len(blocks_of(run, SEARCHED, "base")) == 3
    assert len(blocks_of(run, CONFIRMED, "base")) == 2
    assert [(one.round, one.block, one.reason) for one in quarantined(run)] == [("search", 1, "beta: SM clock")]


def test_the_blocks_in_which_winners_were_combined_are_searched_too(synthetic) -> None:
    run = synthetic(blocks=3, confirm=2).run()
    combined = [
        one.model_copy(update={"round": "combine", "block": one.block + 10}) if one.round == "confirm" else one
        for one in run.launches
    ]
    run = run.model_copy(update={"launches": tuple(combined)})
    assert (len(blocks_of(run, SEARCHED, "base")), len(blocks_of(run, CONFIRMED, "base"))) == (5, 0)
