"""Whole stored runs of one H200 (NCCL over sockets, two nodes), with their proofs, tails and eager calls, judged again.

run-ll-everywhere.json is a bench of objective mix in which NCCL_PROTO=LL for everything was a candidate; run-drop-one
is an adaptive search of objective decode whose winner had a line that does not pay.
"""

from __future__ import annotations

import json
import math
import random
import time
from functools import cache
from pathlib import Path

import pytest

from fabricdoc.model.profile import Collective, Profile, Stage
from fabricdoc.model.run import Launch, Objective, Run
from fabricdoc.model.verdict import CandidateVerdict, Verdict
from fabricdoc.serving import load_profile
from fabricdoc.serving.reading import totals
from fabricdoc.tuning import build_preset, judge
from fabricdoc.tuning.aim import Aim
from fabricdoc.tuning.blocks import SEARCHED, blocks_of
from fabricdoc.tuning.stage import stage_recipe
from fabricdoc.tuning.weighing import Scales, weigh
from tests.benchmarks.recorded_launches import PROFILE, RESULTS
from tests.benchmarks.recorded_runs import recorded_runs
from tests.benchmarks.stored_runs import kept_of, stored_run, text_of

pytestmark = pytest.mark.unit

LL, DROP = "run-ll-everywhere.json", "run-drop-one.json"
FILES = (LL, DROP, *(f"gpu_main_job-{name}.txt" for name in ("decode-and-fresh", "mix", "rails")))
OBJECTIVES: tuple[Objective, ...] = ("decode", "mix", "prefill")


@cache
def run_of(name: str) -> Run:
    return stored_run(name) if name.endswith(".json") else recorded_runs(name)[0]


def layers(stage: str, rows: int, *sizes: int) -> Stage:
    sent = tuple(
        Collective(role="r", op="all_reduce", count=97, size=s, send_bytes=s, in_graph=stage == "decode") for s in sizes
    )
    return Stage(rows=rows, collectives=sent, totals=totals(sent))


@pytest.fixture(scope="module")
def profile() -> Profile:
    """97 all-reduces of 20 KiB in decode, of 40 MiB in a prefill chunk."""
    return load_profile(PROFILE)


def of(verdict: Verdict, name: str) -> CandidateVerdict:
    return next(one for one in verdict.candidates if one.name == name)


def proto_of(run: Run, name: str) -> str:
    chosen = [one.variables.get("NCCL_PROTO", "") for one in run.plan.candidates if one.name == name]
    return chosen[0] if chosen else ""


@pytest.mark.long
@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_ll_for_everything_is_never_chosen_on_any_stored_run(name: str, objective: Objective, profile: Profile) -> None:
    run = run_of(name)
    verdict = judge(run, profile, objective)
    assert proto_of(run, verdict.choice).lower() not in ("ll", "ll128", "ll,ll128")
    for one in verdict.candidates:
        if proto_of(run, one.name) == "LL":
            assert one.verdict != "better"


def test_why_ll_for_everything_is_not_chosen(profile: Profile) -> None:
    """It gains nothing where it is said to, and takes 2.8 times as long for what a prefill chunk sends."""
    run = run_of(LL)
    assert [one.variables for one in run.plan.candidates if one.name == "ll-everywhere"] == [{"NCCL_PROTO": "LL"}]
    mix = of(judge(run, profile, "mix"), "ll-everywhere")
    assert mix.verdict == "worse"
    assert mix.reason.startswith(
        "Loses at prefill: 2.8x slower (95 % interval 2.1x to 3.4x slower, 6 blocks) per prefill"
    )
    assert "all_reduce 40 MiB (eager) takes 54 ms against 18 ms of base" in mix.reason
    assert mix.score is not None
    assert mix.score.ratio == pytest.approx(0.36, abs=0.005)
    decode = of(judge(run, profile, "decode"), "ll-everywhere")
    assert decode.verdict == "same"
    assert decode.reason.startswith("No clear difference per decode step: 2.9 % faster")
    assert judge(run, profile, "mix").choice == judge(run, profile, "decode").choice == "one-channel"
    assert judge(run, profile, "prefill").choice == "base"


def test_even_where_ll_wins_decode_the_default_objective_refuses_it_and_shows_the_trade(profile: Profile) -> None:
    """The same launches, LL twice as fast at 20 KiB as it was: decode alone would take it, the default never."""
    run = changed(run_of(LL), "ll-everywhere", 20480, 0.5)
    assert judge(without(run, "one-channel", "simple"), profile, "decode").choice == "ll-everywhere"
    mix = judge(run, profile, "mix")
    assert mix.choice == "one-channel"
    assert of(mix, "ll-everywhere").verdict == "worse"
    assert "but loses at prefill: 2.8x slower" in of(mix, "ll-everywhere").reason


