"""YAML and JSON: the environments in them, apart from one another, each variable at its line."""

from __future__ import annotations

import pytest

from fabricdoc.nccl.lint import lint_text
from fabricdoc.nccl.lint_documents import scalar, yaml_lines
from fabricdoc.nccl.lint_json import json_lines

pytestmark = pytest.mark.unit


def yaml(*lines: str) -> list[tuple[str, str, int]]:
    return [(one.name, one.value, one.line) for one in yaml_lines(list(lines))]


def test_the_three_forms_of_yaml() -> None:
    assert yaml("environment:", "  - A_B=1", '  - "C_D=x y"', "  E_F: 'z' # c", "  G_H: 3") == [
        ("A_B", "1", 2),
        ("C_D", "x y", 3),
        ("E_F", "z", 4),
        ("G_H", "3", 5),
    ]
    assert yaml("env:", "- name: A_B", '  value: "1"', "- name: C_D", "  valueFrom:", "    x: y") == [("A_B", "1", 3)]
    assert yaml("image: x", "command: [a]", "NAME: no underscore", "lower_case: 1") == []


def test_two_containers_are_two_environments() -> None:
    lines = ["a:", "  environment:", "    A_B: 1", "b:", "  environment:", "    A_B: 2"]
    assert [one.scope for one in yaml_lines(lines)] == [2, 5]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("x", "x"), ('"x # y" # z', "x # y"), ("'x'", "x"), ("x # y", "x"), ("x#y", "x#y"), ('"open', "open"), ("", "")],
)
def test_scalars(text: str, expected: str) -> None:
    assert scalar(text) == expected


def test_json_keeps_lines_and_scopes() -> None:
    lines = [
        '{"a": {"A_B": "1"},',
        ' "b": {"A_B": 2, "x": true},',
        ' "c": ["C_D=3", "word"],',
        ' "d": [{"name": "E_F", "value": 4}]}',
    ]
    found = list(json_lines(lines))
    assert [(one.name, one.value, one.line) for one in found] == [
        ("A_B", "1", 1),
        ("A_B", "2", 2),
        ("C_D", "3", 3),
        ("E_F", "4", 4),
    ]
    assert len({one.scope for one in found}) == 4


@pytest.mark.parametrize("text", ["", "{", "[" * 5000, "nope"])
def test_what_is_no_json(text: str) -> None:
    with pytest.raises(ValueError):
        list(json_lines(text.split("\n")))


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["environment: {A_B: 1, C_D: 'x y'}"], [("A_B", "1", 1), ("C_D", "x y", 1)]),
        (["environment: [A_B=1, 'C_D=2']"], [("A_B", "1", 1), ("C_D", "2", 1)]),
        (["env:", '- {name: A_B, value: "1"}'], [("A_B", "1", 2)]),
        (["env_vars:", "  A_B: 1"], [("A_B", "1", 2)]),
        (["command:", "  - sh", "  - -c", "  - export A_B=1; run"], [("A_B", "1", 4)]),
        (["args: |", "  export A_B=1", "  C_D=2 run", "name: x"], [("A_B", "1", 2), ("C_D", "2", 3)]),
        (["x:", "- |", "  export A_B=1", "- y"], [("A_B", "1", 3)]),
        (
            ["environment:", "  A_B: ${A_B}", "  G_H: ${G_H:-2}", "  C_D: '{{ .Values.x }}'", "  E_F: 1"],
            [("G_H", "2", 3), ("E_F", "1", 5)],
        ),
        (["environment:", '  - A_B="1"'], [("A_B", '"1"', 2)]),
    ],
)
def test_more_forms(lines: list[str], expected: list[tuple[str, str, int]]) -> None:
    assert yaml(*lines) == expected


def test_documents_of_one_file_are_environments_of_their_own() -> None:
    lines = ["data:", "  A_B: 1", "---", "data:", "  A_B: 2"]
    assert [one.scope for one in yaml_lines(lines)] == [0, 3]


def test_an_item_with_a_blank_before_its_equals_sets_another_name() -> None:
    text = "services:\n  w:\n    environment:\n      - NCCL_ALGO = Ring\n      - 'NCCL_SOCKET_IFNAME =eth0'\n"
    found = [one for one in lint_text("blank.yaml", text) if one.complaint.id == "space-around-equals"]
    assert [(one.line, one.complaint.severity, one.complaint.fix) for one in found] == [
        (4, "error", "- NCCL_ALGO=Ring"),
        (5, "error", "- NCCL_SOCKET_IFNAME=eth0"),
    ]
    assert "'NCCL_ALGO '" in found[0].complaint.message


def test_a_comment_behind_an_item_is_yamls_and_no_part_of_the_value() -> None:
    assert yaml("environment:", "  - A_B=1 # why", "  - C_D=x#y") == [("A_B", "1", 2), ("C_D", "x#y", 3)]


@pytest.mark.parametrize("value", ["22", "0x10", "1e3", "1.5", "true", "no", "off", "-1", ".5"])
def test_a_value_that_is_no_text_for_kubernetes(value: str) -> None:
    pod = f"apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - env:\n    - name: NCCL_X_Y\n      value: {value}\n"
    (remark,) = (one for one in lint_text("pod.yaml", pod) if one.complaint.id == "value-not-text")
    assert (remark.complaint.severity, remark.line, remark.text.strip()) == ("error", 7, f"value: {value}")
    assert remark.complaint.fix == f'value: "{value}"'
    loose = pod.replace("apiVersion: v1\nkind: Pod\n", "")
    assert [one.complaint.severity for one in lint_text("x.yaml", loose)] == ["warning", "warning"]


@pytest.mark.parametrize("value", ['"22"', "'true'", "INFO", "=mlx5_0", "10.0.0.1", "1,2", "^lo", "", "{{ .x }}"])
def test_a_value_that_is_text_or_a_templates(value: str) -> None:
    pod = f"kind: Pod\nenv:\n- name: NCCL_X_Y\n  value: {value}\n- {{name: NCCL_Z, value: {value or '~'}}}\n"
    assert not [one for one in lint_text("pod.yaml", pod) if one.complaint.id == "value-not-text"]


def test_an_unknown_name_is_shown_where_it_stands() -> None:
    text = 'env:\n- name: NCCL_IB_GID_INDX\n  value: "3"\n'
    (remark,) = lint_text("pod.yaml", text)
    assert (remark.line, remark.column, remark.width) == (2, 9, len("NCCL_IB_GID_INDX"))
