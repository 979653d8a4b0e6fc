"""A profile: collectives per decode step and prefill chunk."""

from __future__ import annotations

from typing import Any

import pytest

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
