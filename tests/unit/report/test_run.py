"""A run: launches per candidate, noise of base, failures."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.report.kinds import render
from fabricdoc.report.run import MOST_FAILURES, base_noise, key_cell, render_run

pytestmark = pytest.mark.unit


def test_the_launches_of_each_candidate(samples: Any, shown: Any) -> None:
    rows = shown(render_run(samples.run())).splitlines()
    assert rows[0] == "run        20260101-000000-ab12  complete"
    head = next(number for number, row in enumerate(rows) if row.startswith("  candidate"))
    assert "all_reduce 20 KiB graph, µs" in rows[head]
    assert rows[head + 1].split() == ["base", "2", "0", "41.0", "seen"]
    assert rows[head + 2].split() == ["tree", "1", "1", "30.0", "seen"]


def test_the_key_cell_is_the_decode_size_sent_most(samples: Any) -> None:
    plan = samples.plan()
    assert key_cell(plan) == ("graph", "all_reduce", 20480)
    grid = plan.model_copy(update={"shapes": plan.shapes[:1], "views": ("eager",)})
    assert key_cell(grid) == ("eager", "all_reduce", 8)
    assert key_cell(plan.model_copy(update={"shapes": ()}))[2] == 0


def test_noise_is_the_spread_of_base(samples: Any, shown: Any) -> None:
    run = samples.run()
    assert base_noise(run) == {("graph", "all_reduce", 20480): pytest.approx(2 / 41)}
    assert "4.9 % apart" in shown(render_run(run))
    proof = samples.launch(9, "base", 400.0, round="proof")
    failed = samples.launch(10, "base", 400.0, status="incorrect")
    more = run.model_copy(update={"launches": (*run.launches, proof, failed)})
    assert base_noise(more) == base_noise(run)
    single = run.model_copy(update={"launches": run.launches[:2]})
    assert base_noise(single) == {}
    assert "fewer than two good launches" in shown(render_run(single))


def test_a_failure_says_what_where_and_the_last_words(samples: Any, shown: Any) -> None:
    text = shown(render_run(samples.run()))
    joined = " ".join(text.split())
    assert "launch 4 (tree, search block 3): timeout in connect, rank 1: no word from rank 1 for 60 s" in joined
    assert text.endswith("    two\n    three\n    NCCL WARN four\n")
    assert "    one\n" not in text


def test_many_failures_are_counted(samples: Any, shown: Any) -> None:
    failed = tuple(
        samples.launch(number, "tree", 1.0, status="failed", cells=()) for number in range(MOST_FAILURES + 2)
    )
    text = shown(render_run(samples.run().model_copy(update={"launches": failed})))
    assert text.count("\nlaunch ") == MOST_FAILURES
    assert "and 2 more failed launches" in text


def test_a_run_that_has_not_begun(samples: Any, shown: Any) -> None:
    empty = samples.run().model_copy(update={"launches": (), "status": "interrupted", "reason": "Ctrl-C"})
    text = shown(render_run(empty))
    assert "interrupted: Ctrl-C" in text
    assert "no launch yet" in text


def test_a_candidate_the_plan_does_not_name_is_shown_too(samples: Any, shown: Any) -> None:
    run = samples.run()
    assert "stray" in shown(render_run(run.model_copy(update={"launches": (samples.launch(1, "stray", 5.0),)})))


GLOO = (
    "RuntimeError: Gloo connectFullMesh failed with [/__w/pytorch/gloo/transport/tcp/pair.cc:152] timed out "
    "connecting: SO_ERROR: Connection refused, remote=[{address}]:48019$1"
)


def failed_with(samples: Any, candidate: str, address: str, shown: Any) -> str:
    raw = GLOO.format(address=address)
    tail = ("Traceback (most recent call last):", "    backend_class = ProcessGroupGloo(", f"  {raw}")
    one = samples.launch(1, candidate, 1.0, status="failed", phase="init", rank=1, reason=raw, log_tail=tail, cells=())
    run = samples.run()
    base, tree = run.plan.candidates
    bare = tree.model_copy(update={"name": "default", "role": "default", "variables": {}, "on_base": False})
    bound = base.model_copy(update={"variables": {"GLOO_SOCKET_IFNAME": "p0"}})
    plan = run.plan.model_copy(update={"candidates": (bound, bare)})
    return " ".join(shown(render_run(run.model_copy(update={"plan": plan, "launches": (one,)}))).split())


def test_a_failure_is_told_once_without_source_places(samples: Any, shown: Any) -> None:
    text = failed_with(samples, "default", "10.77.0.2", shown)
    assert text.count("connectFullMesh failed with timed out connecting: SO_ERROR: Connection refused") == 1
    assert "pair.cc" not in text
    assert "Traceback" not in text


def test_gloo_on_the_loopback_is_told_by_its_cause(samples: Any, shown: Any) -> None:
    text = failed_with(samples, "default", "127.0.0.1", shown)
    assert "failed in init, rank 1: without GLOO_SOCKET_IFNAME gloo offered the loopback address 127.0.0.1" in text
    assert "connectFullMesh" not in text
    assert "connectFullMesh" in failed_with(samples, "base", "127.0.0.1", shown), "base says which interface to take"


def test_a_plan_is_not_called_running(samples: Any, shown: Any) -> None:
    run = samples.run().model_copy(update={"status": "running", "launches": ()})
    text = shown(render(run, "plan"))
    assert text.startswith("run        planned, nothing was started\n")
    assert run.id not in text
    assert "running" not in text
    assert "2 candidates x 6 blocks" in " ".join(text.split())


def test_without_any_proof_no_column_says_none(samples: Any, shown: Any) -> None:
    run = samples.run()
    assert "proof of path" in " ".join(shown(render_run(run)).split())
    bare = tuple(one.model_copy(update={"proof": None}) for one in run.launches)
    assert "proof" not in shown(render_run(run.model_copy(update={"launches": bare}))).replace("proof block", "")
