"""Remarks for people, GitHub and SARIF: the pointer stands under the culprit, nothing hostile gets through."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.nccl.complaints import Complaint
from fabricdoc.nccl.lint import lint_text
from fabricdoc.nccl.lint_output import WIDTH, as_github, as_sarif, as_text, harmless, shown_lines
from fabricdoc.nccl.lint_settings import Remark

pytestmark = pytest.mark.unit

ENV = "NCCL_NET=IB\nNCCL_IB_HCA==mlx5_0, mlx5_1\nNCCL_IB_TIMEOUT=99\n"


def test_the_pointer_stands_under_the_culprit() -> None:
    first = lint_text("a.env", ENV)[0]
    head, shown, pointer, fix = as_text(first)
    assert head.startswith("a.env:2:21: error: ") and head.endswith("[selector-space]")
    assert shown == "  NCCL_IB_HCA==mlx5_0, mlx5_1"
    start = pointer.index("^")
    assert shown[start : start + pointer.count("^")] == " mlx5_1"
    assert fix == "  fix: NCCL_IB_HCA==mlx5_0,mlx5_1"


def test_a_long_line_is_shown_around_its_culprit() -> None:
    text = f"docker run {'--volume /x:/x ' * 30}-e NCCL_IB_TIMEOUT=99 image\n"
    (remark,) = lint_text("run.sh", text)
    _, shown, pointer, _ = as_text(remark)
    start = pointer.index("^")
    assert len(shown) <= WIDTH + 2 and shown[start : start + 2] == "99"


def test_github_annotations_are_escaped() -> None:
    lines = list(as_github(lint_text("a,b:c.env", ENV)))
    assert lines[0].startswith("::error file=a%2Cb%3Ac.env,line=2,col=21,title=selector-space::")
    assert lines[1].startswith("::error file=a%2Cb%3Ac.env,line=3,col=17,title=out-of-range::")
    nasty = Remark(Complaint("bad-value", "X", "50% a\r\nb"), "f", 1, 1, 0, "")
    assert next(as_github([nasty])) == "::error file=f,line=1,col=1,title=bad-value::50%25 a??b"


def test_sarif_names_rules_levels_and_regions() -> None:
    log = as_sarif(lint_text("a.env", ENV), "1.2.3")
    assert json.loads(json.dumps(log)) == log and log["version"] == "2.1.0"
    run = log["runs"][0]  # type: ignore[index]
    assert run["tool"]["driver"]["version"] == "1.2.3"
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["out-of-range", "selector-space"]
    first = run["results"][0]
    assert (first["ruleId"], first["ruleIndex"], first["level"]) == ("selector-space", 1, "error")
    region = first["locations"][0]["physicalLocation"]["region"]
    assert (region["startLine"], region["startColumn"], region["endColumn"]) == (2, 21, 28)
    assert as_sarif((), "1")["runs"][0]["results"] == []  # type: ignore[index]


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("-e HF_TOKEN=hf_abcdef -e NCCL_NET=IB", "hf_abcdef"),
        ("--api-key sk-12345 x", "sk-12345"),
        ("AWS_SECRET_ACCESS_KEY='abc/def'", "abc/def"),
        ("password: hunter2", "hunter2"),
    ],
)
def test_secrets_are_masked(text: str, hidden: str) -> None:
    assert hidden not in harmless(text) and "***" in harmless(text)


def test_other_text_stays_as_it_is() -> None:
    for text in ("NCCL_IB_HCA==mlx5_0", "tokens per second = 5000 rows", "key"):
        assert "***" not in harmless(text) or "token" in text
    assert harmless("a\x1b[31mb") == "a?[31mb"


@given(st.text(max_size=200), st.text(max_size=40), st.integers(1, 300), st.integers(0, 300))
def test_nothing_hostile_gets_through(text: str, message: str, column: int, width: int) -> None:
    remark = Remark(Complaint("bad-value", "X", message), text[:30], 1, column, width, text)
    printed = [*as_text(remark), *as_github([remark])]
    assert all(line.isprintable() for line in printed)
    json.dumps(as_sarif([remark], "1"))


@pytest.mark.parametrize(
    "text",
    [
        "vllm serve x --max-num-batched-tokens 8192 --tokenizer /m",
        "NCCL_IB_PKEY=1234",
        "NCCL_IB_PKEY_VALUE=0x8001",
        "the authors keyboard",
    ],
)
def test_what_only_sounds_like_a_secret_stays(text: str) -> None:
    assert harmless(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "hf_abcdefgh1234",
        "x sk-abcdefgh1234 y",
        "AKIAABCDEFGHIJKL",
        "nvapi-abcdefghijklmnop1234",
        "http://user:hunter2@host/",
        "Authorization: Bearer abcdef",
        "--hf-token abcdef",
        "my_private_key_file='abcdef'",
        '"api_key": "abcdef"',
    ],
)
def test_secrets_by_how_they_begin_or_are_called(text: str) -> None:
    assert "***" in harmless(text) and "abcdef" not in harmless(text) and "hunter2" not in harmless(text)


def test_the_pointer_stays_under_the_culprit_when_a_secret_before_it_was_masked() -> None:
    (remark,) = lint_text("run.sh", "docker run -e HF_TOKEN=hf_abcdefghijklmnop -e NCCL_IB_TIMEOUT=99 image\n")
    shown, pointer = shown_lines(remark)
    assert "hf_abc" not in shown and shown[pointer.index("^") :].startswith("99 image")
    assert pointer.count("^") == 2


def test_tabs_are_blanks_and_the_window_keeps_the_culprit() -> None:
    (remark,) = lint_text("run.sh", "\t\texport NCCL_IB_TIMEOUT=99\n")
    shown, pointer = shown_lines(remark)
    assert shown == "  export NCCL_IB_TIMEOUT=99" and pointer.index("^") == shown.index("99")
    (far,) = lint_text("run.sh", f"{'a ' * 5000}\nexport {'A=1 ' * 2000}NCCL_IB_TIMEOUT=99\n")
    shown, pointer = shown_lines(far, 60)
    assert len(shown) <= 60 and shown[pointer.index("^") :].startswith("99")


@pytest.mark.parametrize("piece", ["a", "key", "-", "token=", "a_", "--token ", "://", "key ", "eyJa", "=", '"'])
def test_masking_takes_time_in_proportion(piece: str) -> None:
    def seconds(text: str) -> float:
        began = time.process_time()
        harmless(text)
        return time.process_time() - began

    small, large = (min(seconds(piece * count) for _ in range(3)) for count in (1000, 16000))
    assert large < 100 * max(small, 0.0005)
