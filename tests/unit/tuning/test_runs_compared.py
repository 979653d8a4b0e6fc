"""Two runs held against each other: the same words as a verdict's, unpaired and saying so."""

from __future__ import annotations

import math

import pytest

from fabricdoc.bench.statistics import unpaired_interval
from fabricdoc.errors import InconclusiveError, InputError
from fabricdoc.tuning import compare_runs

pytestmark = pytest.mark.unit


def _pair(synthetic, ratio: float, **more):  # type: ignore[no-untyped-def]
    """Two runs of base alone beside one candidate; in the second everything is `ratio` times as fast."""
    usual = {"noise": 0.02, "drift": 0.02, "blocks": 8, "confirm": 0} | more
    first = synthetic(seed=1, **usual).run()
    spec = synthetic(seed=2, **usual)
    spec.true_us = {key: value / ratio for key, value in spec.true_us.items()}
    return first, spec.run().model_copy(update={"id": "run-2"})


@pytest.mark.parametrize(("ratio", "verdict"), [(1.0, "same"), (1.3, "better"), (0.75, "worse")])
def test_every_cell_that_both_have_is_judged_second_against_first(synthetic, ratio: float, verdict: str) -> None:
    got = compare_runs(*_pair(synthetic, ratio))
    assert (got.first, got.second, got.candidate, got.paired) == ("run-1", "run-2", "base", False)
    assert len(got.cells) == 5
    assert {cell.verdict for cell in got.cells} == {verdict}
    for cell in got.cells:
        assert cell.interval.ratio == pytest.approx(ratio, rel=0.06)
        assert cell.interval.method == "welch-t"
        assert cell.first_us / cell.second_us == pytest.approx(ratio, rel=0.08)
        assert (cell.first_blocks, cell.second_blocks) == (8, 8)


def test_it_says_that_nothing_is_paired_and_what_else_differs(synthetic) -> None:
    first, second = _pair(synthetic, 1.0)
    assert "nothing is paired" in compare_runs(first, second).note
    assert compare_runs(first, second).differences == ()
    nodes = tuple(node.model_copy(update={"kernel": "6.2"}) for node in second.nodes)
    assert compare_runs(first, second.model_copy(update={"nodes": nodes})).differences == (
        "kernel of alpha: 6.1 and 6.2", "kernel of beta: 6.1 and 6.2",
    )  # fmt: skip


def test_the_interval_is_welch_s_on_block_means_corrected_for_the_cells(synthetic) -> None:
    first, second = _pair(synthetic, 1.0, blocks=3)
    cell = next(one for one in compare_runs(first, second).cells if one.size == 20480)

    def means(run):  # type: ignore[no-untyped-def]
        logs = [[math.log(c.median_us) for x in run.launches if x.candidate == "base" and x.block == block
                 for c in x.cells if c.size == 20480] for block in range(3)]  # fmt: skip
        return [sum(block) / 2 for block in logs]

    assert cell.interval == unpaired_interval(means(first), means(second), comparisons=5)
    assert cell.verdict == "inconclusive"


def test_disturbed_blocks_failed_launches_and_proofs_are_left_out(synthetic) -> None:
    first, second = _pair(synthetic, 1.0)
    launches = [
        one.model_copy(
            update={0: {"disturbed": "x"}, 1: {"status": "failed"}, 2: {"round": "proof"}}.get(one.block, {})
        )
        for one in first.launches
    ]
    got = compare_runs(first.model_copy(update={"launches": tuple(launches)}), second)
    assert {cell.first_blocks for cell in got.cells} == {5}


def test_another_candidate_may_be_compared_and_an_unknown_one_is_refused(synthetic) -> None:
    first, second = _pair(synthetic, 1.0)
    assert compare_runs(first, second, candidate="one").candidate == "one"
    with pytest.raises(InputError, match="run run-1 has no candidate 'two'") as error:
        compare_runs(first, second, candidate="two")
    assert error.value.fix == "it has: base, one"


def test_cells_of_one_run_alone_are_counted_and_none_in_common_is_inconclusive(synthetic) -> None:
    first, second = _pair(synthetic, 1.0)
    cut = [one.model_copy(update={"cells": one.cells[:2]}) for one in second.launches]
    got = compare_runs(first, second.model_copy(update={"launches": tuple(cut)}))
    assert (len(got.cells), got.only_first, got.only_second) == (2, 3, 0)
    with pytest.raises(InconclusiveError, match="no cell of base in common"):
        compare_runs(first, second.model_copy(update={"launches": ()}))


@pytest.mark.long
def test_runs_without_an_effect_are_rarely_called_different(synthetic) -> None:
    called = 0
    for seed in range(40):
        first = synthetic(seed=seed, noise=0.04, drift=0.0, blocks=6, confirm=0).run()
        second = synthetic(seed=seed + 1000, noise=0.04, drift=0.0, blocks=6, confirm=0).run()
        called += any(cell.verdict in ("better", "worse") for cell in compare_runs(first, second).cells)
    assert called <= 4
