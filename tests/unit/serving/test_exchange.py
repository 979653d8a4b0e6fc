"""Pipelines and data-parallel experts: what crosses, in which group, and that it is marked assumed."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.model.profile import Stage
from fabricdoc.serving import Served, derive_profile
from tests.unit.serving.models import config, roles

pytestmark = pytest.mark.unit

H = 1024 * 2


def _stage(fields: dict[str, Any], **served: Any) -> Stage:
    return derive_profile(config("qwen3_moe", **fields), Served(**served)).decode


def test_two_stages_of_one_rank_have_no_all_reduce() -> None:
    stage = _stage({}, tp=1, pp=2, batch=4)
    assert [(one.op, one.count, one.size, one.group) for one in stage.collectives] == [
        ("send_recv", 2, 4 * H, "pp"), ("broadcast", 1, 4 * 8, "pp"),
    ]  # fmt: skip
    assert (stage.totals.collectives, stage.totals.all_reduce, stage.totals.all_gather) == (3, 0, 0)


def test_stages_of_several_ranks_send_slices_and_gather_them() -> None:
    stage = _stage({}, tp=2, pp=3)
    found = {one.role: one for one in stage.collectives}
    assert (found["pipeline boundary"].count, found["pipeline boundary"].size) == (4, H // 2)
    gathered = found["pipeline boundary, gathered"]
    assert (gathered.op, gathered.count, gathered.size, gathered.send_bytes, gathered.group) == (
        "all_gather", 4, H, H // 2, "tp",
    )  # fmt: skip
    assert stage.totals.all_reduce == 25


def test_dense_replicas_send_nothing_to_each_other_and_that_is_told() -> None:
    profile = derive_profile(config("llama"), Served(tp=2, dp=4))
    assert profile.decode.collectives == derive_profile(config("llama"), Served(tp=2)).decode.collectives
    assert any("replicas of a dense model" in note for note in profile.notes)


EXPERTS = {"num_experts": 64, "num_experts_per_tok": 8}


def test_replicas_of_one_rank_exchange_hidden_rows_weights_and_ids() -> None:
    stage = _stage(EXPERTS, tp=1, dp=2, ep=2, batch=4)
    assert [(one.role, one.op, one.count, one.size, one.send_bytes, one.dtype) for one in stage.collectives] == [
        ("MoE dispatch, hidden", "all_gather", 12, 2 * 4 * H, 4 * H, "bfloat16"),
        ("MoE dispatch, router weights", "all_gather", 12, 2 * 4 * 8 * 4, 4 * 8 * 4, "float32"),
        ("MoE dispatch, expert ids", "all_gather", 12, 2 * 4 * 8 * 4, 4 * 8 * 4, "int32"),
        ("MoE combine", "reduce_scatter", 12, 2 * 4 * H, 2 * 4 * H, "bfloat16"),
    ]
    assert {(one.group, one.confidence) for one in stage.collectives} == {("dp", "assumed")}


def test_tensor_and_expert_parallel_together_replace_the_sum() -> None:
    stage = _stage(EXPERTS, tp=2, dp=2, ep=4, batch=4)
    counts = roles(stage)
    assert stage.totals.all_reduce == 13  # embedding and attention: the MoE's own is gone
    assert (counts["MoE combine"], counts["MoE output, gathered"]) == (12, 12)
    assert {one.group for one in stage.collectives if one.role.startswith("MoE dispatch")} == {"ep"}


def test_tensor_parallel_experts_of_replicas_keep_the_sum() -> None:
    stage = _stage(EXPERTS, tp=2, dp=2, batch=4)
    assert stage.totals.all_reduce == 25
    assert {one.op for one in stage.collectives if one.group == "dp"} == {"all_gather", "reduce_scatter"}


def test_deepep_is_not_nccls() -> None:
    stage = _stage(EXPERTS, tp=2, dp=2, ep=4, deepep=True)
    assert {one.bypass for one in stage.collectives if one.group == "ep"} == {"nvshmem"}
    assert {one.bypass for one in stage.collectives if one.group == "tp"} == {"none"}


@pytest.mark.parametrize("top_k", [1, 3, 7])
def test_gathers_are_whole_shares_of_every_rank(top_k: int) -> None:
    stage = _stage({"num_experts": 64, "num_experts_per_tok": top_k}, tp=8, dp=2, ep=16)
    for one in stage.collectives:
        if one.op == "all_gather":
            assert one.size % one.send_bytes == 0 and one.size > one.send_bytes
