"""JSON: variables in three forms, each with its line and its environment, whatever the size of the document."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.nccl.lint import lint_text
from fabricdoc.nccl.lint_json import json_lines, variables_in
from fabricdoc.nccl.lint_settings import LONGEST, MOST_SETTINGS

pytestmark = pytest.mark.unit


def found(text: str) -> list[tuple[str, str, int]]:
    return [(one.name, one.value, one.line) for one in json_lines(text.split("\n"))]


def test_what_docker_inspect_and_others_print() -> None:
    text = '[{"Config": {"Env": ["NCCL_NET=IB", "PATH=/bin"],\n"Cmd": ["x"]}, "HostConfig": {"Runtime": "nvidia"}}]'
    assert found(text) == [("NCCL_NET", "IB", 1), ("PATH", "/bin", 1)]
    assert found('{"env_vars": {"NCCL_DEBUG": "INFO"}}') == [("NCCL_DEBUG", "INFO", 1)]
    assert found('{"env": [{"name": "NCCL_IB_TC", "value": 106}]}') == [("NCCL_IB_TC", "106", 1)]


def test_one_long_line_is_read_whole() -> None:
    text = json.dumps({"pad": "x" * (2 * LONGEST), "env": {"NCCL_NET": "IB"}})
    assert found(text) == [("NCCL_NET", "IB", 1)]


def test_the_same_name_again_stands_at_the_next_line_that_has_it() -> None:
    text = '{"a": {"NCCL_NET": "IB"},\n"b": {"NCCL_NET_PLUGIN": "none"},\n"c": {"NCCL_NET": "Socket"}}'
    assert found(text) == [("NCCL_NET", "IB", 1), ("NCCL_NET_PLUGIN", "none", 2), ("NCCL_NET", "Socket", 3)]


@pytest.mark.long
def test_no_more_are_read_than_tell_that_there_are_more() -> None:
    text = json.dumps({f"NCCL_{number}": "1" for number in range(MOST_SETTINGS + 500)})
    assert len(list(json_lines([text]))) == MOST_SETTINGS + 1


def test_columns_in_one_line() -> None:
    text = '{"a": ["NCCL_A=1", "NCCL_B=2"], "b": {"NCCL_A": "3"}}'
    assert [text[one.column - 1 :][:6] for one in json_lines([text])] == ["NCCL_A", "NCCL_B", "NCCL_A"]
    assert len({one.column for one in json_lines([text])}) == 3


def test_json_in_a_command() -> None:
    assert variables_in('{"env_vars": {"NCCL_DEBUG": "INFO"}}') == [("NCCL_DEBUG", "INFO")]
    assert variables_in("{no json") == [] and variables_in("[" * 100_000) == []


@pytest.mark.parametrize(
    "text", ['{"is_on": true}', '{"NCCL_NET": null}', '{"NCCL": 1}', '{"a b_c": "d"}', "3", '"A_B"']
)
def test_what_is_no_variable(text: str) -> None:
    assert found(text) == []


@given(
    st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=9), lambda one: st.lists(one, max_size=3))
)
def test_no_document_breaks_it(document: object) -> None:
    for name, value in variables_in(json.dumps({"NCCL_X": document, "list": document})):
        assert isinstance(name, str) and isinstance(value, str)


def test_what_is_said_about_variables_sets_none() -> None:
    assert found('{"variables": {"NCCL_NET": "IB"}, "evidence": {"NCCL_NET": "seen in the log"}}') == [
        ("NCCL_NET", "IB", 1)
    ]


@pytest.mark.parametrize(
    ("text", "value", "fix", "level"),
    [
        ('{"NCCL_IB_DISABLE": true}', "true", '"NCCL_IB_DISABLE": "true"', "warning"),
        ('[{"name": "NCCL_IB_TIMEOUT", "value": 22}]', "22", '"value": "22"', "error"),
    ],
)
def test_a_value_that_is_no_text_is_told(text: str, value: str, fix: str, level: str) -> None:
    assert found(text)[0][1] == value
    (remark,) = (one for one in lint_text("x.json", text) if one.complaint.id == "value-not-text")
    assert (remark.complaint.fix, remark.complaint.severity) == (fix, level)
