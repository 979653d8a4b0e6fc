"""One port or all: two verdicts, and the split that port counters saw."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.model.run import Candidate, NodeState
from fabricdoc.report.rails import render_rails

pytestmark = pytest.mark.unit


def weighed(samples: Any, *states: NodeState) -> tuple[Any, list[Any]]:
    """A run with both-nics beside base, and its verdicts for decode and prefill."""
    run = samples.run(("base", "both-nics"))
    both = Candidate(name="both-nics", set_name="both-nics")
    plan = run.plan.model_copy(update={"candidates": (run.plan.candidates[0], both)})
    launches = tuple(one.model_copy(update={"states": states}) for one in run.launches)
    verdict = samples.verdict("both-nics")
    decode = verdict.model_copy(update={"objective": "decode"})
    worse = verdict.candidates[0].model_copy(update={"verdict": "worse", "reason": "Slower per chunk."})
    prefill = verdict.model_copy(update={"objective": "prefill", "candidates": (worse,)})
    return run.model_copy(update={"plan": plan, "launches": launches}), [decode, prefill]


def text_of(shown: Any, parts: tuple[Any, list[Any]]) -> str:
    return " ".join(shown(render_rails(*parts)).split())


def test_two_verdicts_with_their_reasons(samples: Any, shown: Any) -> None:
    text = text_of(shown, weighed(samples))
    assert "decode both-nics better" in text
    assert "prefill both-nics worse" in text
    assert "decode: 18 % faster" in text
    assert "prefill: Slower per chunk." in text
    assert "the split over ports is unknown: no byte counters were read" in text


def test_the_split_is_what_the_counters_moved_by(samples: Any, shown: Any) -> None:
    moved = {"rocep1s0f0/1": (600, 150), "roceP2p1s0f0/1": (200, 50), "idle/1": (0, 0)}
    text = text_of(shown, weighed(samples, NodeState(node="alpha", port_bytes=moved)))
    assert "both-nics carried alpha: roceP2p1s0f0/1 25 %, rocep1s0f0/1 75 %" in text
    assert "base carried alpha:" in text
    assert "idle" not in text


def test_counters_that_ran_backwards_or_not_at_all_are_no_share(samples: Any, shown: Any) -> None:
    text = text_of(shown, weighed(samples, NodeState(node="alpha", port_bytes={"a/1": (-5, 0), "b/1": (0, 0)})))
    assert "the split over ports is unknown" in text


def test_without_rails_to_weigh_there_is_nothing_to_say(samples: Any) -> None:
    assert render_rails(samples.run(), [samples.verdict()]) == []


def test_it_fits_eighty_columns(samples: Any, shown: Any) -> None:
    run, verdicts = weighed(samples, NodeState(node="n" * 40, port_bytes={"p" * 60: (5, 5), "q" * 60: (5, 5)}))
    assert max(map(len, shown(render_rails(run, verdicts)).splitlines())) <= 80
