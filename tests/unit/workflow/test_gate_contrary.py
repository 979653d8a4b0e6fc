"""A launch line held against the preset's profile: what it says by itself, and what the model's config makes of it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from fabricdoc.errors import UsageError
from fabricdoc.model.preset import Preset
from fabricdoc.model.profile import Profile
from fabricdoc.serving import Served, derive_profile, read_config
from fabricdoc.workflow import gate_contrary
from fabricdoc.workflow.checking import Asked
from fabricdoc.workflow.gate_contrary import contrary_of

pytestmark = pytest.mark.unit

QWEN = "qwen3.8-flash-next-tp2"
SERVED = Served(tp=2, chunk=8192)
CONFIG = {
    "model_type": "llama",
    "hidden_size": 1024,
    "num_hidden_layers": 12,
    "vocab_size": 32000,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
}
LINE = ("-tp", "2", "--nnodes", "2", "--max-num-batched-tokens", "8192")


def contrary(*words: str, profile: str = QWEN) -> dict[str, tuple[str, str]]:
    fields = dict.fromkeys(("run", "objective", "choice", "reason", "exercised"), "")
    preset = Preset.model_validate({**fields, "name": "pair", "profile": profile, "backend": "nccl", "nodes": ()})
    found = contrary_of(Asked(preset=preset, launch=words))
    return {one.what: (one.then, one.now) for one in found}


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A model's folder as a launch line names it."""
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    return tmp_path


def measured_for(monkeypatch: pytest.MonkeyPatch, model: Path, served: Served = SERVED) -> Profile:
    """The preset's profile is that model, served so."""
    profile = derive_profile(read_config(model / "config.json"), served, name="mine")
    monkeypatch.setattr(gate_contrary, "load_profile", lambda *_: profile)
    return profile


def test_a_line_that_serves_as_measured_is_not_named() -> None:
    spec = '{"method": "mtp", "num_speculative_tokens": 3}'
    line = ("vllm", "serve", "m", "-tp", "2", "--nnodes", "2", "--speculative-config", spec)
    assert contrary(*line, "--max-num-batched-tokens", "8192") == {}


def test_each_thing_that_differs_is_named() -> None:
    found = contrary("vllm", "serve", "m", "-tp", "2", "--nnodes", "2", "--max-num-batched-tokens", "2048")
    assert found == {"rows a request in a decode step:": ("4", "1"), "prefill chunk": ("8192", "2048")}


def test_one_node_where_two_were_measured_and_the_other_way() -> None:
    assert contrary("vllm", "serve", "m", "-tp", "1") == {
        "collectives between nodes:": ("some", "none"),
    }
    found = contrary("vllm", "serve", "m", "-tp", "2", "--nnodes", "2", profile="single-node")
    assert found == {"collectives between nodes:": ("none", "some")}


def test_a_line_of_no_engine_and_a_profile_nobody_has_say_nothing() -> None:
    assert contrary("torchrun", "x.py") == {}
    assert contrary("vllm", "serve", "m", "-tp", "8", profile="of-my-own") == {}
    assert contrary_of(Asked(preset=None, launch=("vllm", "serve", "m"))) == ()


def test_an_option_that_can_not_be_read_is_a_usage_error() -> None:
    with pytest.raises(UsageError):
        contrary("vllm", "serve", "m", "-tp", "two")


def test_the_model_that_was_measured_for_is_not_named(monkeypatch: pytest.MonkeyPatch, model: Path) -> None:
    measured_for(monkeypatch, model)
    assert contrary("vllm", "serve", str(model), *LINE) == {}


@pytest.mark.parametrize("batch", [4, 32])
def test_a_profile_of_many_requests_is_held_against_as_many(
    monkeypatch: pytest.MonkeyPatch, model: Path, batch: int
) -> None:
    """A launch line does not say how many requests a step has; the profile does."""
    measured_for(monkeypatch, model, replace(SERVED, batch=batch))
    assert contrary("vllm", "serve", str(model), *LINE) == {}


