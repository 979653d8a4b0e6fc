"""The options of three engines under one set of names."""

from __future__ import annotations

import shlex
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricdoc.errors import UsageError
from fabricdoc.serving import Served, derive_profile
from fabricdoc.serving.launch import find_launch
from fabricdoc.serving.launched import Found, from_launch
from tests.unit.serving.models import config

pytestmark = pytest.mark.unit


def _found(line: str, **environ: str) -> Found:
    launch = find_launch(shlex.split(line))
    assert launch is not None
    return from_launch(launch, environ)


@pytest.mark.parametrize(
    ("words", "fields"),
    [
        ("", {}),
        ("-tp 2", {"tp": 2}),
        ("--tensor-parallel-size 4 --pipeline-parallel-size 2 --data-parallel-size 2", {"tp": 4, "pp": 2, "dp": 2}),
        ("-tp 2 --enable-expert-parallel", {"tp": 2, "ep": 2}),
        ("-tp 2 -dp 2 -ep", {"tp": 2, "dp": 2, "ep": 4}),
        ("--max-num-seqs 8 --max-num-batched-tokens 8K", {"max_num_seqs": 8, "chunk": 8192}),
        ("--enforce-eager", {"graph": "none"}),
        ("--cudagraph-capture-sizes 4 1 2", {"captures": (1, 2, 4)}),
        ("--cuda-graph-sizes 1,2,8", {"captures": (1, 2, 8)}),
        ('-cc \'{"cudagraph_capture_sizes": [1, 6], "cudagraph_mode": "PIECEWISE"}\'',
         {"captures": (1, 6), "graph": "piecewise"}),
        ("-cc.cudagraph_mode=NONE", {"graph": "none"}),
        ("-cc 3", {}),
        ("-cc '{'", {}),
        ("--disable-custom-all-reduce", {"custom_ar": False}),
        ("--all2all-backend deepep_low_latency", {"deepep": True}),
        ('--speculative-config \'{"method": "mtp", "num_speculative_tokens": 3}\'', {"spec_tokens": 3, "draft": "mtp"}),
        ('-sc \'{"method": "qwen3_next_mtp", "num_speculative_tokens": 2, "use_local_argmax_reduction": true}\'',
         {"spec_tokens": 2, "draft": "mtp", "local_argmax": True}),
        ('-sc \'{"method": "eagle3", "model": "x", "num_speculative_tokens": 4}\'',
         {"spec_tokens": 4, "draft": "eagle"}),
        ('-sc \'{"method": "ngram", "num_speculative_tokens": 5}\'', {"spec_tokens": 5, "draft": "none"}),
        ('-sc \'{"num_speculative_tokens": 1}\'', {"spec_tokens": 1}),
        ('-sc \'{"num_speculative_tokens": true}\'', {}),
        ('-sc \'{"num_speculative_tokens": 10000}\'', {}),
        ("--speculative-config.method mtp --speculative-config.num_speculative_tokens 3",
         {"spec_tokens": 3, "draft": "mtp"}),
        ("--num-speculative-tokens 3", {"spec_tokens": 3}),
    ],
)  # fmt: skip
def test_vllm(words: str, fields: dict[str, Any]) -> None:
    assert _found(f"vllm serve M {words}").served == Served(**fields)


@pytest.mark.parametrize(
    ("words", "fields"),
    [
        ("--tp 2", {"tp": 2}),
        ("--tp-size 8 --ep-size 8", {"tp": 8, "ep": 8}),
        ("--tp 8 --dp 8 --enable-dp-attention --ep 8", {"tp": 1, "dp": 8, "ep": 8}),
        ("--tp 2 --dp 4", {"tp": 2}),
        ("--chunked-prefill-size 4096 --max-running-requests 28", {"chunk": 4096, "max_num_seqs": 28}),
        ("--chunked-prefill-size -1", {}),
        ("--disable-cuda-graph", {"graph": "none"}),
        ("--cuda-graph-bs 1 2 3 4", {"captures": (1, 2, 3, 4)}),
        ("--cuda-graph-max-bs 16", {"max_num_seqs": 16}),
        ("--enable-fp32-lm-head --enable-symm-mem", {"float32_head": True, "symm_mem": True}),
        ("--moe-a2a-backend deepep", {"deepep": True}),
        ("--speculative-algorithm NEXTN --speculative-num-steps 3 --speculative-num-draft-tokens 4",
         {"spec_tokens": 3, "draft": "mtp"}),
        ("--speculative-algorithm EAGLE --speculative-num-steps 2", {"spec_tokens": 2}),
        ("--speculative-algorithm EAGLE3 --speculative-draft-model-path D --speculative-num-steps 3",
         {"spec_tokens": 3, "draft": "eagle"}),
        ("--speculative-algorithm NGRAM --speculative-num-draft-tokens 8", {"spec_tokens": 7, "draft": "none"}),
    ],
)  # fmt: skip
def test_sglang(words: str, fields: dict[str, Any]) -> None:
    found = _found(f"python -m sglang.launch_server --model-path M {words}")
    assert found.served == Served(engine="sglang", **fields)
    assert found.model == "M"


