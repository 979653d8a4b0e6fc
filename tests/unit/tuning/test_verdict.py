"""Verdicts held against the truth of synthetic runs: rarely a false winner, a real one found, every loss named."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricdoc.errors import InputError
from fabricdoc.model.run import Candidate, Choice, Proof
from fabricdoc.model.verdict import Verdict
from fabricdoc.serving import load_profile
from fabricdoc.tuning import judge

pytestmark = pytest.mark.unit

DECODE = ("eager", "all_reduce", 20480)
PREFILL = ("eager", "all_reduce", 2621440)
LOGITS = ("eager", "all_gather", 256000)
TINY = ("eager", "all_reduce", 8)


def _of(verdict: Verdict, name: str):
    return next(one for one in verdict.candidates if one.name == name)


@pytest.mark.long
def test_without_an_effect_hardly_anything_is_called_better(synthetic, profile) -> None:
    """60 runs of four candidates that are all base: at most 5 % may show a winner, even before confirmation."""
    winners = {"decode": 0, "mix": 0}
    choices = 0
    for seed in range(60):
        run = synthetic(effects={name: {} for name in "abcd"}, seed=seed, blocks=6, confirm=6).run()
        for objective in winners:
            verdict = judge(run, profile, objective)
            winners[objective] += any(one.verdict == "better" or one.confirmed is False for one in verdict.candidates)
            choices += verdict.choice != "base"
    assert max(winners.values()) <= 5
    assert choices == 0


@pytest.mark.long
@pytest.mark.parametrize("objective", ["decode", "prefill", "mix"])
def test_a_quarter_faster_is_found_through_five_per_cent_noise(synthetic, profile, objective) -> None:
    found = 0
    for seed in range(20):
        run = synthetic(effects={"good": {None: 1.25}, "nil": {}, "bad": {None: 0.8}}, seed=seed).run()
        verdict = judge(run, profile, objective)
        found += verdict.choice == "good"
        assert verdict.choice in ("good", "base")
        assert _of(verdict, "bad").verdict in ("worse", "same")
    assert found >= 17


def test_a_small_effect_is_found_where_the_noise_is_small(synthetic, profile) -> None:
    verdict = judge(synthetic(effects={"good": {None: 1.04}}, noise=0.005).run(), profile)
    assert verdict.choice == "good"
    assert verdict.smallest_effect < 0.04


@pytest.mark.long
def test_the_true_ratio_lies_in_the_interval(synthetic, profile) -> None:
    held = 0
    for seed in range(40):
        score = _of(judge(synthetic(effects={"good": {None: 1.25}}, seed=seed).run(), profile), "good").score
        held += score.low <= 1.25 <= score.high
    assert held >= 35


def test_a_winner_says_by_how_much_where_and_that_it_won_again(synthetic, profile) -> None:
    verdict = judge(synthetic(effects={"good": {None: 1.25}}, noise=0.001, drift=0.0).run(), profile)
    good = _of(verdict, "good")
    assert (verdict.choice, verdict.conclusive, verdict.blocks) == ("good", True, 8)
    assert (good.verdict, good.confirmed, good.confirmation.blocks) == ("better", True, 8)
    assert good.reason.startswith("25 % faster (95 % interval 25 % to 25 % faster, 8 blocks)")
    assert "per decode step; again in fresh blocks: 2" in good.reason
    assert verdict.reason == f"Use good: {good.reason}"
    assert verdict.trade == ()


def test_a_loss_at_prefill_is_named_under_mix_and_traded_under_decode(synthetic, profile) -> None:
    run = synthetic(effects={"one": {None: 1.3, PREFILL: 0.8}}, noise=0.001, drift=0.0).run()
    mixed = judge(run, profile, "mix")
    assert (mixed.choice, _of(mixed, "one").verdict) == ("base", "worse")
    assert "faster (95 % interval" in _of(mixed, "one").reason
    assert "but loses at prefill: 2" in _of(mixed, "one").reason
    assert "all_reduce 2.5 MiB (eager) takes 3.8 ms against 3.0 ms of base" in _of(mixed, "one").reason
    decode = judge(run, profile, "decode")
    assert decode.choice == "one"
    assert decode.trade[0].startswith("one costs per prefill chunk: 2")
    assert "one loses at prefill: all_reduce 2.5 MiB (eager)" in decode.trade[1]
    assert judge(run, profile, "prefill").choice == "base"


def test_a_loss_at_decode_is_named_the_same_way(synthetic, profile) -> None:
    run = synthetic(effects={"one": {None: 0.8, PREFILL: 1.3}}, noise=0.02).run()
    reason = _of(judge(run, profile, "mix"), "one").reason
    assert "per prefill chunk, but loses at decode: 2" in reason
    assert judge(run, profile, "prefill").choice == "one"


def test_one_size_of_the_profile_that_loses_keeps_a_winner_from_being_better(synthetic, profile) -> None:
    run = synthetic(effects={"one": {None: 1.3, LOGITS: 0.7}}, noise=0.02).run()
    one = _of(judge(run, profile, "mix"), "one")
    assert (one.verdict, judge(run, profile, "mix").choice) == ("same", "base")
    assert "but loses at decode: all_gather 250 KiB (eager) takes" in one.reason
    assert judge(run, profile, "decode").choice == "one"


def test_a_loss_without_a_gain_is_worse(synthetic, profile) -> None:
    one = _of(judge(synthetic(effects={"one": {LOGITS: 0.5}}, noise=0.01).run(), profile, "mix"), "one")
    assert one.verdict == "worse"
    assert "all_gather 250 KiB" in one.reason


def test_a_gain_at_prefill_alone_is_better_under_mix(synthetic, profile) -> None:
    verdict = judge(synthetic(effects={"one": {PREFILL: 1.3}}, noise=0.02).run(), profile, "mix")
    assert verdict.choice == "one"
    assert "per prefill chunk" in verdict.reason
    assert _of(verdict, "one").score.ratio == pytest.approx(1.3, rel=0.05)


def test_a_loss_outside_the_profile_is_traded_and_told(synthetic, profile) -> None:
    verdict = judge(synthetic(effects={"one": {None: 1.3, TINY: 0.5}}, noise=0.001, drift=0.0).run(), profile, "mix")
    assert verdict.choice == "one"
    (sentence,) = verdict.trade
    assert sentence.startswith("one loses at a size outside the profile: all_reduce 8 B (eager) takes 80 µs against")


def test_many_losses_are_told_worst_first_and_then_counted(synthetic, profile) -> None:
    grid = {("eager", "all_reduce", 8 << step): 40.0 for step in range(5)}
    true = {**grid, DECODE: 80.0, PREFILL: 3000.0, ("eager", "all_gather", 64000): 60.0, LOGITS: 150.0}
    losses = {key: 0.5 + 0.05 * step for step, key in enumerate(grid)}
    verdict = judge(synthetic(effects={"one": {None: 1.3, **losses}}, noise=0.01, true_us=true).run(), profile)
    assert [sentence.split(" (")[0] for sentence in verdict.trade] == [
        "one loses at a size outside the profile: all_reduce 8 B",
        "one loses at a size outside the profile: all_reduce 16 B",
        "one loses at a size outside the profile: all_reduce 32 B",
        "one loses at 2 more measured sizes.",
    ]


def test_the_best_confirmed_candidate_is_chosen(synthetic, profile) -> None:
    verdict = judge(synthetic(effects={"good": {None: 1.2}, "best": {None: 1.5}}, noise=0.02).run(), profile)
    assert verdict.choice == "best"
    assert {one.verdict for one in verdict.candidates} == {"better"}


def test_decode_comes_before_prefill_under_mix(synthetic, profile) -> None:
    effects = {"prefill": {PREFILL: 1.5}, "decode": {DECODE: 1.2}}
    assert judge(synthetic(effects=effects, noise=0.02).run(), profile, "mix").choice == "decode"


def _in_fresh_blocks(run, factors):
    """The run with candidate "one" taking `factors` times as long in the confirm round, by cell (None: all others)."""

    def touched(launch):
        if launch.round != "confirm" or launch.candidate != "one":
            return launch
        by_cell = [factors.get((cell.view, cell.op, cell.size), factors[None]) for cell in launch.cells]
        cells = [cell.model_copy(update={"median_us": cell.median_us * factor})
                 for cell, factor in zip(launch.cells, by_cell, strict=True)]  # fmt: skip
        return launch.model_copy(update={"cells": tuple(cells)})

    return run.model_copy(update={"launches": tuple(map(touched, run.launches))})


def test_who_does_not_win_again_is_same_and_not_chosen(synthetic, profile) -> None:
    run = _in_fresh_blocks(synthetic(effects={"one": {None: 1.25}}, noise=0.02).run(), {None: 1.25})
    verdict = judge(run, profile)
    one = _of(verdict, "one")
    assert (verdict.choice, verdict.conclusive, one.verdict, one.confirmed) == ("base", True, "same", False)
    assert one.reason.startswith("Won once, not again (fresh blocks: ")


def test_winning_elsewhere_the_second_time_is_not_winning_again(synthetic, profile) -> None:
    spec = synthetic(effects={"one": {DECODE: 1.3, LOGITS: 1.3}}, noise=0.02)
    run = _in_fresh_blocks(spec.run(), {DECODE: 1.3, LOGITS: 1.3, PREFILL: 0.7, None: 1.0})
    verdict = judge(run, profile, "mix")
    assert (verdict.choice, _of(verdict, "one").confirmed) == ("base", False)


@pytest.mark.parametrize("confirm", [0, 5])
def test_a_winner_without_six_fresh_blocks_waits(synthetic, profile, confirm: int) -> None:
    verdict = judge(synthetic(effects={"one": {None: 1.3}}, noise=0.02, confirm=confirm).run(), profile)
    one = _of(verdict, "one")
    assert (verdict.choice, verdict.conclusive, one.verdict, one.confirmed) == ("base", True, "better", None)
    assert one.reason.endswith(f"not confirmed: {confirm} of 6 fresh blocks were measured.")
    assert verdict.reason == "Keep base for now: one won once but was not confirmed in 6 fresh blocks."


def test_a_candidate_that_fails_in_the_fresh_blocks_is_failed(synthetic, profile) -> None:
    changes = {("one", "confirm", 7): {"status": "timeout", "phase": "measure", "rank": 0, "cells": ()}}
    verdict = judge(synthetic(effects={"one": {None: 1.3}}, noise=0.02, changes=changes).run(), profile)
    assert (verdict.choice, _of(verdict, "one").verdict) == ("base", "failed")
    assert _of(verdict, "one").reason == "1 of 16 launches failed: timed out in phase measure on rank 0."


@pytest.mark.parametrize(("blocks", "want"), [(4, "inconclusive"), (5, "inconclusive"), (6, "better")])
def test_fewer_than_six_blocks_call_nothing(synthetic, profile, blocks: int, want: str) -> None:
    run = synthetic(effects={"one": {None: 2.0}}, noise=0.01, blocks=blocks, confirm=6).run()
    verdict = judge(run, profile)
    assert (_of(verdict, "one").verdict, verdict.conclusive) == (want, blocks >= 5)
    assert (verdict.choice == "one") == (blocks >= 6)
    if blocks < 5:
        assert verdict.reason == "Only 4 complete blocks: at least 6 are needed."
        assert {cell.verdict for cell in _of(verdict, "one").cells} == {"inconclusive"}


@pytest.mark.parametrize("blocks", [0, 1, 2])
def test_almost_nothing_measured_is_still_a_verdict_that_can_be_stored(synthetic, profile, blocks: int) -> None:
    verdict = judge(synthetic(blocks=blocks, confirm=0).run(), profile)
    assert (verdict.conclusive, verdict.choice, verdict.blocks) == (False, "base", blocks)
    assert verdict.smallest_effect == 0.0, "nothing could have been called, whatever its size"
    assert Verdict.model_validate_json(verdict.model_dump_json()) == verdict


def test_when_every_candidate_failed_no_effect_is_promised(synthetic, profile) -> None:
    changes = {("one", "search", 0): {"status": "failed", "phase": "init", "cells": ()}}
    verdict = judge(synthetic(changes=changes).run(), profile)
    assert (verdict.conclusive, verdict.smallest_effect) == (True, 0.0)
    assert verdict.reason == "Keep base: none of 1 candidate was better."


def test_a_candidate_dropped_after_three_blocks_is_inconclusive(synthetic, profile) -> None:
    changes = {("one", "search", block): {"status": "interrupted", "cells": ()} for block in range(3, 8)}
    verdict = judge(synthetic(effects={"one": {None: 0.5}, "two": {}}, changes=changes).run(), profile)
    one = _of(verdict, "one")
    assert (one.verdict, one.reason) == ("inconclusive", "3 of at least 6 paired blocks were measured.")
    assert verdict.conclusive


def test_a_candidate_never_launched_is_inconclusive(synthetic, profile) -> None:
    run = synthetic().run()
    plan = run.plan.model_copy(update={"candidates": (*run.plan.candidates, Candidate(name="late"))})
    assert _of(judge(run.model_copy(update={"plan": plan}), profile), "late").verdict == "inconclusive"


def test_base_that_failed_leaves_nothing_to_say(synthetic, profile) -> None:
    broken = {"status": "failed", "phase": "init", "rank": 1, "reason": "no socket", "cells": ()}
    changes = {("base", "search", block): broken for block in range(8)}
    verdict = judge(synthetic(effects={"one": {None: 1.3}}, changes=changes).run(), profile)
    assert (verdict.conclusive, verdict.choice) == (False, "base")
    assert verdict.reason == "Base itself failed: 8 of 32 launches failed: in phase init on rank 1: no socket."


def test_base_that_failed_once_is_told_but_decides_nothing(synthetic, profile) -> None:
    changes = {("base", "search", 0): {"status": "failed", "phase": "init", "cells": ()}}
    verdict = judge(synthetic(effects={"one": {None: 1.3}}, noise=0.02, changes=changes).run(), profile)
    assert (verdict.conclusive, verdict.choice, verdict.blocks) == (True, "one", 7)
    assert any("Base itself failed now and then: 1 of 32 launches" in sentence for sentence in verdict.trade)


def test_base_with_wrong_results_stops_everything(synthetic, profile) -> None:
    changes = {("base", "search", 0): {"status": "incorrect", "reason": "rank 0 differs"}}
    verdict = judge(synthetic(effects={"one": {None: 1.3}}, noise=0.02, changes=changes).run(), profile)
    assert (verdict.conclusive, verdict.choice) == (False, "base")
    assert "Base itself gives wrong results" in verdict.reason


def test_a_run_without_base_is_refused(synthetic, profile) -> None:
    run = synthetic().run()
    plan = run.plan.model_copy(update={"candidates": run.plan.candidates[1:]})
    with pytest.raises(InputError, match="has no base"):
        judge(run.model_copy(update={"plan": plan}), profile)


@pytest.mark.parametrize("role", ["current", "default"])
def test_default_and_current_are_judged_but_never_chosen(synthetic, profile, role: str) -> None:
    candidates = (Candidate(name=role, role=role, on_base=False),)
    verdict = judge(synthetic(effects={role: {None: 1.3}}, candidates=candidates, noise=0.02).run(), profile)
    one = _of(verdict, role)
    assert (verdict.choice, one.verdict, one.confirmed) == ("base", "better", None)
    assert one.reason.split(":")[0] == {"current": "Your current settings against base",
                                        "default": "Bare defaults against base"}[role]  # fmt: skip
    assert "faster" in one.reason
    assert one.reason in verdict.trade[0]


def test_current_settings_that_are_slower_say_by_how_much(synthetic, profile) -> None:
    candidates = (Candidate(name="current", role="current", on_base=False),)
    run = synthetic(effects={"current": {None: 0.8}}, candidates=candidates, noise=0.01).run()
    reason = _of(judge(run, profile, "decode"), "current").reason
    assert reason.startswith("Your current settings against base: 2")
    assert "% slower (95 % interval" in reason


def test_an_ineffective_candidate_can_not_win(synthetic, profile) -> None:
    proof = Proof(
        grade="seen", version="2.28.9", network="Socket", gpu_direct=False,
        choices=(Choice(op="AllReduce", size=20480, algorithm="RING", protocol="LL", channels=1),),
    )  # fmt: skip
    candidates = (Candidate(name="tree", targets=("algorithm",)),)
    spec = synthetic(
        effects={"tree": {None: 1.3}}, candidates=candidates, noise=0.02, proofs={"tree": proof, "base": proof}
    )
    verdict = judge(spec.run(), profile)
    tree = _of(verdict, "tree")
    assert (verdict.choice, tree.verdict, tree.proof) == ("base", "ineffective", "seen")
    assert tree.reason == "The log shows no change: algorithm is as with base at all 1 shapes."


def test_dead_candidates_do_not_widen_the_intervals_of_the_living(synthetic, profile) -> None:
    def width(names: str, dead: str) -> float:
        changes = {(name, "search", 0): {"status": "failed"} for name in dead}
        spec = synthetic(effects={name: {} for name in names}, noise=0.02, changes=changes)
        verdict = judge(spec.run(), profile)
        (alive,) = (one for one in verdict.candidates if one.name == "a")
        return alive.score.high / alive.score.low

    assert width("abc", dead="bc") < width("abc", dead="")


def test_cells_are_all_there_with_their_phase(synthetic, profile) -> None:
    one = _of(judge(synthetic(noise=0.01).run(), profile), "one")
    assert {(cell.op, cell.size): cell.phase for cell in one.cells} == {
        ("all_reduce", 8): "grid", ("all_reduce", 20480): "decode", ("all_reduce", 2621440): "prefill",
        ("all_gather", 64000): "prefill", ("all_gather", 256000): "decode",
    }  # fmt: skip
    decode = next(cell for cell in one.cells if cell.size == 20480)
    assert decode.base_us == pytest.approx(80.0, rel=0.15)
    assert decode.interval.blocks == 8
    assert decode.floor > 0


def test_keeping_base_says_what_would_have_been_called(synthetic, profile) -> None:
    verdict = judge(synthetic(effects={name: {} for name in "ab"}, noise=0.02).run(), profile)
    assert verdict.reason.startswith("Keep base: none of 2 candidates was better; ")
    assert verdict.reason.endswith(" % or more would have been called.")
    assert verdict.smallest_effect > verdict.floor > 0


def test_an_effect_of_twice_and_more_is_told_as_a_factor(synthetic, profile) -> None:
    verdict = judge(synthetic(effects={"one": {}}, noise=0.5).run(), profile)
    assert verdict.smallest_effect > 1
    assert verdict.reason.startswith("Nothing can be told: too noisy: less than ")
    assert "x can't be told from noise in 8 blocks" in verdict.reason
    assert (verdict.choice, verdict.conclusive, _of(verdict, "one").verdict) == ("base", False, "inconclusive")
    assert verdict.advice[0].startswith("End other work on the nodes, pin their clocks, and measure ")
    assert re.search(r"about \d+ blocks would show 5.0 % \(\d+ launches\)|no number of blocks", verdict.advice[0])


@pytest.mark.long
def test_the_smallest_effect_is_about_what_is_just_found(synthetic, profile) -> None:
    """An effect twice the smallest is nearly always called, one of a third of it hardly ever."""
    smallest = judge(synthetic(noise=0.03, seed=5).run(), profile, "decode").smallest_effect
    found = {
        part: sum(
            _of(judge(synthetic(effects={"one": {None: 1 + part * smallest}}, noise=0.03, seed=seed, confirm=0).run(),
                      profile, "decode"), "one").verdict == "better"
            for seed in range(10)
        )
        for part in (1 / 3, 2.0)
    }  # fmt: skip
    assert found[1 / 3] <= 2
    assert found[2.0] >= 8


def test_a_profile_that_sends_nothing_has_nothing_to_tune(synthetic) -> None:
    verdict = judge(synthetic(effects={"one": {None: 2.0}}, noise=0.01).run(), load_profile("single-node"))
    assert (verdict.choice, verdict.conclusive, _of(verdict, "one").verdict) == ("base", True, "same")
    assert "nothing to tune" in verdict.reason


def test_an_op_that_was_not_measured_is_told_instead_of_guessed(synthetic, profile) -> None:
    true = {DECODE: 80.0, PREFILL: 3000.0}
    verdict = judge(synthetic(effects={"one": {None: 2.0}}, noise=0.01, true_us=true).run(), profile)
    assert (verdict.choice, verdict.conclusive) == ("base", False)
    assert verdict.reason == "Not measured: all_gather of decode, all_gather of prefill."
    call = "fabricdoc bench --nodes alpha=netns:alpha,beta=netns:beta --profile dense-small-tp2 --ops all_gather"
    assert [text for text in verdict.advice if f"{call} --sizes 64000,256000" in text]
    assert _of(verdict, "one").verdict == "inconclusive"


def test_judging_under_another_profile_says_what_was_taken_from_smaller_sizes(synthetic, profile) -> None:
    run = synthetic(effects={"one": {None: 1.3}}, noise=0.02).run()
    larger = tuple(one.model_copy(update={"size": 4 * one.size}) for one in profile.prefill.collectives)
    other = profile.model_copy(update={"prefill": profile.prefill.model_copy(update={"collectives": larger})})
    verdict = judge(run, other)
    assert verdict.choice == "one"
    assert "all_reduce 10 MiB was not measured: its time is taken from 2.5 MiB in proportion to bytes." in verdict.trade


def test_sizes_far_beyond_what_was_measured_are_not_guessed_and_the_call_is_told(synthetic) -> None:
    run = synthetic(effects={"one": {None: 1.3}}, noise=0.02).run()
    verdict = judge(run, load_profile("qwen3.8-flash-next-tp2"))
    assert (verdict.choice, verdict.conclusive) == ("base", False)
    assert "all_reduce 40 MiB (measured up to 2.5 MiB) of prefill" in verdict.reason
    call = "fabricdoc bench --nodes alpha=netns:alpha,beta=netns:beta --profile qwen3.8-flash-next-tp2"
    assert verdict.advice[-1].endswith(call)


def test_a_run_can_be_judged_again_with_the_same_answer(synthetic, profile) -> None:
    run = synthetic(effects={"one": {None: 1.3}, "two": {PREFILL: 0.7}}).run()
    first, second = (judge(run, profile).model_dump(exclude={"created"}) for _ in range(2))
    assert first == second


@pytest.mark.long
@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10**6), blocks=st.integers(0, 8), confirm=st.integers(0, 8), noise=st.floats(0.001, 0.2),
    effect=st.floats(0.5, 2.0), objective=st.sampled_from(["decode", "prefill", "mix"]),
    broken=st.sets(
        st.tuples(st.sampled_from(["base", "one"]), st.sampled_from(["search", "confirm"]), st.integers(0, 7)),
        max_size=6,
    ),
    status=st.sampled_from(["failed", "timeout", "interrupted", "incorrect"]),
)  # fmt: skip
def test_whatever_happened_the_rules_hold(
    synthetic, profile, seed, blocks, confirm, noise, effect, objective, broken, status
) -> None:
    changes = {key: {"status": status, "cells": ()} for key in broken}
    spec = synthetic(
        effects={"one": {None: effect}}, seed=seed, blocks=blocks, confirm=confirm, noise=noise, changes=changes
    )
    verdict = judge(spec.run(), profile, objective)
    one = _of(verdict, "one")
    if verdict.choice == "one":
        assert verdict.conclusive and verdict.blocks >= 6 and confirm >= 6
        assert one.verdict == "better" and one.confirmed
        assert one.score.low > 1 + verdict.floor and one.confirmation.low > 1
    if one.verdict in ("better", "worse"):
        assert one.score.blocks >= 6
    assert all(cell.interval.blocks >= 6 for cell in one.cells if cell.verdict in ("better", "worse"))
    assert verdict.conclusive <= (verdict.blocks >= 5)
    assert all(text.endswith(".") and "\n" not in text for text in (verdict.reason, one.reason, *verdict.trade))
    assert Verdict.model_validate_json(verdict.model_dump_json()) == verdict


def _with_current() -> list[Candidate]:
    return [Candidate(name="mine", role="current", on_base=False, variables={"NCCL_PROTO": "LL"}),
            Candidate(name="good", variables={"NCCL_ALGO": "Tree"})]  # fmt: skip


@pytest.mark.parametrize(("current", "verdict"), [(1.0, "better"), (1.3, "same"), (1.8, "worse")])
def test_every_verdict_is_given_against_the_current_settings_too(synthetic, profile, current, verdict) -> None:
    effects = {"mine": {None: current}, "good": {None: 1.3}}
    run = synthetic(effects=effects, candidates=_with_current(), noise=0.01, blocks=10, confirm=10).run()
    judged = judge(run, profile)
    good = _of(judged, "good")
    assert (good.verdict, good.current_verdict) == ("better", verdict)
    assert good.against_current.ratio == pytest.approx(1.3 / current, rel=0.03)
    assert good.against_current.method == "sign-flip"
    assert "against your current settings: " in good.reason
    assert good.reason.endswith(f", {verdict}.")
    assert _of(judged, "mine").against_current is None


def test_without_current_settings_nothing_is_said_about_them(synthetic, profile) -> None:
    good = _of(judge(synthetic(effects={"good": {None: 1.3}}).run(), profile), "good")
    assert (good.against_current, good.current_verdict) == (None, None)
    assert "current" not in good.reason


def test_candidates_that_were_dropped_early_still_count_in_the_correction(synthetic, profile) -> None:
    few = synthetic(effects={"good": {None: 1.3}}, seed=3).run()
    many = synthetic(effects={"good": {None: 1.3}, **{f"bad{n}": {None: 0.5} for n in range(9)}}, seed=3).run()
    kept = tuple(one for one in many.launches if not one.candidate.startswith("bad") or one.block < 3)
    dropped = judge(many.model_copy(update={"launches": kept}), profile)
    alone = judge(few, profile)

    def width(verdict) -> float:
        return math.log(_of(verdict, "good").score.high / _of(verdict, "good").score.low)

    assert _of(dropped, "bad0").verdict == "inconclusive"
    assert width(dropped) > 1.2 * width(alone)


@pytest.mark.parametrize("blocks", [3, 4])
def test_below_five_blocks_the_only_verdict_is_inconclusive(synthetic, profile, blocks) -> None:
    verdict = judge(synthetic(effects={"good": {None: 9.0}}, noise=0.001, blocks=blocks).run(), profile)
    assert (_of(verdict, "good").verdict, verdict.choice, verdict.conclusive) == ("inconclusive", "base", False)


def test_five_blocks_may_say_same_but_neither_better_nor_worse(synthetic, profile) -> None:
    run = synthetic(effects={"good": {None: 9.0}, "bad": {None: 0.1}, "nil": {}}, noise=0.01, blocks=5).run()
    got = {one.name: one.verdict for one in judge(run, profile).candidates}
    assert got == {"good": "inconclusive", "bad": "inconclusive", "nil": "same"}


def test_every_candidate_says_what_would_have_been_seen_and_how_many_blocks_would_show_five_per_cent(
    synthetic, profile
) -> None:
    nil = _of(judge(synthetic(effects={"nil": {}}, noise=0.05).run(), profile), "nil")
    assert 0.03 < nil.smallest_effect < 0.3
    assert nil.blocks_needed > 8
