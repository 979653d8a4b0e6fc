"""What a gate holds a new launch against: medians of good launches of the chosen set, and nothing else."""

from __future__ import annotations

from statistics import median

import pytest

from fabricdoc.model.preset import Latency
from fabricdoc.model.run import Run
from fabricdoc.tuning import build_preset, judge
from fabricdoc.tuning.latencies import latencies_of

pytestmark = pytest.mark.unit

DECODE = ("eager", "all_reduce", 20480)


def of(run: Run, candidate: str) -> Latency:
    (found,) = [one for one in latencies_of(run, candidate) if (one.view, one.op, one.size) == DECODE]
    return found


def medians(run: Run, candidate: str) -> list[float]:
    return [
        cell.median_us
        for launch in run.launches
        if launch.candidate == candidate and launch.status == "ok" and launch.round != "proof" and not launch.disturbed
        for cell in launch.cells
        if (cell.view, cell.op, cell.size) == DECODE
    ]


def changed(run: Run, number: int, **fields: object) -> Run:
    launches = tuple(one.model_copy(update=fields) if at == number else one for at, one in enumerate(run.launches))
    return run.model_copy(update={"launches": launches})


def test_lowest_middle_and_highest_of_all_launches_of_the_set(synthetic) -> None:
    run = synthetic(noise=0.02).run()
    seen, told = medians(run, "one"), of(run, "one")
    assert len(seen) == told.launches > 5
    assert (told.low_us, told.median_us, told.high_us) == tuple(
        round(one, 3) for one in (min(seen), median(seen), max(seen))
    )
    assert of(run, "base").launches == 2 * told.launches, "base is in every block twice"


@pytest.mark.parametrize(
    "fields", [{"status": "failed"}, {"status": "incorrect"}, {"disturbed": "a load"}, {"round": "proof"}]
)
def test_a_launch_that_does_not_count_is_left_out(synthetic, fields: dict[str, object]) -> None:
    run = synthetic(noise=0.02).run()
    number = next(at for at, one in enumerate(run.launches) if one.candidate == "one")
    assert of(changed(run, number, **fields), "one").launches == of(run, "one").launches - 1


def test_a_cell_that_was_wrong_is_left_out(synthetic) -> None:
    run = synthetic().run()
    number = next(at for at, one in enumerate(run.launches) if one.candidate == "one")
    cells = tuple(cell.model_copy(update={"correct": False}) for cell in run.launches[number].cells)
    assert of(changed(run, number, cells=cells), "one").launches == of(run, "one").launches - 1


def test_a_set_without_launches_has_none(synthetic) -> None:
    assert latencies_of(synthetic().run(), "no-such") == ()


@pytest.mark.parametrize(("effect", "source"), [(1.0, "base"), (1.5, "one")])
def test_a_preset_carries_those_of_the_variables_it_holds(synthetic, profile, effect: float, source: str) -> None:
    run = synthetic(effects={"one": {None: effect}}, noise=0.01).run()
    preset = build_preset(run, judge(run, profile), None)
    assert preset.choice == source
    assert preset.latencies == latencies_of(run, source) != ()
    assert preset.ranks_per_node == max(rank.local_rank for rank in run.plan.ranks) + 1