def changed(run: Run, candidate: str, size: int, factor: float, *fields: str) -> Run:
    """The run with a candidate's times of one size `factor` times as long, and launched again if it was not."""
    names = fields or ("median_us", "p95_us", "p99_us", "max_us")

    def one(launch: Launch) -> Launch:
        cells = tuple(
            cell.model_copy(update={name: getattr(cell, name) * factor for name in names})
            if launch.candidate == candidate and cell.size == size
            else cell
            for cell in launch.cells
        )
        return launch.model_copy(update={"cells": cells})

    made = [one(launch) for launch in run.launches]
    fresh = {launch.block for launch in made if launch.round == "confirm"}
    if not any(launch.round == "confirm" and launch.candidate == candidate for launch in made):
        searched = [launch for launch in made if launch.round == "search" and launch.candidate == candidate]
        again = zip(sorted(fresh), searched, strict=True)
        made += [launch.model_copy(update={"round": "confirm", "block": block}) for block, launch in again]
    return run.model_copy(update={"launches": tuple(made)})


def without(run: Run, *names: str) -> Run:
    plan = run.plan.model_copy(
        update={"candidates": tuple(one for one in run.plan.candidates if one.name not in names)}
    )  # fmt: skip
    launches = tuple(launch for launch in run.launches if launch.candidate not in names)
    return run.model_copy(update={"plan": plan, "launches": launches})


def test_the_default_objectives_choice_loses_at_no_size_no_batch_and_no_tail(profile: Profile) -> None:
    run = run_of(LL)
    blocks, tails = (blocks_of(run, SEARCHED, "base", taken) for taken in ("median_us", "p99_us"))
    scales = Scales.of(blocks, Aim(profile), tails)
    chosen = weigh(judge(run, profile).choice, scales, 4)
    assert set(chosen.guards) == {"the slowest 1 % of calls of decode", "the slowest 1 % of calls of prefill"}
    assert (chosen.lost, chosen.breached) == ((), {})
    assert {reading.verdict for reading in chosen.guards.values()} <= {"same", "better"}


@pytest.mark.parametrize(
    ("size", "what"), [(20480, "the slowest 1 % of calls of decode"), (41943040, "the slowest 1 % of calls of prefill")]
)
def test_a_tail_twice_as_long_keeps_base_whatever_the_median_gains(size: int, what: str, profile: Profile) -> None:
    run = without(changed(run_of(LL), "one-channel", size, 2.5, "p99_us"), "simple")
    mix = judge(run, profile)
    assert mix.choice == "base"
    assert f"but loses at {what}: " in of(mix, "one-channel").reason
    assert judge(run, profile, "decode").choice == "one-channel"


def test_every_captured_batch_is_asked_and_one_that_loses_is_named(profile: Profile) -> None:
    """Batches whose all-reduces are 8 B and 20 KiB: Simple gains at the larger, takes twice as long at the smaller."""
    run = without(run_of(LL), "one-channel")
    small = layers("decode", 1, 8)
    assert judge(run, profile).choice == "simple"
    both = judge(run, profile, batches=(small, profile.decode))
    simple = of(both, "simple")
    assert (both.choice, simple.verdict) == ("base", "worse")
    assert "all_reduce 8 B (graph) takes 68 µs against 30 µs of base" in simple.reason
    assert simple.score is not None
    assert simple.score.ratio == pytest.approx(math.sqrt(1.38 * 0.44), rel=0.01)  # every batch weighs the same
    blocks = blocks_of(run, SEARCHED, "base")
    scales = Scales.of(blocks, Aim(profile, "mix", (small, profile.decode)))
    guarded = weigh("simple", scales, 3).guards
    assert {what: reading.verdict for what, reading in guarded.items()} == {
        "the decode step of 1 rows": "worse",
        "the decode step of 4 rows": "better",
    }


def test_a_size_between_two_protocols_of_the_proof_is_not_told(profile: Profile) -> None:
    """NCCL's own log: another choice at 20 KiB than at 40 MiB, so that 1 MiB may lie on either side."""
    run = run_of(LL)
    between = profile.model_copy(update={"decode": layers("decode", 4, 1 << 20)})
    verdict = judge(run, between, "decode", named=PROFILE)
    assert (verdict.choice, verdict.conclusive) == ("base", False)
    told = "all_reduce 1 MiB (NCCL takes ring/ll at 20 KiB and ring/simple at 40 MiB, and no size between was measured)"
    assert told in verdict.reason
    assert any("--ops all_reduce --sizes 1048576" in line for line in verdict.advice)
    measured = blocks_of(run, SEARCHED, "base")[0].base[0]
    assert stage_recipe(Aim(between, "decode"), "decode", sorted(measured)).usable, (
        "without the log nothing is known to change"
    )


