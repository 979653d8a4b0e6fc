"""Which layer is what, by every rule that configs use for it."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.errors import InputError
from fabricdoc.serving.layers import blocks, feed_forwards, mixers
from tests.unit.serving.models import config

pytestmark = pytest.mark.unit


def _counts(kinds: tuple[str, ...]) -> dict[str, int]:
    return {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)}


@pytest.mark.parametrize(
    ("fields", "counts"),
    [
        ({}, {"attention": 12}),
        ({"layer_types": ["sliding_attention", "full_attention"] * 6}, {"attention": 12}),
        ({"layer_types": ["linear_attention"] * 9 + ["full_attention"] * 3}, {"linear": 9, "attention": 3}),
        ({"layer_types": ["mamba"] * 11 + ["attention"]}, {"mamba": 11, "attention": 1}),
        ({"layer_types": ["indexed_attention"] * 6 + ["qwen_sparse_attention"] * 6}, {"attention": 12}),
        ({"layer_types": ["conv"] * 10 + ["full_attention"] * 2}, {"other": 10, "attention": 2}),
        ({"full_attention_interval": 4}, {"linear": 9, "attention": 3}),
        ({"attn_layer_period": 8, "attn_layer_offset": 4}, {"mamba": 11, "attention": 1}),
        ({"attn_layer_period": 4}, {"attention": 3, "mamba": 9}),
        ({"attn_layer_indices": [3, 7]}, {"mamba": 10, "attention": 2}),
        ({"linear_attn_config": {"kda_layers": [1, 2, 3, 5], "full_attn_layers": [4]}}, {"linear": 4, "attention": 8}),
    ],
)
def test_mixers(fields: dict[str, Any], counts: dict[str, int]) -> None:
    assert _counts(mixers(config("x", **fields))) == counts


def test_the_interval_counts_from_the_last_of_each() -> None:
    assert mixers(config("x", full_attention_interval=4))[:4] == ("linear", "linear", "linear", "attention")


def test_kda_layers_are_counted_from_one() -> None:
    assert mixers(config("x", linear_attn_config={"kda_layers": [1]}))[:2] == ("linear", "attention")


@pytest.mark.parametrize(
    ("fields", "moe"),
    [
        ({"num_experts": 0}, []),
        ({"num_experts": None}, []),
        ({"num_experts": 8}, list(range(12))),
        ({"num_experts": 8, "decoder_sparse_step": 2}, [1, 3, 5, 7, 9, 11]),
        ({"num_experts": 8, "mlp_only_layers": [0, 5]}, [1, 2, 3, 4, 6, 7, 8, 9, 10, 11]),
        ({"n_routed_experts": 8, "first_k_dense_replace": 3}, list(range(3, 12))),
        ({"n_routed_experts": 8, "first_k_dense_replace": 1, "moe_layer_freq": 2}, [2, 4, 6, 8, 10]),
        ({"n_routed_experts": 8, "moe_layer_freq": [0, 1] * 6}, [1, 3, 5, 7, 9, 11]),
        ({"num_experts": 8, "expert_layer_period": 2, "expert_layer_offset": 1}, [1, 3, 5, 7, 9, 11]),
        ({"num_local_experts": 8, "interleave_moe_layer_step": 4}, [3, 7, 11]),
        ({"num_local_experts": 8, "moe_layers": [2, 4]}, [2, 4]),
        ({"num_experts": 8, "mlp_layer_types": ["dense"] + ["sparse"] * 11}, list(range(1, 12))),
    ],
)
def test_feed_forwards(fields: dict[str, Any], moe: list[int]) -> None:
    kinds = feed_forwards(config("x", **fields))
    assert [i for i, kind in enumerate(kinds) if kind == "moe"] == moe
    assert set(kinds) <= {"moe", "dense"} and len(kinds) == 12


def test_blocks_by_pattern_and_by_list() -> None:
    by_pattern = blocks(config("nemotron_h", hybrid_override_pattern="MEM*EM-EMM*E"))
    assert _counts(by_pattern) == {"mamba": 5, "moe": 4, "attention": 2, "dense": 1}
    listed = ["mamba", "moe", "attention", "mlp"] * 3
    assert _counts(blocks(config("nemotron_h", layers_block_type=listed))) == {
        "mamba": 3, "moe": 3, "attention": 3, "dense": 3,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"hybrid_override_pattern": "MMM"}, "names 3 layers, num_hidden_layers is 12"),
        ({"hybrid_override_pattern": "M" * 10_000}, "names 13 layers"),
        ({"hybrid_override_pattern": "MMMMMMMMMMMx"}, "has 'x', which is none of"),
        ({"hybrid_override_pattern": 5}, "has no layers_block_type and no hybrid_override_pattern"),
        ({}, "has no layers_block_type"),
        ({"layers_block_type": ["new"] * 12}, "has 'new'"),
    ],
)
def test_a_block_model_must_say_its_layers(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        blocks(config("nemotron_h", **fields))


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"layer_types": ["full_attention"]}, "layer_types names 1 layers, num_hidden_layers is 12"),
        ({"layer_types": "full"}, "layer_types is no list"),
        ({"layer_types": [1] * 12}, "layer_types has '1'"),
        ({"layer_types": ["x"] * 100_000}, "layer_types is no list"),
        ({"attn_layer_indices": {"a": 1}}, "attn_layer_indices is no list"),
    ],
)
def test_a_config_that_contradicts_itself(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        mixers(config("x", **fields))
