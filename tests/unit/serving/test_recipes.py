"""A recipe's .env says how its start script serves; what it leaves out is the script's own default."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.errors import UsageError
from fabricdoc.serving import Served
from fabricdoc.serving.recipes import from_recipe, is_recipe

pytestmark = pytest.mark.unit

DUAL = {
    "HEAD_IP": "10.0.0.1", "WORKER_IP": "10.0.0.2", "IFACE": "enp1s0f0np0", "IB_HCA": "=rocep1s0f0",
    "MODEL_ID": "org/M", "TENSOR_PARALLEL_SIZE": "2", "MAX_NUM_SEQS": "8", "MAX_NUM_BATCHED_TOKENS": "8192",
}  # fmt: skip
SERVED = Served(tp=2, ep=2, spec_tokens=3, draft="mtp", chunk=8192, max_num_seqs=8)


def test_the_dual_spark_env_with_the_scripts_defaults() -> None:
    found = from_recipe(DUAL)
    assert (found.served, found.model) == (SERVED, "org/M")
    assert any("start.sh" in note for note in found.notes)


@pytest.mark.parametrize(
    ("changes", "fields"),
    [
        ({"MTP_NUM_SPECULATIVE_TOKENS": "0"}, {"spec_tokens": 0, "draft": "auto"}),
        ({"MTP_NUM_SPECULATIVE_TOKENS": "2"}, {"spec_tokens": 2}),
        ({"ENABLE_EXPERT_PARALLEL": "false"}, {"ep": 0}),
        ({"MTP_DRAFT_VOCAB": "files/v.txt"}, {"local_argmax": True}),
        ({"MTP_DRAFT_VOCAB": ""}, {}),
        ({"PLE_OFFLOAD": "true"}, {"ngram_local": True}),
        ({"VLLM_ENABLE_ROCE_ALLREDUCE": "1"}, {"rocenante": True}),
        ({"CONTAINER_VLLM_ENABLE_ROCE_ALLREDUCE": "1"}, {"rocenante": True}),
        ({"EXTRA_VLLM_ARGS": "--enforce-eager --seed 3"}, {"graph": "none"}),
    ],
)
def test_what_the_env_says_wins(changes: dict[str, str], fields: dict[str, Any]) -> None:
    base = {name: getattr(SERVED, name) for name in SERVED.__slots__}
    assert from_recipe(DUAL | changes).served == Served(**(base | fields))


def test_the_sglang_recipe() -> None:
    found = from_recipe(
        {"WORKER_HOST": "b", "SPEC_STEPS": "3", "MAX_RUNNING_REQUESTS": "28", "CHUNKED_PREFILL_SIZE": "1024",
         "CUDA_GRAPH_BS": "1 2 3 4 8"}
    )  # fmt: skip
    assert found.served == Served(
        tp=2, engine="sglang", spec_tokens=3, draft="mtp", chunk=1024, max_num_seqs=28, captures=(1, 2, 3, 4, 8)
    )
    assert (found.model, found.notes) == ("", ())


def test_other_files_give_what_their_names_say() -> None:
    assert from_recipe({"TP_SIZE": "4", "MODEL": "m"}).served == Served(tp=4)
    assert is_recipe({"TP_SIZE": "4"}) and not is_recipe({"NCCL_DEBUG": "INFO"})


@pytest.mark.parametrize("name", ["TENSOR_PARALLEL_SIZE", "MAX_NUM_SEQS", "CUDA_GRAPH_BS"])
def test_a_value_that_is_no_number_is_named(name: str) -> None:
    with pytest.raises(UsageError, match=f"{name} is 'many'"):
        from_recipe(DUAL | {name: "many"})
