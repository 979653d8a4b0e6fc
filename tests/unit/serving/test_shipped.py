"""The shipped profiles hold the numbers their sources state, counted here by the formulas, not copied."""

from __future__ import annotations

import pytest

from fabricdoc.files import own_folder, parse_toml
from fabricdoc.model.profile import Profile
from fabricdoc.serving import list_profiles, load_profile, shapes_for

pytestmark = pytest.mark.unit


def _sent(profile: Profile, stage: str) -> dict[tuple[str, int], int]:
    counts: dict[tuple[str, int], int] = {}
    for one in getattr(profile, stage).collectives:
        counts[one.op, one.size] = counts.get((one.op, one.size), 0) + one.count
    return counts


@pytest.mark.parametrize("name", list_profiles())
def test_every_shipped_profile_loads_under_its_own_name_with_a_source(name: str) -> None:
    profile = load_profile(name)
    assert profile.name == name
    assert profile.summary and profile.source.strip()
    split = 1 if name == "single-node" else int(name.rpartition("-tp")[2])
    for stage in (profile.decode, profile.prefill):
        assert all(one.size == split * one.send_bytes for one in stage.collectives if one.op == "all_gather")


def test_the_three_promised_profiles_are_there() -> None:
    assert {"qwen3.8-flash-next-tp2", "dense-small-tp2", "single-node"} <= set(list_profiles())


def test_the_reference_case_decode_step() -> None:
    layers, hidden, vocabulary, rows, passes = 48, 2560, 248320, 4, 3
    wide, narrow = rows * hidden * 2, hidden * 2  # a window of 4 rows, and one row, in bytes
    profile = load_profile("qwen3.8-flash-next-tp2")
    assert profile.decode.rows == rows
    assert _sent(profile, "decode") == {
        ("all_reduce", wide): 1 + 2 * layers + 2 + 1,  # embedding, layers, draft pass 1 and its embedding
        ("all_reduce", rows * hidden): 1,  # the n-gram embedding, int8
        ("all_reduce", narrow): 3 * (passes - 1),
        ("all_gather", rows * vocabulary * 2): 1,
        ("all_gather", vocabulary * 2): passes,
        ("all_gather", wide): 1 + 2,  # fc_embedding of pass 1; fc_hidden (4 wide) of passes 2 and 3
        ("all_gather", narrow): 2,
        ("all_gather", 4 * wide): 1,
    }
    totals = profile.decode.totals
    assert (totals.all_reduce, totals.all_gather, totals.collectives) == (107, 10, 117)
    assert totals.all_reduce_bytes == pytest.approx(2.1e6, rel=0.01)


def test_the_reference_case_prefill_chunk() -> None:
    rows, hidden, vocabulary = 8192, 2560, 248320
    chunk = rows * hidden * 2
    profile = load_profile("qwen3.8-flash-next-tp2")
    assert _sent(profile, "prefill") == {
        ("all_reduce", chunk): 97 + 3,
        ("all_reduce", rows * hidden): 1,
        ("all_gather", chunk): 1,
        ("all_gather", 4 * chunk): 1,
        ("all_gather", vocabulary * 2): 2,
    }
    totals = profile.prefill.totals
    assert totals.all_reduce_bytes == pytest.approx(4.2e9, rel=0.01)
    assert totals.all_gather_bytes == pytest.approx(0.21e9, rel=0.01)


def test_logits_of_the_reference_case_are_not_in_the_graph() -> None:
    decode = load_profile("qwen3.8-flash-next-tp2").decode.collectives
    assert {one.role for one in decode if not one.in_graph} == {"target logits", "draft logits, passes 1 to 3"}


def test_the_lab_profile_follows_the_dense_formula_and_says_it_is_assumed() -> None:
    profile = load_profile("dense-small-tp2")
    assert _sent(profile, "decode") == {("all_reduce", 20 * 1024): 1 + 2 * 24, ("all_gather", 256000): 1}
    assert {one.confidence for stage in (profile.decode, profile.prefill) for one in stage.collectives} == {"assumed"}


def test_a_single_node_sends_nothing() -> None:
    profile = load_profile("single-node")
    assert (profile.decode.totals.collectives, profile.prefill.totals.collectives) == (0, 0)
    assert shapes_for(profile) == ()


@pytest.mark.parametrize(
    ("model", "fields"),
    [
        ("llama-3.3-70b", {"hidden_size": 8192, "num_hidden_layers": 80, "vocab_size": 128256, "heads": (64, 8)}),
        (
            "qwen3-30b-a3b",
            {"hidden_size": 2048, "num_hidden_layers": 48, "vocab_size": 151936, "heads": (32, 4), "experts": (128, 8)},
        ),
        (
            "qwen3-next-80b-a3b",
            {
                "hidden_size": 2048, "num_hidden_layers": 48, "vocab_size": 151936, "heads": (16, 2),
                "experts": (512, 10), "linear": (16, 32), "full_attention_interval": 4,
            },
        ),
    ],
)  # fmt: skip
def test_fields_that_were_looked_up_are_those_of_the_places_named(model: str, fields: dict[str, object]) -> None:
    """As other programs that load these models hold them (named in each file's source, read in November 2026)."""
    file = own_folder("presets").joinpath("profiles", "models", f"{model}.toml")
    config = parse_toml(file.read_text("utf-8"))["config"]
    pairs = {
        "heads": ("num_attention_heads", "num_key_value_heads"),
        "experts": ("num_experts", "num_experts_per_tok"),
        "linear": ("linear_num_key_heads", "linear_num_value_heads"),
    }
    for name, value in fields.items():
        found = tuple(config[key] for key in pairs[name]) if name in pairs else config[name]
        assert found == value, name
    assert set(config) == {"model_type", *(key for name in fields for key in pairs.get(name, (name,)))}


def test_what_is_written_down_says_where_it_can_be_looked_up() -> None:
    models = own_folder("presets").joinpath("profiles", "models")
    for file in models.iterdir():
        if file.name.endswith(".toml"):
            source = parse_toml(file.read_text("utf-8"))["source"]
            assert "config.json" in source, file.name
            assert "memory" not in source, file.name