def test_the_scores_interval_is_that_of_the_launches_resampled(profile: Profile) -> None:
    """Blocks of launches drawn again and again: 95 % of the ratios lie in the interval, which is no wider than need be.

    The score's interval is corrected for four candidates, so it is the wider one.
    """
    run = run_of(LL)
    blocks = blocks_of(run, SEARCHED, "base")
    recipe = stage_recipe(Aim(profile, "decode"), "decode", sorted(blocks[0].base[0]))
    ratios = []
    for block in blocks:
        logs = [recipe.log_time(times) for times in (*block.base, block.others["one-channel"])]
        first, second, mine = (log for log in logs if log is not None)
        ratios.append((first + second) / 2.0 - mine)
    chance = random.Random(1)
    drawn = sorted(sum(chance.choices(ratios, k=len(ratios))) / len(ratios) for _ in range(4000))
    low, high = math.exp(drawn[100]), math.exp(drawn[-101])
    score = of(judge(run, profile, "decode"), "one-channel").score
    assert score is not None
    assert score.ratio == pytest.approx(math.exp(sum(ratios) / len(ratios)), rel=1e-6)
    assert score.low <= low < score.ratio < high <= score.high
    assert math.log(score.high / score.low) < 4.0 * math.log(high / low)


def test_the_drop_one_check_took_away_a_line_that_did_not_pay(profile: Profile) -> None:
    run = run_of(DROP)
    verdict = judge(run, profile, "decode")
    assert verdict.choice == "ctas-1+ctas-4-trimmed"
    assert [(line.name, line.pays) for line in verdict.lines] == [("NCCL_MAX_CTAS", True), ("NCCL_MIN_CTAS", False)]
    told = [line.reason for line in verdict.lines]
    assert told[0].startswith("without it 50 % slower (95 % interval 35 % to 67 % slower, 6 blocks)")
    assert told[1].startswith("without it 0.31 % faster (95 % interval 10 % slower to 11 % faster, 6 blocks)")
    chosen = of(verdict, verdict.choice)
    assert chosen.confirmation is not None
    assert chosen.confirmation.blocks == 6
    assert chosen.confirmation.low > 1.2


def test_what_the_preset_holds_is_what_the_last_fresh_blocks_launched(profile: Profile) -> None:
    run = run_of(DROP)
    verdict = judge(run, profile, "decode")
    preset = build_preset(run, verdict, None)
    measured = [{line.name: line.value for line in one.lines if line.kind == "measured"} for one in preset.nodes]
    assert measured == [{"NCCL_MAX_CTAS": "1"}] * 2
    launched = [one.variables for one in run.plan.candidates if one.name == verdict.choice]
    assert launched == [{"NCCL_MAX_CTAS": "1"}]
    fresh = [one for one in run.launches if one.candidate == verdict.choice and one.round == "confirm"]
    assert len(fresh) == 6
    before = max(one.number for one in run.launches if one.round == "drop")
    assert min(one.number for one in fresh) > before
    line = next(line for line in preset.nodes[0].lines if line.name == "NCCL_MAX_CTAS")
    assert "This line: without it 50 % slower" in line.evidence
    assert {one.kind for one in preset.nodes[0].lines if one.name != "NCCL_MAX_CTAS"} == {"placed"}


def test_without_the_drop_rounds_launches_both_lines_stay_and_say_that_they_were_not_checked(
    profile: Profile,
) -> None:
    run = run_of(DROP)
    cut = run.model_copy(update={"launches": tuple(one for one in run.launches if one.round != "drop")})
    verdict = judge(cut, profile, "decode")
    assert verdict.choice == "ctas-1+ctas-4"
    assert {line.pays for line in verdict.lines} == {None}
    assert {line.reason for line in verdict.lines} == {"not checked alone: 0 of 6 blocks were launched without it"}


def test_a_run_without_the_sizes_of_prefill_says_so_under_the_default_objective(profile: Profile) -> None:
    verdict = judge(run_of(DROP), profile, "mix")
    assert (verdict.choice, verdict.conclusive) == ("base", False)
    assert verdict.reason == "Not measured: all_reduce 40 MiB (measured up to 20 KiB) of prefill."


@pytest.mark.parametrize("name", [LL, DROP])
def test_a_stored_run_is_judged_again_in_less_than_a_second_of_work(name: str, profile: Profile) -> None:
    run = run_of(name)
    other = profile.model_copy(update={"name": "other", "decode": layers("decode", 4, 8, 20480)})
    began = time.process_time()
    judge(run, other)
    assert time.process_time() - began < 5.0  # 0.06 s on an idle core


@pytest.mark.parametrize(("name", "launches", "most"), [(LL, 65, 60_000), (DROP, 192, 110_000)])
def test_a_stored_run_is_whole_small_and_reads_back_equal(name: str, launches: int, most: int) -> None:
    run = run_of(name)
    assert (len(run.launches), run.status) == (launches, "complete")
    assert (RESULTS / name).stat().st_size < most
    assert text_of(kept_of(run)) == (RESULTS / name).read_text()
    assert any(launch.proof is not None and launch.proof.choices for launch in run.launches)


def test_a_launch_that_did_not_end_well_is_not_kept_as_if_it_had(tmp_path: Path) -> None:
    run = run_of(LL)
    for change in ({"status": "timeout"}, {"disturbed": "another user"}):
        bad = (run.launches[0].model_copy(update=change), *run.launches[1:])
        with pytest.raises(ValueError, match="launch 1 did not end well"):
            kept_of(run.model_copy(update={"launches": bad}))
    (tmp_path / "x.json").write_text(json.dumps(kept_of(run)))
    assert stored_run("x.json", tmp_path) == run
