"""JSON: variables in three forms, each with its line and its environment, whatever the size of the document."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

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


def test_thousands_of_names_are_found_in_one_pass_over_the_lines() -> None:
    """Each line is looked at once, not once for every name."""
    lines = ["{", *[f'"NCCL_{number}": 1,' for number in range(MOST_SETTINGS + 500)], '"x": 1}']
    counted = [Line(line) for line in lines]
    assert len(list(json_lines(counted))) == MOST_SETTINGS  # type: ignore[arg-type]
    assert sum(line.asked for line in counted) <= 2 * len(lines)


class Line(str):
    """A line that counts how often it is searched for a name."""

    asked = 0

    def find(self, *arguments: object) -> int:  # type: ignore[override]
        self.asked += 1
        return super().find(*arguments)  # type: ignore[arg-type]


def test_json_in_a_command() -> None:
    assert variables_in('{"env_vars": {"NCCL_DEBUG": "INFO"}}') == [("NCCL_DEBUG", "INFO")]
    assert variables_in("{no json") == [] and variables_in("[" * 100_000) == []


@pytest.mark.parametrize(
    "text", ['{"NCCL_NET": true}', '{"NCCL_NET": null}', '{"NCCL": 1}', '{"a b_c": "d"}', "3", '"A_B"']
)
def test_what_is_no_variable(text: str) -> None:
    assert found(text) == []


@given(
    st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=9), lambda one: st.lists(one, max_size=3))
)
def test_no_document_breaks_it(document: object) -> None:
    for name, value in variables_in(json.dumps({"NCCL_X": document, "list": document})):
        assert isinstance(name, str) and isinstance(value, str)
