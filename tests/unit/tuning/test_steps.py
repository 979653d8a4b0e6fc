"""Verdicts in the user's own units: ms of a step, per cent of tokens a second, and the honest ceiling."""

from __future__ import annotations

import pytest

from fabricdoc.model.profile import StepTime
from fabricdoc.model.verdict import CandidateVerdict, Interval, Verdict
from fabricdoc.tuning import judge
from fabricdoc.tuning.comparing import Reading
from fabricdoc.tuning.steps import step_effect, step_text

pytestmark = pytest.mark.unit


def _of(verdict: Verdict, name: str) -> CandidateVerdict:
    return next(one for one in verdict.candidates if one.name == name)


def test_with_the_steps_time_a_verdict_speaks_of_the_step_and_names_the_ceiling(synthetic, profile) -> None:
    timed = profile.model_copy(update={"step": StepTime(compute_ms=40.0, tokens=4)})
    verdict = judge(synthetic(effects={"one": {None: 1.25}}, noise=0.001, drift=0.0).run(), timed)
    spent = (49 * 80.0 + 150.0) / 1000.0
    one = _of(verdict, "one")
    assert verdict.communication_ms == pytest.approx(spent, rel=0.01)
    assert verdict.ceiling == timed.step.ceiling_text(verdict.communication_ms)
    assert "communication is 9.2 % of the step" in verdict.ceiling
    assert one.step.saved_ms == pytest.approx(spent * 0.2, rel=0.02)
    assert one.step.low_ms <= one.step.saved_ms <= one.step.high_ms
    assert one.step.tokens.ratio == pytest.approx((40 + spent) / (40 + spent / 1.25), rel=0.002)
    assert one.step.tokens.ratio < 1.0 + timed.step.ceiling(spent)
    assert "ms less a step (" in one.reason
    assert "more tokens/s (" in verdict.reason
    without = judge(synthetic(effects={"one": {None: 1.25}}, noise=0.001, drift=0.0).run(), profile)
    assert (without.ceiling, _of(without, "one").step.tokens) == ("", None)
    assert "tokens" not in without.reason


def _reading(ratio: float, low: float, high: float) -> Reading:
    return Reading(Interval(ratio=ratio, low=low, high=high, blocks=8), 0.01, "better", 4000.0, 4000.0 / ratio)


def test_a_loss_is_told_as_one_and_what_may_be_either_with_both_signs() -> None:
    step = StepTime(compute_ms=36.0)
    assert step_text(step_effect(_reading(0.8, 0.7, 0.9), step)) == (
        "-1.0 ms less a step (-1.7 to -0.44), 2.4 % fewer tokens/s (1.1 % to 4.1 %)"
    )  # fmt: skip
    assert step_text(step_effect(_reading(1.0, 0.9, 1.1), step)).endswith("tokens/s (-1.1 % to +0.92 %)")
    assert step_text(step_effect(_reading(1.25, 1.2, 1.3), step)) == (
        "0.8 ms less a step (0.67 to 0.92), 2.0 % more tokens/s (1.7 % to 2.4 %)"
    )  # fmt: skip


def test_without_a_step_time_only_ms_are_known() -> None:
    effect = step_effect(_reading(1.25, 1.2, 1.3), None)
    assert effect is not None
    assert (effect.saved_ms, effect.low_ms, effect.high_ms) == pytest.approx((0.8, 2 / 3, 4 - 4 / 1.3))
    assert effect.tokens is None
    assert (step_text(effect), step_text(None), step_effect(None, StepTime(compute_ms=1.0))) == ("", "", None)


def test_no_gain_ever_passes_the_ceiling() -> None:
    step = StepTime(compute_ms=36.0)
    huge = step_effect(_reading(1e6, 1e5, 1e6), step)
    assert huge is not None
    assert huge.tokens is not None
    assert huge.tokens.high - 1.0 <= step.ceiling(4.0)