@pytest.mark.parametrize(
    ("words", "fields"),
    [
        ("--tp_size 2 --ep_size 2", {"tp": 2, "ep": 2}),
        ("--tp_size 8 --pp_size 2 --gpus_per_node 8", {"tp": 8, "pp": 2, "gpus_per_node": 8}),
        ("--max_batch_size 64 --max_num_tokens 4096", {"max_num_seqs": 64, "chunk": 4096}),
    ],
)
def test_trtllm(words: str, fields: dict[str, Any]) -> None:
    found = _found(f"trtllm-serve org/M {words}")
    assert found.served == Served(engine="trtllm", **fields)
    assert found.model == "org/M"


@pytest.mark.parametrize(
    ("line", "model"),
    [
        ("vllm serve org/M --tp 2", "org/M"),
        ("vllm serve --model org/M", "org/M"),
        ("python -m vllm.entrypoints.openai.api_server --model /m", "/m"),
        ("vllm serve --tp 2", ""),
    ],
)
def test_the_model(line: str, model: str) -> None:
    assert _found(line).model == model


def test_nodes_divide_the_ranks() -> None:
    assert _found("vllm serve M -tp 8 --nnodes 2").served.gpus_per_node == 4
    assert _found("vllm serve M -tp 8 -pp 2 -n 2").served.gpus_per_node == 8
    assert _found("vllm serve M -tp 2").notes[0].startswith("the launch line does not say where ranks sit")
    assert _found("vllm serve M --max-num-seqs 4").notes == ()


def test_without_the_most_requests_captured_batches_are_said_not_to_be_counted() -> None:
    assert _found("vllm serve M").notes == ("no --max-num-seqs in the launch line: captured batches are not counted",)


def test_sglang_may_reduce_the_sampled_ids() -> None:
    line = "sglang serve --model-path M --tp 2"
    assert _found(line, SYNC_TOKEN_IDS_ACROSS_TP="1").served.sync_token_ids
    assert not _found("vllm serve M -tp 2", SYNC_TOKEN_IDS_ACROSS_TP="1").served.sync_token_ids
    served = _found(line, SYNC_TOKEN_IDS_ACROSS_TP="true").served
    (ids,) = [one for one in derive_profile(config(), served).decode.collectives if one.role == "sampled ids"]
    assert (ids.op, ids.size, ids.in_graph, ids.confidence) == ("all_reduce", 8, False, "assumed")


def test_files_that_are_not_read_are_told() -> None:
    assert any(
        "--extra-llm-api-options" in note for note in _found("trtllm-serve M --extra_llm_api_options x.yaml").notes
    )


def test_independent_replicas_are_told() -> None:
    notes = _found("sglang serve --model-path M --tp 2 --dp 4").notes
    assert "4 independent replicas: these are the collectives of one" in notes


@pytest.mark.parametrize(
    ("environ", "field"),
    [
        ({"VLLM_ENABLE_ROCE_ALLREDUCE": "1"}, "rocenante"),
        ({"VLLM_USE_NCCL_SYMM_MEM": "1"}, "symm_mem"),
        ({"VLLM_ALL2ALL_BACKEND": "deepep_high_throughput"}, "deepep"),
    ],
)
def test_the_environment_switches_carriers(environ: dict[str, str], field: str) -> None:
    assert getattr(_found("vllm serve M", **environ).served, field) is True
    assert getattr(_found("vllm serve M", **dict.fromkeys(environ, "0")).served, field) is False


def test_a_value_that_is_no_number_is_named() -> None:
    with pytest.raises(UsageError, match="--tensor-parallel-size is 'two'"):
        _found("vllm serve M -tp two")


OPTIONS = [
    "-tp", "-pp", "-dp", "-ep", "--max-num-seqs", "--max-num-batched-tokens", "-cc", "-sc", "--nnodes", "--ep-size",
    "--cuda-graph-bs", "--enforce-eager", "--speculative-algorithm", "--speculative-num-steps", "--gpus-per-node",
    "--speculative-num-draft-tokens", "--enable-dp-attention", "--chunked-prefill-size", "-cc.cudagraph_mode",
]  # fmt: skip
VALUES = ["0", "1", "2", "8", "-1", "8k", "999999999", "x", "", "NGRAM", '{"num_speculative_tokens": 2}', "[1]", "{"]


@pytest.mark.long
@settings(deadline=None, max_examples=300)
@given(
    lead=st.sampled_from([["vllm", "serve", "M"], ["sglang", "serve"], ["trtllm-serve", "M"]]),
    words=st.lists(st.sampled_from(OPTIONS + VALUES), max_size=12),
)
def test_no_launch_line_ends_in_anything_but_a_profile_or_a_named_fault(lead: list[str], words: list[str]) -> None:
    launch = find_launch([*lead, *words])
    assert launch is not None
    try:
        profile = derive_profile(config(), from_launch(launch, {}).served)
    except UsageError as error:
        assert error.message and error.status == 2
    else:
        assert profile.decode.rows > 0
