"""Durations, sizes and objectives as users write them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.errors import UsageError
from fabricdoc.model.profile import StepTime
from fabricdoc.workflow.words import (
    read_address,
    read_backend,
    read_dtype,
    read_duration,
    read_folders,
    read_objective,
    read_ops,
    read_search,
    read_size,
    read_sizes,
    read_step,
    read_weights,
)

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("10m", 600), ("1h", 3600), ("45", 45), ("", None)])
def test_durations(text: str, seconds: float | None) -> None:
    assert read_duration(text) == seconds


@pytest.mark.parametrize("text", ["10x", "-5s", "0s", "m", "1h30m"])
def test_bad_durations_name_the_form(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_duration(text)
    assert "10m" in caught.value.fix


@pytest.mark.parametrize(
    ("text", "size"), [("8", 8), ("20K", 20480), ("20KiB", 20480), ("42m", 42 << 20), ("1.5K", 1536)]
)
def test_sizes(text: str, size: int) -> None:
    assert read_size(text) == size


@pytest.mark.parametrize("text", ["", "0", "x", "2G", "-1", "1T", "8 8"])
def test_bad_sizes(text: str) -> None:
    with pytest.raises(UsageError):
        read_size(text)


@given(st.integers(1, 1 << 30))
def test_any_size_is_rounded_up_to_whole_elements(size: int) -> None:
    assert size <= read_size(str(size)) < size + 8
    assert read_size(str(size)) % 8 == 0


def test_lists_are_sorted_and_unique() -> None:
    assert read_sizes(["1M", "8", "1024K"]) == (8, 1 << 20)


def test_objectives() -> None:
    assert read_objective("mix") == "mix"
    with pytest.raises(UsageError) as caught:
        read_objective("latency")
    assert "decode" in caught.value.fix


@pytest.mark.parametrize("read", [read_duration, read_size])
def test_numbers_beyond_all_measure(read: Callable[[str], object]) -> None:
    with pytest.raises(UsageError):
        read("9" * 400)


def test_backends() -> None:
    assert [read_backend(word) for word in ("auto", "nccl", "gloo")] == ["auto", "nccl", "gloo"]
    with pytest.raises(UsageError) as caught:
        read_backend("mpi")
    assert "gloo" in caught.value.fix


@pytest.mark.parametrize("text", ["10.77.0.1", "fe80::1%eth0", "::1", "node-1.cluster", None])
def test_addresses(text: str | None) -> None:
    assert read_address(text) == text


@pytest.mark.parametrize("text", ["", "a b", "-x", "a;b", "$(id)", "a\n", "x" * 300])
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(UsageError):
        read_address(text)


def test_preset_folders_must_be_there(tmp_path: Path) -> None:
    assert read_folders([tmp_path]) == (tmp_path,)
    (tmp_path / "file").write_text("")
    for absent in (tmp_path / "no", tmp_path / "file"):
        with pytest.raises(UsageError, match="no such folder"):
            read_folders([tmp_path, absent])


@pytest.mark.parametrize(
    ("given", "ops"),
    [
        ([], ("all_reduce",)),
        (["all_gather", "broadcast"], ("all_gather", "broadcast")),
        (["allreduce", "all-reduce", "ALL_REDUCE"], ("all_reduce",)),
        (["sendrecv", "alltoall", "reducescatter"], ("send_recv", "all_to_all", "reduce_scatter")),
    ],
)
def test_collectives_by_name(given: list[str], ops: tuple[str, ...]) -> None:
    assert read_ops(given) == ops


@pytest.mark.parametrize("word", ["", "reduce", "all_reduce;rm", "всё", "all_reduce,all_gather"])
def test_what_is_no_collective_names_those_there_are(word: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_ops([word])
    assert "send_recv" in caught.value.fix


@pytest.mark.parametrize(
    ("text", "dtype"), [("bf16", "bfloat16"), ("FP16", "float16"), (" float ", "float32"), ("int", "int32")]
)
def test_types_by_their_usual_names(text: str, dtype: str) -> None:
    assert read_dtype(text) == dtype


@pytest.mark.parametrize("text", ["", "fp8", "double", "int64", "bfloat"])
def test_what_is_no_type(text: str) -> None:
    with pytest.raises(UsageError, match="unknown type"):
        read_dtype(text)


def test_searches() -> None:
    assert read_search("adaptive") == "adaptive"
    with pytest.raises(UsageError, match="unknown search"):
        read_search("random")


@pytest.mark.parametrize(
    "size",
    ["0", "-8", "1e9", "8KB8", "K", "2G", "nan", "inf", "0x10", "8 8", "٨", "", "1.5.5K", "99999999999999999999"],
)
def test_sizes_with_nonsense_are_named(size: str) -> None:
    with pytest.raises(UsageError, match="not a message size") as caught:
        read_sizes(["8", size, "1M"])
    assert caught.value.fix == "write sizes like 8,20K,1M,42M (8 B to 1 GiB)"


def test_more_sizes_than_a_launch_can_hold() -> None:
    assert len(read_sizes([str(8 * number) for number in range(1, 65)])) == 64
    with pytest.raises(UsageError, match="65 message sizes"):
        read_sizes([str(8 * number) for number in range(1, 66)])


@pytest.mark.parametrize(
    ("text", "weights"),
    [
        ("", None),
        ("decode=0.7,prefill=0.3", {"decode": 0.7, "prefill": 0.3}),
        ("prefill=1, decode = 3", {"decode": 0.75, "prefill": 0.25}),
        ("decode=2", {"decode": 1.0, "prefill": 0.0}),
    ],
)
def test_weights_of_any_scale_add_up_to_one(text: str, weights: dict[str, float] | None) -> None:
    assert read_weights(text) == weights


@pytest.mark.parametrize(
    "text", ["decode", "decode=0", "decode=-1", "other=1", "decode=1,decode=2", "decode=1;prefill=2", "decode=nan", ","]
)
def test_bad_weights_name_the_form(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_weights(text)
    assert "decode=0.7,prefill=0.3" in (caught.value.fix or "")


def test_a_step_is_its_time_and_its_tokens() -> None:
    assert read_step(None, None) is None
    assert read_step(40.0, None) == StepTime(compute_ms=40.0)
    assert read_step(40.0, 2.5) == StepTime(compute_ms=40.0, tokens=2.5)
    for wrong in ((0.0, None), (-1.0, None), (40.0, 0.0), (float("nan"), None), (float("inf"), None), (None, 2.0)):
        with pytest.raises(UsageError, match=r"--step-ms|--tokens-per-step"):
            read_step(*wrong)
