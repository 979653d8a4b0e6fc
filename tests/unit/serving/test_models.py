"""Shipped models give the formulas' counts at TP 2, 4 and 8, from fields with a source; a broken file is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabricdoc.errors import InputError, UsageError
from fabricdoc.files import own_folder, parse_toml
from fabricdoc.serving import list_profiles, load_profile
from fabricdoc.serving.models import FOLDER, SPLITS, model_profile
from tests.unit.serving.models import sent

pytestmark = pytest.mark.unit

MODELS = sorted(
    file.name.removesuffix(".toml") for file in own_folder("presets").joinpath("profiles", FOLDER).iterdir()
)
EXTRA = {"minimax-m2": 62}  # its variance all-reduces
GOOD = """
title = "T"
source = "s"
[config]
model_type = "llama"
hidden_size = 64
num_hidden_layers = 2
vocab_size = 640
num_attention_heads = 8
"""


def test_common_models_are_there() -> None:
    assert {"llama-3.3-70b", "qwen3-32b", "qwen3-235b-a22b", "gpt-oss-120b", "glm-4.5-air", "deepseek-v3"} <= set(
        MODELS
    )
    assert {f"{name}-tp{tp}" for name in MODELS for tp in SPLITS} <= set(list_profiles())


@pytest.mark.parametrize("tp", SPLITS)
@pytest.mark.parametrize("name", [name for name in MODELS if name != "qwen3.8-flash-next"])
def test_counts_follow_the_formula_of_the_models_own_fields(name: str, tp: int) -> None:
    text = own_folder("presets").joinpath("profiles", FOLDER, f"{name}.toml").read_text(encoding="utf-8")
    fields = parse_toml(text)["config"]
    layers, hidden = fields["num_hidden_layers"], fields["hidden_size"]
    padded = -(-fields["vocab_size"] // 64) * 64
    profile = load_profile(f"{name}-tp{tp}")
    assert profile.decode.totals.all_reduce == 1 + 2 * layers + EXTRA.get(name, 0)
    assert sent(profile.decode)["all_reduce", hidden * 2, hidden * 2] == 1 + 2 * layers
    assert sent(profile.decode)["all_gather", padded * 2, padded * 2 // tp] == 1
    assert sent(profile.prefill)["all_reduce", 2048 * hidden * 2, 2048 * hidden * 2] == 1 + 2 * layers
    assert "config.json as published with" in profile.source
    assert all(one.spans_nodes for one in profile.decode.collectives)


@pytest.mark.parametrize("tp", [4, 8])
def test_the_reference_model_at_other_splits_has_117_too(tp: int) -> None:
    profile = load_profile(f"qwen3.8-flash-next-tp{tp}")
    assert (profile.decode.totals.all_reduce, profile.decode.totals.all_gather) == (107, 10)
    assert sent(profile.decode)["all_gather", 1986560, 1986560 // tp] == 1


def test_a_profiles_own_file_wins_over_the_models() -> None:
    assert "Counted from vLLM" in load_profile("qwen3.8-flash-next-tp2").source


def test_a_users_model(tmp_path: Path) -> None:
    (tmp_path / "profiles/models").mkdir(parents=True)
    (tmp_path / "profiles/models/mine.toml").write_text(GOOD)
    assert load_profile("mine-tp8", [tmp_path]).decode.totals.all_reduce == 5
    assert "mine-tp2" in list_profiles([tmp_path])
    with pytest.raises(UsageError, match="there is no profile 'mine-tp16'"):
        load_profile("mine-tp16", [tmp_path])


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('title = "T"\n', "", "has no title or no source"),
        ('source = "s"', "source = 3", "has no title or no source"),
        ("[config]", "[confg]", "is no table of fields"),
        ("hidden_size = 64\n", "", "has no hidden_size"),
        ("[config]", "[config", "line"),
        ("[config]", "[serve]\nbatch = 3\n[config]", r"\[serve\] may hold"),
        ("[config]", '[serve]\nchunk = "x"\n[config]', r"\[serve\] may hold"),
        ("[config]", "serve = 3\n[config]", r"\[serve\] may hold"),
    ],
)
def test_what_is_wrong_is_named(old: str, new: str, words: str) -> None:
    assert old in GOOD
    with pytest.raises(InputError, match=words) as caught:
        model_profile(GOOD.replace(old, new, 1), "x.toml", "x-tp2", 2)
    assert "x.toml" in caught.value.message


def test_how_it_is_served() -> None:
    text = GOOD.replace("[config]", "[serve]\nspec_tokens = 2\nchunk = 64\nexperts_spread = true\n[config]")
    profile = model_profile(text, "x", "x-tp2", 2)
    assert (profile.decode.rows, profile.prefill.rows, profile.name) == (3, 64, "x-tp2")
    assert profile.summary.startswith("T on vLLM, TP2, an EAGLE head with 2 speculated tokens")


def test_spread_experts_are_told() -> None:
    text = GOOD.replace("[config]", "[serve]\nexperts_spread = true\n[config]\nnum_experts = 8")
    assert model_profile(text, "x", "x-tp2", 2).summary.startswith("T on vLLM, TP2 + EP, batch 1")
