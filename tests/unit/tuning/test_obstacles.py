"""What keeps a run from being judged is told as what it is: no candidate left is no lack of blocks."""

from __future__ import annotations

import math
import random

import pytest

from fabricdoc.model.run import Run, Shape
from fabricdoc.model.verdict import CandidateVerdict, Judgement
from fabricdoc.tuning.obstacles import MOST_NAMES, nobody_left
from fabricdoc.tuning.verdict import judge

pytestmark = pytest.mark.unit

BROKEN = {"status": "failed", "phase": "init", "rank": 0, "reason": "loopback", "cells": ()}


def _fell(name: str, how: Judgement) -> CandidateVerdict:
    return CandidateVerdict(name=name, verdict=how, reason="")


def test_with_every_candidate_gone_before_a_block_was_complete_that_is_the_reason(synthetic, profile) -> None:
    run = synthetic(blocks=0, confirm=0, effects={"one": {}, "two": {}}).run()
    launches = synthetic(blocks=1, confirm=0, effects={"one": {}, "two": {}}).run().launches
    proofs = tuple(
        one.model_copy(update={"round": "proof", "block": 0, **(BROKEN if one.candidate != "base" else {})})
        for one in launches
    )
    planned = tuple(
        Shape(op=op, size=size)
        for op, size in (("all_reduce", 20480), ("all_reduce", 2621440), ("all_gather", 64000), ("all_gather", 256000))
    )
    plan = run.plan.model_copy(update={"shapes": planned, "blocks": 6})
    verdict = judge(run.model_copy(update={"launches": proofs, "plan": plan}), profile)
    assert verdict.reason == "No candidate is left to compare with base: one, two failed."
    assert (verdict.conclusive, verdict.blocks) == (False, 0)
    assert verdict.advice == (), "the sizes were asked for: asking again would say nothing new"
    assert all("in phase init on rank 0: loopback" in one.reason for one in verdict.candidates)


def test_how_they_fell_out_is_told_and_many_names_are_few() -> None:
    both = [_fell("a", "failed"), _fell("b", "incorrect"), _fell("c", "failed")]
    assert nobody_left(both) == "No candidate is left to compare with base: a, c failed; b gave wrong results."
    many = nobody_left([_fell(f"c{number}", "failed") for number in range(MOST_NAMES + 3)])
    assert many.endswith("c5 and 3 more failed.")


@pytest.mark.parametrize("left", ["same", "inconclusive", "ineffective", "better"])
def test_one_that_is_left_is_not_nobody(left: Judgement) -> None:
    assert nobody_left([_fell("a", "failed"), _fell("b", left)]) == ""
    assert nobody_left([]) == ""


@pytest.mark.parametrize(
    ("blocks", "said"),
    [
        (0, "No block is complete: at least 6 are needed."),
        (1, "Only 1 complete block: at least 6 are needed."),
        (3, "Only 3 complete blocks: at least 6 are needed."),
    ],
)
def test_too_few_blocks_are_counted(synthetic, profile, blocks: int, said: str) -> None:
    assert judge(synthetic(blocks=blocks, confirm=0).run(), profile).reason == said


def test_what_ended_the_run_is_told_with_the_blocks(synthetic, profile) -> None:
    run = synthetic(blocks=2, confirm=0).run().model_copy(update={"reason": "the time budget of 9 s left no room"})
    assert "(the time budget of 9 s left no room): at least 6" in judge(run, profile).reason


def test_base_that_failed_comes_before_candidates_that_did(synthetic, profile) -> None:
    changes = {(name, "search", 0): BROKEN for name in ("base", "one")}
    assert judge(synthetic(blocks=1, confirm=0, changes=changes).run(), profile).reason.startswith("Base itself failed")


def _decode_noise(run: Run) -> Run:
    """The same run with what decode steps send lost in noise."""
    chance = random.Random(5)
    launches = []
    for launch in run.launches:
        away = math.exp(chance.gauss(0.0, 1.0))
        cells = [
            one.model_copy(update={"median_us": one.median_us * away}) if one.size in (20480, 256000) else one
            for one in launch.cells
        ]
        launches.append(launch.model_copy(update={"cells": tuple(cells)}))
    return run.model_copy(update={"launches": tuple(launches)})


def test_what_noise_hides_of_a_winner_in_the_other_stage_is_told_and_no_cell_of_it_is_the_same(
    synthetic, profile
) -> None:
    run = _decode_noise(synthetic(effects={"wide": {None: 1.3}, "still": {}}, noise=0.01).run())
    verdict = judge(run, profile, "mix")
    assert (verdict.choice, verdict.conclusive) == ("wide", True)
    assert verdict.advice[0].startswith("What wide does per decode step could not be told: less than ")
    assert not any("End other work" in one for one in verdict.advice), "the winner was seen through it"
    wide = next(one for one in verdict.candidates if one.name == "wide")
    assert {one.verdict for one in wide.cells if one.size == 20480} == {"inconclusive"}
    assert {one.verdict for one in wide.cells if one.size == 2621440} == {"better"}


def test_of_a_winner_that_was_seen_everywhere_nothing_is_hidden(synthetic, profile) -> None:
    verdict = judge(synthetic(effects={"wide": {None: 1.3}}, noise=0.01).run(), profile, "mix")
    assert verdict.choice == "wide"
    assert verdict.advice == ()
