"""What a choice costs is told in whole sentences, worst first, and only what was measured as a loss."""

from __future__ import annotations

import pytest

from fabricdoc.model.verdict import CellVerdict, Interval
from fabricdoc.tuning.between import Call
from fabricdoc.tuning.blocks import CellKey
from fabricdoc.tuning.comparing import Reading
from fabricdoc.tuning.stage import StageRecipe, Step
from fabricdoc.tuning.trade import SHOWN_CELLS, beyond_of, trade_of
from fabricdoc.tuning.weighing import Weighed

pytestmark = pytest.mark.unit

USED = (Step(1, (Call(1, ((CellKey("eager", "all_reduce", 8), 1.0),)),)),)
RECIPES = {
    "decode": StageRecipe("decode", USED, beyond=("all_reduce 1 KiB was not measured",)),
    "prefill": StageRecipe("prefill", USED, beyond=("all_reduce 40 MiB was not measured",)),
}


def _interval(ratio: float) -> Interval:
    return Interval(ratio=ratio, low=ratio * 0.98, high=ratio * 1.02, blocks=8)


def _cell(size: int, ratio: float, verdict: str = "worse", phase: str = "grid") -> CellVerdict:
    return CellVerdict(
        view="eager", op="all_reduce", size=size, phase=phase, base_us=100.0, candidate_us=100.0 / ratio,
        interval=_interval(ratio), floor=0.02, verdict=verdict,
    )  # fmt: skip


def _weighed(cells: tuple[CellVerdict, ...] = (), prefill: str = "same") -> Weighed:
    reading = Reading(_interval(0.8), 0.02, prefill, 100.0, 125.0)  # type: ignore[arg-type]
    return Weighed("one", 8, {"prefill": reading}, cells, ())


def test_nothing_lost_is_no_sentence() -> None:
    assert trade_of(_weighed((_cell(8, 1.2, "better"), _cell(16, 0.99, "same"))), "decode", RECIPES) == ()


def test_the_stage_the_objective_leaves_out_is_told_when_it_is_worse() -> None:
    (sentence,) = trade_of(_weighed(prefill="worse"), "decode", RECIPES)
    assert sentence == "one costs per prefill chunk: 25 % slower (95 % interval 23 % to 28 % slower, 8 blocks)."
    assert trade_of(_weighed(prefill="worse"), "prefill", RECIPES) == ()
    assert trade_of(_weighed(prefill="worse"), "mix", RECIPES) == ()


def test_cells_are_told_worst_first_with_their_place() -> None:
    first, second = trade_of(_weighed((_cell(8, 0.9), _cell(20480, 0.7, phase="prefill"))), "mix", RECIPES)
    assert first.startswith("one loses at prefill: all_reduce 20 KiB (eager) takes 140 µs against 100 µs of base")
    assert second.startswith("one loses at a size outside the profile: all_reduce 8 B")


@pytest.mark.parametrize(("losses", "last"), [(4, "1 more measured size."), (9, "6 more measured sizes.")])
def test_more_than_three_are_counted(losses: int, last: str) -> None:
    sentences = trade_of(_weighed(tuple(_cell(8 << step, 0.5) for step in range(losses))), "mix", RECIPES)
    assert len(sentences) == SHOWN_CELLS + 1
    assert sentences[-1] == f"one loses at {last}"


def test_sizes_beyond_the_measured_are_told_for_the_weighed_stages_alone() -> None:
    assert beyond_of("decode", RECIPES) == ("all_reduce 1 KiB was not measured.",)
    assert len(beyond_of("mix", RECIPES)) == 2
