"""A launch line is found behind what starts it and taken apart, in the forms users write."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricdoc.errors import UsageError
from fabricdoc.serving.launch import Launch, find_launch, whole

pytestmark = pytest.mark.unit


def _found(line: str) -> Launch:
    launch = find_launch(shlex.split(line))
    assert launch is not None
    return launch


@pytest.mark.parametrize(
    ("line", "engine"),
    [
        ("vllm serve M --tp 2", "vllm"),
        ("/usr/local/bin/vllm serve M", "vllm"),
        ("python3 -m vllm.entrypoints.openai.api_server --model M", "vllm"),
        ("python /opt/x/vllm/entrypoints/openai/api_server.py --model M", "vllm"),
        ("/usr/bin/python3 /usr/local/bin/vllm serve M", "vllm"),
        ("python -m sglang.launch_server --model-path M", "sglang"),
        ("sglang serve --model-path M", "sglang"),
        ("trtllm-serve M --tp_size 2", "trtllm"),
        ("trtllm-serve serve M", "trtllm"),
        ("mpirun -n 2 trtllm-llmapi-launch trtllm-serve M", "trtllm"),
        ("docker run --rm --gpus all -e A=1 image vllm serve M", "vllm"),
        ("docker exec -d c bash -lc 'cd /x && vllm serve M --tp 2'", "vllm"),
        ("ssh b \"bash -c 'vllm serve M'\"", "vllm"),
    ],
)
def test_the_engine_behind_what_starts_it(line: str, engine: str) -> None:
    assert _found(line).engine == engine


@pytest.mark.parametrize("line", ["", "vllm bench latency", "sglang", "python x.py", "ray start --head", "vllm"])
def test_what_starts_no_server(line: str) -> None:
    assert find_launch(shlex.split(line)) is None


def test_options_in_every_form() -> None:
    launch = _found(
        "vllm serve org/M -tp 2 --max_num_seqs=8 --enforce-eager --cudagraph-capture-sizes 1 2 4 "
        "--speculative-config.num_speculative_tokens 3 --seed -1 --max-num-seqs 16"
    )
    assert launch.positional == ("org/M",)
    assert launch.options == {
        "--tensor-parallel-size": ("2",), "--max-num-seqs": ("16",), "--enforce-eager": (),
        "--cudagraph-capture-sizes": ("1", "2", "4"), "--speculative-config.num_speculative_tokens": ("3",),
        "--seed": ("-1",),
    }  # fmt: skip


def test_a_line_ends_where_the_shell_ends_it() -> None:
    assert _found("bash -c 'vllm serve M --tp 2 && other --tp 8'").number("--tp") == 2
    assert _found("vllm serve M --tp 2 ; x --tp 8").number("--tp") == 2


@pytest.mark.parametrize(
    ("words", "on"), [("--f", True), ("--f true", True), ("--f=false", False), ("--f 0", False), ("", False)]
)
def test_flags(words: str, on: bool) -> None:
    assert _found(f"vllm serve M {words}").has("--f") is on


@pytest.mark.parametrize(
    ("word", "number"), [("8192", 8192), ("8k", 8000), ("8K", 8192), ("1M", 1 << 20), ("2m", 2_000_000)]
)
def test_numbers_as_engines_read_them(word: str, number: int) -> None:
    assert whole(word, "--x") == number


@pytest.mark.parametrize("word", ["", "x", "-1", "1.5", "9" * 30, "$TP", "\u0661"])
def test_a_value_that_is_no_number_names_its_option(word: str) -> None:
    with pytest.raises(UsageError, match="--tp is"):
        Launch("vllm", {"--tp": (word,)}).number("--tp")


def test_an_endless_line_is_refused() -> None:
    with pytest.raises(UsageError, match="longer than any"):
        find_launch(["x"] * 5000)
    with pytest.raises(UsageError, match="longer than any"):
        find_launch(["x" * 100_000])


@settings(deadline=None)
@given(
    st.lists(st.text(max_size=8) | st.sampled_from(["vllm", "serve", "--tp", "-O", "--x.y", "bash -c 'vllm serve'"]))
)
def test_no_words_end_in_anything_but_a_launch_or_none(words: list[str]) -> None:
    launch = find_launch(words)
    assert launch is None or launch.engine == "vllm"
