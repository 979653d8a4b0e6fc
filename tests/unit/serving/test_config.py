"""A config is found where each generation hides it; what is missing, absurd or hostile is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricdoc.errors import InputError, UsageError
from fabricdoc.serving import Served, derive_profile, parse_config, read_config
from tests.unit.serving.models import BASE, config

pytestmark = pytest.mark.unit


def _read(tmp_path: Path, text: str) -> Any:
    path = tmp_path / "config.json"
    path.write_text(text)
    return read_config(path)


def test_a_plain_config() -> None:
    found = config("llama", torch_dtype="float16")
    assert (found.model_type, found.hidden, found.layers, found.vocabulary) == ("llama", 1024, 12, 32000)
    assert (found.dtype, found.experts, found.mtp_layers, found.multimodal) == ("float16", 0, 0, False)


def test_a_folder_is_its_config(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(BASE))
    assert read_config(tmp_path).hidden == 1024
    assert read_config(tmp_path / "config.json").hidden == 1024


@pytest.mark.parametrize("key", ["text_config", "llm_config", "language_config"])
def test_the_language_model_of_a_multimodal_config(key: str) -> None:
    nested = BASE | {"model_type": "qwen3_5_moe_text", "dtype": "float16", "num_experts": 8}
    found = parse_config({"model_type": "qwen3_5_moe", "vision_config": {}, "hidden_size": 7, key: nested}, "c")
    assert (found.model_type, found.hidden, found.dtype, found.experts) == ("qwen3_5_moe", 1024, "float16", 8)
    assert found.multimodal


def test_nested_values_win_and_the_top_fills_in() -> None:
    nested = {key: value for key, value in BASE.items() if key != "vocab_size"}
    found = parse_config({"text_config": nested, "vocab_size": 999, "torch_dtype": "float16", "num_experts": 4}, "c")
    assert (found.vocabulary, found.dtype, found.experts) == (999, "float16", 4)


def test_a_nested_config_without_a_width_is_not_the_models() -> None:
    assert parse_config(BASE | {"text_config": {"max_length": 20}}, "c").hidden == 1024


@pytest.mark.parametrize(
    ("fields", "dtype"),
    [
        ({}, "bfloat16"),
        ({"dtype": "bfloat16"}, "bfloat16"),
        ({"torch_dtype": "torch.float16"}, "float16"),
        ({"dtype": "float16", "torch_dtype": "bfloat16"}, "float16"),
        ({"dtype": "float32"}, "bfloat16"),
        ({"dtype": None, "torch_dtype": "half"}, "float16"),
    ],
)
def test_the_activations_type(fields: dict[str, Any], dtype: str) -> None:
    assert parse_config(BASE | fields, "c").dtype == dtype


@pytest.mark.parametrize("key", ["num_experts", "num_local_experts", "n_routed_experts"])
def test_every_generations_name_for_experts(key: str) -> None:
    assert config("x", **{key: 64}).experts == 64


@pytest.mark.parametrize("key", ["num_nextn_predict_layers", "num_mtp_layers", "mtp_num_hidden_layers"])
def test_every_generations_name_for_mtp_layers(key: str) -> None:
    assert config("x", **{key: 1}).mtp_layers == 1


def test_everything_that_is_missing_is_named_at_once() -> None:
    with pytest.raises(InputError, match="the config has no hidden_size, no vocab_size") as caught:
        parse_config({"num_hidden_layers": 3}, "the config")
    assert caught.value.status == 2
    assert caught.value.fix


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"hidden_size": "4096"}, "hidden_size is 4096, wanted a whole number"),
        ({"hidden_size": True}, "hidden_size is True"),
        ({"hidden_size": 0}, "hidden_size is 0"),
        ({"hidden_size": -1}, "hidden_size is -1"),
        ({"hidden_size": 1.5}, "hidden_size is 1.5"),
        ({"hidden_size": float("nan")}, "hidden_size is nan"),
        ({"num_hidden_layers": 10**9}, "num_hidden_layers is 1000000000"),
        ({"vocab_size": 10**5000}, "vocab_size is a number of many digits"),
        ({"vocab_size": [1]}, r"vocab_size is \[1\]"),
        ({"model_type": 3}, "model_type is no name"),
        ({"model_type": "x" * 1000}, "model_type is no name"),
        ({"dtype": "int4"}, "dtype 'int4' is not one of"),
        ({"dtype": ["bfloat16"]}, "is not one of"),
    ],
)
def test_what_is_wrong_is_named(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        parse_config(BASE | fields, "the config")
    assert len(caught.value.message) < 300
    assert "\n" not in caught.value.message


def test_a_wrong_field_that_is_only_sometimes_read_is_named_when_read() -> None:
    found = config("qwen3_moe", num_experts="many")
    with pytest.raises(InputError, match="num_experts is many"):
        derive_profile(found, Served(tp=2))


@pytest.mark.parametrize("text", ["", "{", "[]", "3", '"x"', "nul", '{"hidden_size": 1e999}', "[" * 100_000])
def test_a_file_that_is_no_config(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError) as caught:
        _read(tmp_path, text)
    assert str(tmp_path) in caught.value.message


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="not UTF-8"):
        read_config(tmp_path / "config.json")


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        read_config(tmp_path / "nowhere.json")


FIELDS = [
    *BASE, "model_type", "layer_types", "num_experts", "text_config", "full_attention_interval", "ple_layer_ids",
    "mlp_only_layers", "moe_layer_freq", "n_groups", "hybrid_override_pattern", "dtype", "linear_attn_config",
    "head_dtype", "_name_or_path", "hc_count", "first_k_dense_replace", "attn_layer_period", "vision_config",
]  # fmt: skip
TYPES = ["llama", "qwen4_exp", "nemotron_h", "jamba", "falcon_h1", "kimi_linear", "deepseek_v3", "minimax_m2", "new"]
value = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6) | st.sampled_from(TYPES),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.long
@settings(deadline=None, max_examples=300)
@given(changes=st.dictionaries(st.sampled_from(FIELDS), value, max_size=6), tp=st.integers(1, 9))
def test_no_config_at_all_ends_in_anything_but_a_profile_or_a_named_fault(changes: dict[str, Any], tp: int) -> None:
    try:
        profile = derive_profile(parse_config(BASE | changes, "c"), Served(tp=tp, spec_tokens=2))
    except UsageError as error:
        assert error.message and error.status == 2
    else:
        assert profile.decode.rows > 0
