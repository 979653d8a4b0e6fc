"""The plan from a request: shapes, search, budget, arms, notes; what ends before it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fabricdoc.errors import NodeError, UsageError
from fabricdoc.model.fabric import FailedNode
from fabricdoc.model.profile import StepTime
from fabricdoc.serving import Served, decode_stages, derive_profile, parse_config
from fabricdoc.workflow.measuring import opened_agents
from fabricdoc.workflow.planning import new_run_id
from fabricdoc.workflow.requests import Request
from tests.fabrics import crossed_pair, node
from tests.unit.workflow.asked import SPECS, prepared

pytestmark = pytest.mark.unit


def test_inherited_variables_are_told() -> None:
    notes = prepared(Request(SPECS, backend="gloo", seed=1), environment={"NCCL_PROTO": "LL"}).notes
    assert any("NCCL_PROTO=LL" in note and note.startswith("alpha") for note in notes)


def test_one_node_has_nothing_between_nodes() -> None:
    fabric = crossed_pair().model_copy(update={"nodes": (node("alpha"),)})
    with pytest.raises(UsageError) as caught:
        opened_agents(Request(SPECS[:1]), fabric, lambda _: None)
    assert "--nodes" in caught.value.fix


def test_a_node_that_failed_the_scan_ends_it_with_its_own_fix() -> None:
    lost = FailedNode(name="beta", target="b", id="node-unreachable", message="no answer", fix="switch it on")
    fabric = crossed_pair().model_copy(update={"failed": (lost,)})
    with pytest.raises(NodeError) as caught:
        opened_agents(Request(SPECS), fabric, lambda _: None)
    assert (caught.value.id, caught.value.fix) == ("node-unreachable", "switch it on")


def test_run_ids_sort_by_time_and_differ() -> None:
    first, second = new_run_id(), new_run_id()
    assert first != second
    assert first[:15] <= second[:15]


def test_ops_dtype_and_place_are_those_asked_for() -> None:
    request = Request(
        SPECS,
        backend="gloo",
        sizes=(4096,),
        ops=("all_gather", "broadcast"),
        dtype="float16",
        out_of_place=True,
        seed=1,
    )
    shapes = prepared(request).run.plan.shapes
    assert not any(shape.in_place for shape in shapes)
    grid = [(shape.op, shape.size, shape.dtype) for shape in shapes if shape.phase == "grid"]
    assert grid == [("all_gather", 4096, "float16"), ("broadcast", 4096, "float16")]
    assert {shape.dtype for shape in shapes if shape.phase == "decode"} == {"bfloat16"}


def test_search_and_budget_are_in_the_plan() -> None:
    plan = prepared(Request(SPECS, backend="gloo", search="adaptive", budget_s=36000.0, seed=1)).run.plan
    assert (plan.search, plan.budget_s) == ("adaptive", 36000.0)


def test_a_budget_that_is_too_small_is_refused_before_anything_starts() -> None:
    with pytest.raises(UsageError) as caught:
        prepared(Request(SPECS, backend="nccl", budget_s=5.0))
    assert caught.value.id == "budget-too-small"


def test_arms_and_deadlines_are_in_the_plan_and_a_difference_raises_the_blocks() -> None:
    request = Request(SPECS, backend="nccl", seed=1, candidates=("decode:simple",), effect=0.05, skew=True,
                      path="both", gemm=(8, 64, 64), deadlines_s={"measure": 90.0})  # fmt: skip
    done = prepared(request)
    plan = done.run.plan
    assert (plan.path, plan.skew, plan.gemm, plan.deadlines_s) == ("both", True, (8, 64, 64), {"measure": 90.0})
    assert plan.launch_deadline_s == 100.0
    assert plan.blocks > 6
    assert any(note.startswith("to see 5.0% of one candidate") for note in done.notes)


def test_every_captured_batch_is_measured_and_told(tmp_path: Path) -> None:
    config = {"model_type": "llama", "hidden_size": 1024, "num_hidden_layers": 2, "vocab_size": 32000}
    derived = derive_profile(parse_config(config, "c.json"), Served(tp=2, max_num_seqs=8, chunk=64))
    file = tmp_path / "mine.json"
    file.write_text(derived.model_dump_json(), encoding="utf-8")
    request = Request(specs=SPECS, backend="gloo", profile=str(file), weights={"decode": 0.5, "prefill": 0.5})
    ready = prepared(request)
    timed = {(shape.op, shape.size) for shape in ready.run.plan.shapes}
    sent = {(one.op, one.size) for stage in decode_stages(derived) for one in stage.collectives}
    assert len({stage.rows for stage in decode_stages(derived)}) == 4
    assert sent <= timed
    assert any(note.startswith("decode is scored over 4 captured batches (1 to 8 rows)") for note in ready.notes)
    assert ready.run.plan.weights == {"decode": 0.5, "prefill": 0.5}
    assert not any("captured" in note for note in prepared(Request(specs=SPECS, backend="gloo")).notes)


def test_a_steps_time_said_on_the_command_line_is_the_profiles() -> None:
    ready = prepared(Request(specs=SPECS, backend="gloo", step=StepTime(compute_ms=40.0)))
    assert ready.profile.step == StepTime(compute_ms=40.0)


def test_the_estimate_holds_the_check_of_a_set_with_several_lines(tmp_path: Path) -> None:
    def estimated(lines: str, **more: Any) -> int:
        file = tmp_path / "mine.toml"
        file.write_text(f'backend = "nccl"\nsummary = "s"\n[[candidate]]\nname = "a"\nwhy = "w"\nsource = "s"\n{lines}')
        ready = prepared(Request(specs=SPECS, candidates=(str(file),), blocks=6, **more))
        return ready.run.plan.estimate.launches

    one = estimated('variables = {NCCL_BUFFSIZE = "1048576"}')
    two = estimated('variables = {NCCL_BUFFSIZE = "1048576", NCCL_NCHANNELS_PER_NET_PEER = "1"}')
    assert two == one + 6 * 5 + 1 + 6 * 4
