"""Which set is chosen and what that costs: tails count under the default objective, a refused gain is shown."""

from __future__ import annotations

import pytest

from fabricdoc.model.run import Launch, Run
from fabricdoc.model.verdict import CandidateVerdict, Verdict
from fabricdoc.tuning import judge
from tests.unit.tuning.conftest import DECODE, PREFILL

pytestmark = pytest.mark.unit


def _of(verdict: Verdict, name: str) -> CandidateVerdict:
    return next(one for one in verdict.candidates if one.name == name)


def _slower_tails(run: Run, name: str, factor: float) -> Run:
    """The same run, every p99 of one candidate longer by a factor."""

    def changed(launch: Launch) -> Launch:
        cells = tuple(one.model_copy(update={"p99_us": one.p99_us * factor}) for one in launch.cells)
        return launch.model_copy(update={"cells": cells}) if launch.candidate == name else launch

    return run.model_copy(update={"launches": tuple(changed(launch) for launch in run.launches)})


def test_calls_that_became_slower_at_p99_keep_base_though_the_median_gains(synthetic, profile) -> None:
    run = _slower_tails(synthetic(effects={"one": {None: 1.3}}, noise=0.01).run(), "one", 1.8)
    mixed = judge(run, profile)
    assert mixed.choice == "base"
    assert "loses at the slowest 1 % of calls of decode" in _of(mixed, "one").reason
    assert mixed.trade[0].startswith("one is a trade")
    decode = judge(run, profile, "decode")
    assert decode.choice == "one"
    assert any("one costs at the slowest 1 % of calls of decode" in text for text in decode.trade)


def test_three_trades_at_most_are_shown_the_largest_gain_first(synthetic, profile) -> None:
    effects = {f"c{n}": {DECODE: 1.2 + n / 10, PREFILL: 0.7} for n in range(5)}
    verdict = judge(synthetic(effects=effects, noise=0.01).run(), profile)
    assert verdict.choice == "base"
    assert [text.split(" ")[0] for text in verdict.trade] == ["c4", "c3", "c2"]


def test_what_gains_nowhere_is_no_trade(synthetic, profile) -> None:
    verdict = judge(synthetic(effects={"one": {None: 0.7}, "two": {}}, noise=0.01).run(), profile)
    assert (verdict.choice, verdict.trade) == ("base", ())
