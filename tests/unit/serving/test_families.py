"""Every family named by the facts: its calls a pass, by op and bytes, for TP 2 and more, in decode and in prefill."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.serving import Served, derive_profile
from fabricdoc.serving.families import FAMILIES, family_of
from tests.unit.serving.models import config, reference, roles, sent

pytestmark = pytest.mark.unit

LAYERS, HIDDEN, VOCABULARY = 12, 1024, 32000
NORMAL = [
    "llama", "mistral", "qwen2", "qwen3", "gemma", "gemma2", "gemma3", "mixtral", "qwen2_moe", "qwen3_moe", "glm4_moe",
    "granitemoe", "llama4", "deepseek_v2", "deepseek_v3", "deepseek_v32", "kimi_k2", "kimi_k25", "qwen3_next",
    "qwen3_5", "qwen3_5_moe", "kimi_linear", "gpt_oss", "jamba", "hy_v3", "cohere2_moe",
]  # fmt: skip


@pytest.mark.parametrize("kind", NORMAL)
@pytest.mark.parametrize("tp", [2, 4, 8])
def test_a_normal_decoder_sends_one_and_two_a_layer_and_its_logits(kind: str, tp: int) -> None:
    profile = derive_profile(config(kind), Served(tp=tp, batch=4, chunk=512))
    for stage, rows, logits in ((profile.decode, 4, 4), (profile.prefill, 512, 1)):
        assert stage.rows == rows
        assert sent(stage) == {
            ("all_reduce", rows * HIDDEN * 2, rows * HIDDEN * 2): 1 + 2 * LAYERS,
            ("all_gather", logits * VOCABULARY * 2, logits * VOCABULARY * 2 // tp): 1,
        }
        assert (stage.totals.all_reduce, stage.totals.all_gather) == (1 + 2 * LAYERS, 1)
        assert stage.totals.all_reduce_bytes == (1 + 2 * LAYERS) * rows * HIDDEN * 2
        assert {one.confidence for one in stage.collectives} == {"derived"}


@pytest.mark.parametrize(
    ("kind", "fields", "wanted"),
    [
        ("llama", {}, {"attention output projection": 12, "MLP down projection": 12}),
        ("mixtral", {"num_local_experts": 8}, {"attention output projection": 12, "MoE combine": 12}),
        (
            "deepseek_v3",
            {"n_routed_experts": 64, "first_k_dense_replace": 3, "kv_lora_rank": 512},
            {"attention output projection": 12, "MLP down projection": 3, "MoE combine": 9},
        ),
        (
            "qwen3_next",
            {"num_experts": 64, "full_attention_interval": 4},
            {"attention output projection": 3, "GDN output projection": 9, "MoE combine": 12},
        ),
        (
            "kimi_linear",
            {"num_experts": 64, "linear_attn_config": {"kda_layers": [1, 2, 3]}},
            {"attention output projection": 9, "KDA output projection": 3, "MoE combine": 12},
        ),
        (
            "jamba",
            {"num_experts": 16, "attn_layer_period": 4, "expert_layer_period": 2, "expert_layer_offset": 1},
            {"attention output projection": 3, "Mamba output projection": 9, "MLP down projection": 6,
             "MoE combine": 6},
        ),
    ],
)  # fmt: skip
def test_the_roles_name_what_the_layers_are(kind: str, fields: dict[str, Any], wanted: dict[str, int]) -> None:
    found = roles(derive_profile(config(kind, **fields), Served(tp=2)).decode)
    assert found == {"embedding": 1, **wanted, "target logits": 1}


@pytest.mark.parametrize("ep", [0, 2])
@pytest.mark.parametrize("top_k", [1, 8])
def test_experts_cost_one_call_of_the_hidden_width_however_they_are_spread(ep: int, top_k: int) -> None:
    made = config("qwen3_moe", num_experts=64, num_experts_per_tok=top_k, shared_expert_intermediate_size=512)
    found = sent(derive_profile(made, Served(tp=2, ep=ep)).decode)
    assert found["all_reduce", HIDDEN * 2, HIDDEN * 2] == 25


@pytest.mark.parametrize(
    ("kind", "fields", "tp", "extra"),
    [
        ("bamba", {"mamba_n_groups": 1}, 2, {("all_reduce", 4 * 4, 4 * 4): 9}),
        ("bamba", {}, 2, {("all_reduce", 4 * 4, 4 * 4): 9}),
        ("bamba", {"mamba_n_groups": 8}, 2, {}),
        ("bamba", {"mamba_n_groups": 8}, 8, {}),
        ("bamba", {"mamba_n_groups": 2}, 4, {("all_gather", 4 * 2048 * 4, 4 * 512 * 4): 9}),
        ("granitemoehybrid", {"mamba_n_groups": 1}, 4, {("all_reduce", 16, 16): 9}),
        ("granitemoehybrid", {"mamba_n_groups": 4}, 4, {}),
        (
            "granitemoehybrid",
            {"mamba_n_groups": 2, "mamba_n_heads": 32, "mamba_d_head": 48},
            4,
            {("all_gather", 4 * 1536 * 4, 4 * 384 * 4): 9},
        ),
        ("jamba", {"mamba_n_groups": 1}, 2, {}),
    ],
)
def test_the_gated_norm_of_mamba_2(
    kind: str, fields: dict[str, Any], tp: int, extra: dict[tuple[str, int, int], int]
) -> None:
    made = config(kind, layer_types=["mamba"] * 9 + ["attention"] * 3, **fields)
    found = sent(derive_profile(made, Served(tp=tp, batch=4)).decode)
    normal = {
        ("all_reduce", 4 * HIDDEN * 2, 4 * HIDDEN * 2): 25,
        ("all_gather", 4 * VOCABULARY * 2, 4 * VOCABULARY * 2 // tp): 1,
    }
    assert found == normal | extra


def test_the_norms_are_float32() -> None:
    made = config("bamba", layer_types=["mamba"] * 12, mamba_n_groups=1)
    (norm,) = [one for one in derive_profile(made, Served(tp=2)).decode.collectives if "norm" in one.role]
    assert (norm.dtype, norm.size, norm.count) == ("float32", 4, 12)


@pytest.mark.parametrize(
    ("fields", "extra"),
    [
        ({}, 0),
        ({"mamba_rms_norm": False}, 0),
        ({"mamba_rms_norm": True, "mamba_n_groups": 1}, 12),
        ({"mamba_rms_norm": True, "mamba_n_groups": 2}, 0),
    ],
)
def test_falcon_h1_has_three_a_layer(fields: dict[str, Any], extra: int) -> None:
    totals = derive_profile(config("falcon_h1", **fields), Served(tp=2)).decode.totals
    assert (totals.all_reduce, totals.all_gather) == (1 + 3 * LAYERS + extra, 1)


PATTERN = "MEM*EM-EMM*E"


@pytest.mark.parametrize(
    ("fields", "tp", "reduces", "gathers"),
    [
        ({}, 2, 1 + LAYERS, 1),
        ({"n_groups": 8}, 8, 1 + LAYERS, 1),
        ({"n_groups": 1}, 2, 1 + LAYERS + 5, 1),
        ({"n_groups": 2}, 4, 1 + LAYERS, 1 + 5),
        ({"moe_latent_size": 256}, 2, 1 + LAYERS, 1),
    ],
)
def test_nemotron_h_has_one_a_layer(fields: dict[str, Any], tp: int, reduces: int, gathers: int) -> None:
    made = config("nemotron_h", n_routed_experts=8, hybrid_override_pattern=PATTERN, **fields)
    totals = derive_profile(made, Served(tp=tp)).decode.totals
    assert (totals.all_reduce, totals.all_gather) == (reduces, gathers)


def test_nemotron_h_roles_and_its_latent_moe_note() -> None:
    profile = derive_profile(
        config("nemotron_h", n_routed_experts=8, hybrid_override_pattern=PATTERN, moe_latent_size=256), Served(tp=2)
    )
    assert roles(profile.decode) == {
        "embedding": 1, "attention output projection": 2, "Mamba output projection": 5, "MLP down projection": 1,
        "MoE combine": 4, "target logits": 1,
    }  # fmt: skip
    assert any("latent MoE" in note for note in profile.notes)


def test_mamba_2_alone_has_one_a_layer() -> None:
    totals = derive_profile(config("mamba2", num_attention_heads=None), Served(tp=2)).decode.totals
    assert (totals.all_reduce, totals.all_gather) == (1 + LAYERS, 1)


def test_minimax_sums_variances_in_each_attention_layer() -> None:
    made = config("minimax_m2", num_local_experts=8)
    found = sent(derive_profile(made, Served(tp=2, batch=4)).decode)
    assert found["all_reduce", 4 * 2 * 4, 4 * 2 * 4] == LAYERS
    assert found["all_reduce", 4 * HIDDEN * 2, 4 * HIDDEN * 2] == 1 + 2 * LAYERS


def test_gpt_oss_is_counted_by_hidden_size_and_says_what_kernels_pad() -> None:
    profile = derive_profile(config("gpt_oss", hidden_size=2880, num_local_experts=32), Served(tp=2))
    assert ("all_reduce", 5760, 5760) in sent(profile.decode)
    assert any("2880, 2944 or 3072" in note for note in profile.notes)


@pytest.mark.parametrize("kind", ["brand_new", ""])
def test_an_unknown_type_is_a_normal_decoder_that_is_assumed_and_says_so(kind: str) -> None:
    profile = derive_profile(config(kind), Served(tp=2))
    for stage in (profile.decode, profile.prefill):
        assert (stage.totals.all_reduce, stage.totals.all_gather) == (1 + 2 * LAYERS, 1)
        assert {one.confidence for one in stage.collectives} == {"assumed"}
    assert any("assumed" in note and "profile trace" in note for note in profile.notes)
    assert "assumed" in profile.source


def test_a_new_kind_of_layer_in_a_known_family_is_assumed_alone() -> None:
    made = config("qwen3_next", layer_types=["new_attention"] * 6 + ["full_attention"] * 6)
    found = {one.role: one.confidence for one in derive_profile(made, Served(tp=2)).decode.collectives}
    assert found["token mixer output projection"] == "assumed"
    assert found["attention output projection"] == "derived"


def test_jamba_says_what_its_older_mixer_may_add() -> None:
    assert any("x_proj" in note for note in derive_profile(config("jamba"), Served(tp=2)).notes)


@pytest.mark.parametrize("kind", ["qwen4_exp", "qwen4_exp_text", "Qwen3-8-flash-next"])
def test_the_ngram_table_of_the_reference_family(kind: str) -> None:
    found = derive_profile(reference(model_type=kind), Served(tp=2, batch=4)).decode
    assert roles(found)["n-gram embedding (PLE)"] == 1
    assert sent(found)["all_reduce", 4 * 2560, 4 * 2560] == 1


@pytest.mark.parametrize(
    ("fields", "wanted"),
    [
        ({"ple_layer_ids": []}, {}),
        ({"ple_layer_ids": [1, 9]}, {("all_reduce", 2560, 2560): 2}),
        ({"ple_embed_dim": 512}, {("all_reduce", 512, 512): 1}),
    ],
)
def test_the_ngram_table_by_its_fields(fields: dict[str, Any], wanted: dict[tuple[str, int, int], int]) -> None:
    found = derive_profile(reference(**fields), Served(tp=2)).decode
    assert {key: count for key, count in sent(found).items() if key[1] in (512, 2560)} == wanted


def test_every_listed_type_has_one_family() -> None:
    assert all(family.known for family in FAMILIES.values())
    assert len({family.name for family in FAMILIES.values()}) == 9
    assert family_of(config("qwen3_moe")).name == "mixture of experts"
