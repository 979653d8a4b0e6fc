"""A run is judged at every captured batch of its profile, and a step's time comes from who knows it."""

from __future__ import annotations

import pytest

from fabricdoc.errors import UsageError
from fabricdoc.model.profile import Captured, Profile, StepTime
from fabricdoc.serving import decode_stages, load_profile
from fabricdoc.workflow import judging
from fabricdoc.workflow.judging import Judge, check_weights, with_step
from tests.unit.bench.scripted import candidates, plan_of, run_of

pytestmark = pytest.mark.unit


@pytest.fixture
def profile() -> Profile:
    """The small profile, its server capturing 8 rows too."""
    small = load_profile("dense-small-tp2")
    larger = tuple(
        one.model_copy(update={"size": 2 * one.size, "send_bytes": 2 * one.send_bytes})
        for one in small.decode.collectives
    )
    captured = Captured(rows=8, batch=8, collectives=larger, totals=small.decode.totals)
    return small.model_copy(update={"captured": (captured,)})


def test_every_captured_batch_reaches_the_verdict_and_the_search(
    monkeypatch: pytest.MonkeyPatch, profile: Profile
) -> None:
    seen: list[dict[str, object]] = []
    for name in ("judge", "standings"):
        monkeypatch.setattr(judging, name, lambda *args, **more: seen.append({"args": args, **more}))
    judge = Judge(profile, "mix", "mine.toml", {"decode": 1.0, "prefill": 0.0})
    run = run_of(plan_of(candidates(1)))
    judge.verdict(run)
    judge.verdict(run, "prefill")
    judge.standings(run)
    assert [[stage.rows for stage in one["batches"]] for one in seen] == [[4, 8]] * 3  # type: ignore[attr-defined]
    assert [one["args"][2] for one in seen] == ["mix", "prefill", "mix"]  # type: ignore[index]
    assert seen[0]["named"] == "mine.toml"
    assert {str(one["weights"]) for one in seen} == {"{'decode': 1.0, 'prefill': 0.0}"}


def test_a_profile_without_captures_asks_its_own_batch_alone() -> None:
    small = load_profile("dense-small-tp2")
    assert decode_stages(small) == (small.decode,)


def test_what_the_user_says_of_the_step_wins(profile: Profile) -> None:
    own = profile.model_copy(update={"step": StepTime(compute_ms=10.0)})
    assert with_step(own, None) == own
    assert with_step(own, StepTime(compute_ms=40.0)).step == StepTime(compute_ms=40.0)
    assert with_step(profile, None).step is None


def test_weights_go_with_mix_alone() -> None:
    weights = {"decode": 0.5, "prefill": 0.5}
    check_weights(weights, "mix")
    check_weights(None, "decode")
    with pytest.raises(UsageError, match="objective decode asks for decode alone"):
        check_weights(weights, "decode")
