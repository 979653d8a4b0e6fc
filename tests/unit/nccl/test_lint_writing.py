"""A fix is a line that the file can hold: every form, and what a reader of that form makes of it."""

from __future__ import annotations

import json
import shlex

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricdoc.nccl.lint import lint_text
from fabricdoc.nccl.lint_settings import Format
from fabricdoc.nccl.lint_writing import Style, written

pytestmark = pytest.mark.unit

HCA = "NCCL_IB_HCA"


@pytest.mark.parametrize(
    ("style", "expected"),
    [
        ("", "NCCL_IB_HCA==mlx5_0,mlx5_1"),
        ("list", "- NCCL_IB_HCA==mlx5_0,mlx5_1"),
        ("mapping", 'NCCL_IB_HCA: "=mlx5_0,mlx5_1"'),
        ("named", 'value: "=mlx5_0,mlx5_1"'),
        ("export", "export NCCL_IB_HCA==mlx5_0,mlx5_1"),
        ("ENV", "ENV NCCL_IB_HCA==mlx5_0,mlx5_1"),
        ("shell", "NCCL_IB_HCA==mlx5_0,mlx5_1"),
        ("systemd", "Environment=NCCL_IB_HCA==mlx5_0,mlx5_1"),
        ("json", '"NCCL_IB_HCA": "=mlx5_0,mlx5_1"'),
        ("json-list", '"NCCL_IB_HCA==mlx5_0,mlx5_1"'),
        ("json-named", '"value": "=mlx5_0,mlx5_1"'),
    ],
)
def test_every_form(style: Style, expected: str) -> None:
    assert written("NCCL_IB_HCA==mlx5_0,mlx5_1", HCA, style) == expected


@pytest.mark.parametrize("style", ["list", "mapping", "named", "systemd", "json"])
@pytest.mark.parametrize("fix", ["", "leave NCCL_IB_HCA out", "did you mean NCCL_IB_HCA?", "NCCL_IB_HCA=", "keep one"])
def test_sentences_stay(style: Style, fix: str) -> None:
    assert written(fix, HCA, style) == fix


def test_words_behind_the_line_stay_behind_it() -> None:
    assert written("NCCL_DEBUG=WARN (or VERSION) once all is well", "NCCL_DEBUG", "mapping") == (
        'NCCL_DEBUG: "WARN" (or VERSION) once all is well'
    )
    assert written("NCCL_NET=IB, or leave NCCL_IB_HCA out", "NCCL_NET", "list").startswith("- NCCL_NET=IB, or leave")


def test_where_the_line_holds_the_value_alone_another_variable_is_named() -> None:
    assert written("NCCL_NET=IB, or leave it out", HCA, "named") == '- {name: NCCL_NET, value: "IB"}, or leave it out'
    assert json.loads(written("NCCL_NET=IB", HCA, "json-named")) == {"name": "NCCL_NET", "value": "IB"}


def test_what_a_reader_would_take_for_more_is_quoted() -> None:
    assert written("A_B=$x", "A_B", "export") == "export A_B='$x'"
    assert written("A_B=100%", "A_B", "systemd") == "Environment=A_B=100%%"
    assert written("A_B={x:1}", "A_B", "list") == '- "A_B={x:1}"'


FILES: list[tuple[str, Format, str, str]] = [
    ("compose.yaml", "yaml", "environment:\n  NCCL_IB_HCA: '=a, b'\n", 'NCCL_IB_HCA: "=a,b"'),
    ("compose.yaml", "yaml", "environment:\n  - NCCL_IB_HCA==a, b\n", "- NCCL_IB_HCA==a,b"),
    ("compose.yaml", "yaml", "environment: {NCCL_IB_HCA: '=a, b'}\n", 'NCCL_IB_HCA: "=a,b"'),
    ("pod.yaml", "yaml", "env:\n- name: NCCL_IB_HCA\n  value: '=a, b'\n", 'value: "=a,b"'),
    ("pod.yaml", "yaml", "env:\n- {name: NCCL_IB_HCA, value: '=a, b'}\n", 'value: "=a,b"'),
    ("pod.yaml", "yaml", "args: |\n  export NCCL_IB_HCA='=a, b'\n", "export NCCL_IB_HCA==a,b"),
    ("a.service", "systemd", '[Service]\nEnvironment="NCCL_IB_HCA==a, b"\n', "Environment=NCCL_IB_HCA==a,b"),
    ("Dockerfile", "shell", 'ENV NCCL_IB_HCA="=a, b"\n', "ENV NCCL_IB_HCA==a,b"),
    ("nccl.conf", "nccl.conf", "NCCL_IB_HCA==a, b\n", "NCCL_IB_HCA==a,b"),
    ("x.env", "docker", "NCCL_IB_HCA==a, b\n", "NCCL_IB_HCA==a,b"),
    ("run.sh", "shell", "export NCCL_IB_HCA='=a, b'\n", "export NCCL_IB_HCA==a,b"),
    ("run.sh", "shell", "docker run -e NCCL_IB_HCA='=a, b' x\n", "NCCL_IB_HCA==a,b"),
    ("a.json", "json", '{"NCCL_IB_HCA": "=a, b"}\n', '"NCCL_IB_HCA": "=a,b"'),
    ("a.json", "json", '{"Env": ["NCCL_IB_HCA==a, b"]}\n', '"NCCL_IB_HCA==a,b"'),
    ("a.json", "json", '[{"name": "NCCL_IB_HCA", "value": "=a, b"}]\n', '"value": "=a,b"'),
]


@pytest.mark.parametrize(("name", "form", "text", "fix"), FILES)
def test_the_line_to_write_instead_is_in_the_form_of_the_file(name: str, form: Format, text: str, fix: str) -> None:
    (remark,) = (one for one in lint_text(name, text) if one.complaint.id == "selector-space")
    assert remark.complaint.fix == fix


@settings(max_examples=40, deadline=None)
@given(st.text(st.characters(codec="ascii", categories=("L", "N", "P", "S")), min_size=1, max_size=20))
def test_a_reader_gets_the_value_back(value: str) -> None:
    value = value.rstrip(",")
    if not value:
        return
    assert json.loads("{" + written(f"A_B={value}", "A_B", "json") + "}") == {"A_B": value}
    assert shlex.split(written(f"A_B={value}", "A_B", "export")) == ["export", f"A_B={value}"]
