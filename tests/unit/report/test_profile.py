"""A profile: collectives per decode step and prefill chunk."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.model.profile import Captured, StepTime
from fabricdoc.report.profile import render_profile

pytestmark = pytest.mark.unit


def test_both_stages_and_the_source(samples: Any, shown: Any) -> None:
    text = shown(render_profile(samples.profile()))
    assert text.startswith("profile    dense-small-tp2  a dense model over two nodes\n")
    assert "one decode step of 1 row: 64 all-reduces (1.2 MiB), 0 all-gathers (0 B)\n" in text
    assert "one prefill chunk" in text
    assert ["attention", "output", "all_reduce", "64", "20", "KiB", "bfloat16", "yes", "derived"] in [
        row.split() for row in text.splitlines()
    ]
    assert text.endswith("source     derived from its config\n")


def test_an_empty_stage_has_no_table(samples: Any, shown: Any) -> None:
    profile = samples.profile()
    empty = profile.decode.model_copy(update={"collectives": ()})
    text = shown(render_profile(profile.model_copy(update={"decode": empty, "prefill": empty})))
    assert "role" not in text


def test_what_is_known_of_the_step_and_of_captured_batches(samples: Any, shown: Any) -> None:
    profile = samples.profile()
    stage = profile.decode
    captured = Captured(rows=8, collectives=stage.collectives, totals=stage.totals, batch=5)
    changed = {"captured": (captured,), "step": StepTime(compute_ms=40, tokens=2.5), "notes": ("counted by rule",)}
    text = shown(render_profile(profile.model_copy(update=changed)))
    rows = [row.split() for row in text.splitlines()]
    assert ["5", "8", "64", "1.2", "MiB", "0", "B"] in rows
    assert "step       40 ms without communication, 2.5 tokens a step\n" in text
    assert text.endswith("note       counted by rule\n")


def test_what_carries_a_message_is_shown_where_it_is_not_always_nccl(samples: Any, shown: Any) -> None:
    profile = samples.profile()
    (one,) = profile.decode.collectives
    rows = (one, one.model_copy(update={"bypass": "rocenante"}), one.model_copy(update={"spans_nodes": False}))
    stage = profile.decode.model_copy(update={"collectives": rows})
    text = shown(render_profile(profile.model_copy(update={"decode": stage})))
    assert "carried by" in text and "rocenante" in text and "NCCL in a node" in text
    assert "carried by" not in shown(render_profile(profile))


def test_rows_that_a_trace_does_not_tell_are_left_out(samples: Any, shown: Any) -> None:
    profile = samples.profile()
    stage = profile.decode.model_copy(update={"rows": 0})
    assert "one decode step: 64 all-reduces" in shown(render_profile(profile.model_copy(update={"decode": stage})))
