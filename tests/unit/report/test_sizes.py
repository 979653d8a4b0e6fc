"""A run size by size: base first, then each candidate; what does not count is not counted."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.model.run import Candidate
from fabricdoc.report.sizes import render_sizes, telling

pytestmark = pytest.mark.unit


def text_of(shown: Any, *parts: Any, **more: Any) -> str:
    return str(shown(render_sizes(*parts, **more)))


def test_base_then_the_candidate_with_ratio_and_verdict(samples: Any, shown: Any) -> None:
    text = text_of(shown, samples.run(), samples.verdict())
    rows = [line.split() for line in text.splitlines() if "base" in line or "tree" in line]
    assert rows[0][:6] == ["20", "KiB", "base", "41.0", "45.1", "49.2"]
    assert rows[1][:4] == ["tree", "30.0", "33.0", "36.0"]
    assert rows[1][4:] == ["1.21", "[1.18,", "1.24]", "better"]
    assert "graph: all_reduce bfloat16" in text


def test_everything_fits_eighty_columns(samples: Any, shown: Any) -> None:
    run = samples.run(("base", "a-very-long-name-of-a-candidate-" + "x" * 60))
    assert max(map(len, text_of(shown, run, samples.verdict()).splitlines())) <= 80


def test_without_a_verdict_the_times_stand_alone(samples: Any, shown: Any) -> None:
    text = text_of(shown, samples.run())
    assert "30.0" in text
    assert "better" not in text


def test_failed_proof_and_disturbed_launches_do_not_count(samples: Any, shown: Any) -> None:
    run = samples.run()
    spoilt = [
        samples.launch(10, "base", 900.0, round="proof", block=0),
        samples.launch(11, "base", 900.0, block=9, disturbed="clocks fell"),
        samples.launch(12, "tree", 900.0, block=9),
        samples.launch(13, "tree", 900.0, status="incorrect", block=3),
    ]
    more = run.model_copy(update={"launches": (*run.launches, *spoilt)})
    assert text_of(shown, more) == text_of(shown, run)


def test_throughput_has_bandwidths_as_nccl_tests_defines_them(samples: Any, shown: Any) -> None:
    run = samples.run()
    launches = []
    for launch in run.launches:
        cells = tuple(c.model_copy(update={"view": "throughput", "size": 1 << 20}) for c in launch.cells)
        launches.append(launch.model_copy(update={"cells": cells}))
    text = text_of(shown, run.model_copy(update={"launches": tuple(launches)}))
    assert "busbw GB/s" in text
    base = next(line for line in text.splitlines() if "base" in line)
    assert f"{(1 << 20) / 41.0 / 1e3:.3g}" in base  # two ranks: the factor of all_reduce is 1


def test_types_and_places_have_tables_of_their_own(samples: Any, shown: Any) -> None:
    run = samples.run()
    first = run.launches[0]
    cell = first.cells[0]
    more = (cell.model_copy(update={"dtype": "float32"}), cell.model_copy(update={"in_place": False}))
    text = text_of(shown, run.model_copy(update={"launches": (first.model_copy(update={"cells": (cell, *more)}),)}))
    assert "graph: all_reduce bfloat16, µs" in text
    assert "graph: all_reduce bfloat16, out of place, µs" in text
    assert "graph: all_reduce float32, µs" in text


def test_only_the_named_are_shown_and_the_rest_is_pointed_to(samples: Any, shown: Any) -> None:
    run = samples.run()
    plan = run.plan.model_copy(update={"candidates": (*run.plan.candidates, Candidate(name="ring"))})
    text = text_of(shown, run.model_copy(update={"plan": plan}), None, ("tree",))
    assert f"1 more candidate: fabricdoc runs show {run.id} --sizes" in text


def test_a_run_without_launches_has_no_table(samples: Any, shown: Any) -> None:
    assert render_sizes(samples.run().model_copy(update={"launches": ()})) == []


def test_the_chosen_and_the_users_own_come_first(samples: Any) -> None:
    run, verdict = samples.run(), samples.verdict()
    assert telling(run, verdict) == ("tree",)
    current = Candidate(name="current", role="current", on_base=False)
    plan = run.plan.model_copy(update={"candidates": (*run.plan.candidates, current)})
    assert telling(run.model_copy(update={"plan": plan}), verdict) == ("tree", "current")
