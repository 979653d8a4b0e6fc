"""What has to be shown on launches that really happened (one and two H200, NCCL over sockets): see tests/benchmarks.

The files hold medians of all-reduces in graphs, nothing else: that tails and eager calls count is shown on synthetic
runs.
"""

from __future__ import annotations

import time
from itertools import pairwise

import pytest

from fabricdoc.bench.candidates import load_candidates, sets_of
from fabricdoc.model.profile import Collective, Profile, Stage
from fabricdoc.model.run import Run
from fabricdoc.model.verdict import CandidateVerdict, Verdict
from fabricdoc.serving import load_profile
from fabricdoc.serving.reading import totals
from fabricdoc.tuning import judge
from tests.benchmarks.recorded_launches import PROFILE, RESULTS
from tests.benchmarks.recorded_runs import recorded_runs

pytestmark = pytest.mark.unit

DECODE, MIX, RAILS = (f"gpu_main_job-{name}.txt" for name in ("decode-and-fresh", "mix", "rails"))


@pytest.fixture(scope="module")
def profile() -> Profile:
    """The 97 layer all-reduces of the reference case: 20 KiB in decode, 40 MiB in a prefill chunk."""
    return load_profile(PROFILE)


def _sending(*sizes: int) -> Profile:
    """A profile whose decode step sends these all-reduces and whose prefill is that of the reference."""
    layers = tuple(Collective(role="r", op="all_reduce", count=97, size=size, send_bytes=size) for size in sizes)
    stage = Stage(rows=1, collectives=layers, totals=totals(layers))
    return load_profile(PROFILE).model_copy(update={"name": "other", "decode": stage})


def _of(verdict: Verdict, name: str) -> CandidateVerdict:
    return next(one for one in verdict.candidates if one.name == name)


def test_objective_decode_at_20_kib_gives_at_least_15_per_cent(profile: Profile) -> None:
    run, fresh = recorded_runs(DECODE)
    verdict = judge(run, profile, "decode")
    chosen = _of(verdict, verdict.choice)
    assert verdict.choice == "simple"
    assert chosen.confirmation is not None
    assert chosen.confirmation.low >= 1.15
    again = _of(judge(fresh, profile, "decode"), "preset")  # the exported files, launched afresh hours later
    assert again.score is not None
    assert chosen.score is not None
    assert again.score.ratio >= chosen.score.low
    assert again.score.low >= 1.15


@pytest.mark.parametrize("name", [DECODE, MIX])
def test_the_default_objective_loses_nowhere_or_keeps_base_and_shows_the_trade(name: str, profile: Profile) -> None:
    verdict = judge(recorded_runs(name)[0], profile)
    if verdict.choice == "base":
        assert verdict.trade
        return
    chosen = _of(verdict, verdict.choice)
    assert not [cell for cell in chosen.cells if cell.phase != "grid" and cell.verdict == "worse"]
    assert chosen.confirmed


def test_the_default_objective_refuses_what_helps_20_kib_and_hurts_8_bytes_of_the_same_profile(
    profile: Profile,
) -> None:
    """A profile that sends both: Simple gains 40 % at 20 KiB and takes twice as long at 8 B."""
    both = _sending(8, 20480)
    verdict = judge(recorded_runs(DECODE)[0], both)
    assert _of(verdict, "simple").verdict != "better"
    assert "all_reduce 8 B" in _of(verdict, "simple").reason
    assert verdict.choice != "simple"
    assert judge(recorded_runs(DECODE)[0], profile, "decode").choice == "simple"


def test_prefill_picks_two_rails_and_decode_has_no_use_for_the_second(profile: Profile) -> None:
    (run,) = recorded_runs(RAILS)
    verdict = judge(run, profile, "prefill")
    assert verdict.choice == "both-nics"
    assert _of(verdict, "both-nics").confirmation is not None
    assert _of(verdict, "both-nics").confirmation.low > 1.8  # type: ignore[union-attr]
    assert judge(run, profile, "decode").choice == "base"


def test_a_profile_of_8_byte_messages_gets_another_answer(profile: Profile) -> None:
    run = recorded_runs(DECODE)[0]
    tiny = judge(run, _sending(8), "decode")
    assert tiny.choice != judge(run, profile, "decode").choice
    assert _of(tiny, "simple").verdict == "worse"


def test_no_shipped_set_ever_makes_ll_or_ll128_global() -> None:
    sets = load_candidates(sets_of("nccl"), backend="nccl")
    values = [one.variables.get("NCCL_PROTO", "").lower() for one in sets]
    assert any(values)
    assert not [value for value in values if value in ("ll", "ll128", "ll,ll128")]


@pytest.mark.parametrize("name", [DECODE, MIX, RAILS])
@pytest.mark.parametrize("objective", ["decode", "mix", "prefill"])
def test_noise_keeps_base(name: str, objective: str, profile: Profile) -> None:
    """Base's second launch of every block under a candidate's name, and its first one twice over: no winner."""
    for run in recorded_runs(name):
        verdict = judge(_disguised(run), profile, objective)  # type: ignore[arg-type]
        assert verdict.choice == "base"
        assert not [one for one in verdict.candidates if one.verdict == "better"]


def _disguised(run: Run) -> Run:
    """Only launches of base: every block's own two, and those of the block after it as two candidates."""
    blocks: dict[tuple[str, int], list[int]] = {}
    base = [launch for launch in run.launches if launch.candidate == "base"]
    for place, launch in enumerate(base):
        blocks.setdefault((launch.round, launch.block), []).append(place)
    whole = [places for places in blocks.values() if len(places) == 2]
    made, names = [], [one.name for one in run.plan.candidates if one.role == "candidate"][:2]
    for places, following in pairwise(whole):
        own = [base[place] for place in places]
        other = [base[place].model_copy(update={"candidate": name, "round": own[0].round, "block": own[0].block})
                 for place, name in zip(following, names, strict=False)]  # fmt: skip
        made += [*own, *other]
    return run.model_copy(update={"launches": tuple(made)})


def test_a_stored_run_is_judged_under_another_profile_in_well_under_a_second(profile: Profile) -> None:
    run = recorded_runs(DECODE)[0]
    began = time.process_time()
    judge(run, _sending(8, 1024, 65536))
    assert time.process_time() - began < 5.0


def test_every_recorded_file_is_read_whole() -> None:
    told = {DECODE: [66, 30], MIX: [66], RAILS: [48]}
    for name, counts in told.items():
        assert [len(run.launches) for run in recorded_runs(name)] == counts
        assert (RESULTS / name).is_file()
