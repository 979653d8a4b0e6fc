"""What a run is judged for: every captured batch, weights, and the stages of each."""

from __future__ import annotations

import pytest

from fabricdoc.model.profile import Stage
from fabricdoc.model.verdict import CandidateVerdict, Verdict
from fabricdoc.serving import load_profile
from fabricdoc.tuning import judge
from fabricdoc.tuning.aim import PER, PHASES, Aim
from tests.unit.tuning.conftest import DECODE, PREFILL, TRUE_US

pytestmark = pytest.mark.unit
LARGE = ("eager", "all_reduce", 163840)


def _of(verdict: Verdict, name: str) -> CandidateVerdict:
    return next(one for one in verdict.candidates if one.name == name)


def _batch(stage: Stage, rows: int) -> Stage:
    factor = rows // stage.rows
    larger = tuple(
        one.model_copy(update={"size": one.size * factor, "send_bytes": one.send_bytes * factor})
        for one in stage.collectives
    )
    return stage.model_copy(update={"rows": rows, "collectives": larger})


def test_a_captured_batch_that_loses_keeps_base_and_shows_the_trade(synthetic, profile) -> None:
    """Batches of 4 and 32 rows: the small one gains 40 %, the large one loses."""
    true = dict(TRUE_US) | {LARGE: 200.0, ("eager", "all_gather", 2048000): 900.0}
    made = synthetic(effects={"one": {DECODE: 1.4, LARGE: 0.8}}, noise=0.01, drift=0.0, true_us=true).run()
    batches = (profile.decode, _batch(profile.decode, 32))
    assert judge(made, profile).choice == "one"
    verdict = judge(made, profile, batches=batches)
    assert verdict.choice == "base"
    assert "the decode step of 32 rows" in _of(verdict, "one").reason
    assert verdict.trade[0].startswith("one is a trade: ")
    assert verdict.trade[0].endswith("--objective decode would take it.")
    assert judge(made, profile, "decode", batches=batches).choice == "one"


def test_decode_is_the_mean_over_its_batches(synthetic, profile) -> None:
    true = dict(TRUE_US) | {LARGE: 200.0, ("eager", "all_gather", 2048000): 900.0}
    effects = {"one": {DECODE: 1.44, ("eager", "all_gather", 256000): 1.44}}
    made = synthetic(effects=effects, noise=1e-6, drift=0.0, true_us=true).run()
    score = _of(judge(made, profile, "decode", batches=(profile.decode, _batch(profile.decode, 32))), "one").score
    assert score.ratio == pytest.approx(1.2, rel=1e-3)  # the square root of 1.44 x 1


def test_weights_make_one_number_of_both_stages(synthetic, profile) -> None:
    effects = {
        "one": {DECODE: 1.3, ("eager", "all_gather", 256000): 1.3, PREFILL: 0.8, ("eager", "all_gather", 64000): 0.8}
    }
    run = synthetic(effects=effects, noise=0.01).run()
    assert judge(run, profile).choice == "base"
    towards_decode = judge(run, profile, weights={"decode": 0.7, "prefill": 0.3})
    assert (towards_decode.choice, towards_decode.weights) == ("one", {"decode": 0.7, "prefill": 0.3})
    assert _of(towards_decode, "one").score.ratio == pytest.approx(1.3**0.7 * 0.8**0.3, rel=0.02)
    assert towards_decode.trade[0].startswith("one costs per prefill chunk")
    assert judge(run, profile, weights={"decode": 0.3, "prefill": 0.7}).choice == "base"
    assert judge(run, profile, weights={"decode": 1.0, "prefill": 0.0}).choice == "one"
    assert judge(run, profile, "prefill", weights={"decode": 1.0, "prefill": 0.0}).weights == {}


def test_stages_come_by_rows_and_the_profile_stands_in_where_no_batch_is_asked() -> None:
    profile = load_profile("dense-small-tp2")
    larger = _batch(profile.decode, 32)
    assert Aim(profile).stages("decode") == (profile.decode,)
    assert Aim(profile, batches=(larger, profile.decode)).stages("decode") == (profile.decode, larger)
    assert Aim(profile, batches=(larger,)).stages("prefill") == (profile.prefill,)
    assert set(PER) == {*PHASES, "weighted"}
    assert Aim(profile, "decode", weights={"decode": 1.0}).weighted is None
    assert Aim(profile, "mix", weights={"decode": 1.0}).weighted == {"decode": 1.0}