def test_another_model_is_named_by_what_a_step_of_it_sends(monkeypatch: pytest.MonkeyPatch, model: Path) -> None:
    measured_for(monkeypatch, model)
    (model / "config.json").write_text(json.dumps(CONFIG | {"num_hidden_layers": 24}))
    assert contrary("vllm", "serve", str(model), *LINE) == {
        "a decode step": (
            "of 26 collectives, 51200 bytes reduced and 64000 gathered",
            "of 50 collectives, 100352 bytes reduced and 64000 gathered",
        )
    }


def test_a_model_that_differs_in_what_is_gathered_alone_shows_that(
    monkeypatch: pytest.MonkeyPatch, model: Path
) -> None:
    measured_for(monkeypatch, model)
    (model / "config.json").write_text(json.dumps(CONFIG | {"vocab_size": 64000}))
    then, now = contrary("vllm", "serve", str(model), *LINE)["a decode step"]
    assert then != now
    assert now.endswith("and 128000 gathered")


def test_the_models_cache_is_where_the_environment_says(
    monkeypatch: pytest.MonkeyPatch, model: Path, tmp_path: Path
) -> None:
    measured_for(monkeypatch, model)
    snapshot = tmp_path / "hub" / "models--org--other" / "snapshots" / "abc"
    snapshot.mkdir(parents=True)
    (snapshot / "config.json").write_text(json.dumps(CONFIG | {"hidden_size": 2048}))
    assert contrary("vllm", "serve", "org/other", *LINE) == {}
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    assert list(contrary("vllm", "serve", "org/other", *LINE)) == ["a decode step"]


def test_a_traced_profile_is_not_held_to_the_byte(monkeypatch: pytest.MonkeyPatch, model: Path) -> None:
    profile = measured_for(monkeypatch, model)
    first, *others = profile.decode.collectives
    traced = (first.model_copy(update={"confidence": "traced", "size": first.size + 512}), *others)
    totals = profile.decode.totals.model_copy(update={"all_reduce_bytes": 1})
    decode = profile.decode.model_copy(update={"collectives": traced, "totals": totals})
    monkeypatch.setattr(gate_contrary, "load_profile", lambda *_: profile.model_copy(update={"decode": decode}))
    assert contrary("vllm", "serve", str(model), *LINE) == {}


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"hidden_size": -1}', "\x00\xff", "[" * 5000])
def test_a_config_that_can_not_be_read_names_nothing(monkeypatch: pytest.MonkeyPatch, model: Path, text: str) -> None:
    measured_for(monkeypatch, model)
    (model / "config.json").write_text(text)
    assert contrary("vllm", "serve", str(model), *LINE) == {}


ASSUMED = "dense-small-tp2"


def test_a_profile_of_no_one_model_is_named_and_refuses_nothing() -> None:
    """The one that bench takes where none is named: every server would have another one."""
    fields = dict.fromkeys(("run", "objective", "choice", "reason", "exercised"), "")
    preset = Preset.model_validate({**fields, "name": "pair", "profile": ASSUMED, "backend": "nccl", "nodes": ()})
    line = ("vllm", "serve", "m", "-tp", "2", "--nnodes", "2", "--max-num-batched-tokens", "2048")
    found = contrary_of(Asked(preset=preset, launch=line))
    assert [one.what for one in found] == ["rows a request in a decode step:", "prefill chunk"]
    assert {one.refuses for one in found} == {False}
    (alone,) = contrary_of(Asked(preset=preset, launch=("vllm", "serve", "m")))
    assert (alone.what, alone.refuses) == ("collectives between nodes:", True)


def test_what_follows_from_a_job_on_one_node_is_not_told_too(monkeypatch: pytest.MonkeyPatch, model: Path) -> None:
    measured_for(monkeypatch, model)
    assert list(contrary("vllm", "serve", str(model))) == ["collectives between nodes:"]
