"""What was asked becomes one way to serve; a word or number that cannot be is named with what could."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fabricdoc.errors import InputError, UsageError
from fabricdoc.serving import Asked, Served, derive
from fabricdoc.serving.asking import ALL_RANKS, read_captures, with_options
from tests.unit.serving.models import BASE

pytestmark = pytest.mark.unit


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(BASE | {"model_type": "llama"}))
    return path


def test_numbers_and_words_become_a_profile(file: Path) -> None:
    asked = Asked(config=file, numbers={"tp": 2, "batch": 4, "chunk": 64}, words={"engine": "sglang"}, name="mine")
    profile = derive(asked)
    assert (profile.name, profile.engine, profile.decode.rows, profile.prefill.rows) == ("mine", "sglang", 4, 64)


def test_a_step_time_has_a_token_a_request_unless_told(file: Path) -> None:
    asked = Asked(config=file, numbers={"tp": 2, "batch": 4}, step_ms=40)
    step = derive(asked).step
    assert step is not None and (step.compute_ms, step.tokens) == (40, 4)
    told = derive(Asked(config=file, numbers={"tp": 2}, step_ms=40, tokens=2.5)).step
    assert told is not None and told.tokens == 2.5


def test_ep_alone_means_all_ranks() -> None:
    assert with_options(Served(), Asked(numbers={"tp": 4, "dp": 2, "ep": ALL_RANKS})).ep == 8
    assert with_options(Served(), Asked(numbers={"tp": 4, "ep": 4})).ep == 4


@pytest.mark.parametrize(
    ("key", "word", "meant"),
    [
        ("engine", "vLLM", "vllm"),
        ("engine", "TensorRT-LLM", "trtllm"),
        ("graph", "eager", "none"),
        ("graph", "FULL_AND_PIECEWISE", "piecewise"),
        ("draft", "ngram", "none"),
        ("draft", "MTP", "mtp"),
    ],
)
def test_other_words_for_the_same(key: str, word: str, meant: str) -> None:
    assert getattr(with_options(Served(tp=2), Asked(words={key: word})), key) == meant


def test_experts_over_one_rank_are_not_spread() -> None:
    assert with_options(Served(), Asked(numbers={"tp": 1, "ep": ALL_RANKS})).ep == 0
    assert with_options(Served(), Asked(numbers={"tp": 2, "ep": 1})).ep == 0


def test_options_win_over_what_was_found() -> None:
    found = Served(tp=8, engine="sglang", spec_tokens=3, captures=(1, 2))
    made = with_options(found, Asked(numbers={"tp": 2}, words={"engine": "vllm"}, captures=["8,4", "4"]))
    assert (made.tp, made.engine, made.spec_tokens, made.captures) == (2, "vllm", 3, (4, 8))


@pytest.mark.parametrize(
    ("changes", "words", "fix"),
    [
        ({"config": None}, "which model", "config.json"),
        ({"numbers": {}}, "how many ranks", "--tp"),
        ({"words": {"engine": "vlm"}}, "--engine 'vlm' is not one of", "did you mean vllm"),
        ({"words": {"draft": "zzzz"}}, "--draft 'zzzz' is not one of", "one of"),
        ({"words": {"graph": "x" * 500}}, "--graph 'xxx", "one of"),
        ({"step_ms": 0.0}, "--step-ms is 0", ""),
        ({"step_ms": float("nan")}, "--step-ms is nan", ""),
        ({"step_ms": 1e99}, "--step-ms is 1e", ""),
        ({"tokens": 2.0}, "--tokens-per-step says nothing without --step-ms", "both"),
        ({"tokens": -1.0, "step_ms": 4.0}, "--tokens-per-step is -1", ""),
    ],
)
def test_what_is_wrong_is_named(file: Path, changes: dict[str, Any], words: str, fix: str) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        derive(Asked(**({"config": file, "numbers": {"tp": 2}} | changes)))
    assert fix in caught.value.fix
    assert caught.value.status == 2


@pytest.mark.parametrize("text", ["", "a", "1,b", "0", "-1", "1.5", "9999999", "\u0661"])
def test_captured_sizes_are_numbers(text: str) -> None:
    with pytest.raises(UsageError, match="--capture-sizes"):
        read_captures([text])


def test_captured_sizes_come_sorted_and_once() -> None:
    assert read_captures(["8, 1,2", "2"]) == (1, 2, 8)


def test_a_missing_config_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere\.json"):
        derive(Asked(config=tmp_path / "nowhere.json", numbers={"tp": 2}))


def test_one_rank_said_out_loud_sends_nothing(file: Path) -> None:
    assert derive(Asked(config=file, numbers={"tp": 1})).decode.totals.collectives == 0
