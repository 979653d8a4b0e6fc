"""A candidate in the user's own units: ms of a decode step, and per cent of tokens a second where that can be said.

Arithmetic on a reading of the profile's own decode step. What a step takes without communication is the user's word
(`--step-ms`), never guessed.
"""

from __future__ import annotations

from fabricdoc.model.profile import Profile, StepTime
from fabricdoc.model.verdict import Interval, StepEffect
from fabricdoc.tuning.comparing import Reading, Series
from fabricdoc.tuning.weighing import BATCH, Scales, Weighed
from fabricdoc.tuning.wording import digits, percent_text


def own_step(weighed: Weighed, profile: Profile) -> Reading | None:
    """The reading of the profile's own decode step: its batch's where several are asked, else decode's."""
    return weighed.guards.get(BATCH.format(rows=profile.decode.rows)) or weighed.stages.get("decode")


def communication_ms(scales: Scales, profile: Profile) -> float | None:
    """What base's collectives of one decode step take, in ms; None where the step was not measured."""
    series: Series | None = scales.guards.get(BATCH.format(rows=profile.decode.rows)) or scales.stages.get("decode")
    return series.base_us / 1000.0 if series is not None and series.base_us is not None else None


def step_effect(reading: Reading | None, step: StepTime | None) -> StepEffect | None:
    """What a reading of the decode step means for it. The interval carries over: both are monotonic in the ratio."""
    if reading is None:
        return None
    base = reading.base_us / 1000.0
    ends = [base / ratio for ratio in (reading.interval.ratio, reading.interval.low, reading.interval.high)]
    tokens = None
    if step is not None:
        ratio, low, high = (1.0 + step.gain(base, other) for other in ends)
        tokens = reading.interval.model_copy(update={"ratio": ratio, "low": low, "high": high})
    return StepEffect(saved_ms=base - ends[0], low_ms=base - ends[1], high_ms=base - ends[2], tokens=tokens)


def step_text(effect: StepEffect | None) -> str:
    """The effect in words: "0.61 ms less a step (0.45 to 0.8), 1.4 % more tokens/s (1 % to 1.8 %)"; empty without
    the step's time."""
    if effect is None or effect.tokens is None:
        return ""
    span = f"({digits(effect.low_ms)} to {digits(effect.high_ms)})"
    return f"{digits(effect.saved_ms)} ms less a step {span}, {_tokens_text(effect.tokens)}"


def _tokens_text(tokens: Interval) -> str:
    ratio, low, high = ((value - 1.0) for value in (tokens.ratio, tokens.low, tokens.high))
    if low < 0.0 < high:
        return f"{_signed(ratio)} tokens/s ({_signed(low)} to {_signed(high)})"
    word, sign = ("more", 1.0) if ratio >= 0.0 else ("fewer", -1.0)
    near, far = sorted((sign * low, sign * high))
    return f"{percent_text(sign * ratio)} {word} tokens/s ({percent_text(near)} to {percent_text(far)})"


def _signed(part: float) -> str:
    return f"{'+' if part > 0 else ''}{percent_text(part)}"
