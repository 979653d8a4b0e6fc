"""Every test is in one layer, so that the commands of the Makefile together run each test once."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.unit.house.house import TREE

pytestmark = pytest.mark.unit

FILES = sorted((TREE / "tests").rglob("test_*.py"))
LAYERS = {"unit", "lab", "roce"}


def marks(nodes: list[ast.expr]) -> set[str]:
    """The names behind `pytest.mark.` in these expressions."""
    inside = [inner for node in nodes for inner in ast.walk(node) if isinstance(inner, ast.Attribute)]
    return {one.attr for one in inside if isinstance(one.value, ast.Attribute) and one.value.attr == "mark"}


def module_marks(tree: ast.Module) -> set[str]:
    values = [node.value for node in tree.body if isinstance(node, ast.Assign) and _names(node) == ["pytestmark"]]
    return marks(values)


def _names(node: ast.Assign) -> list[str]:
    return [target.id for target in node.targets if isinstance(target, ast.Name)]


def cases_of(tree: ast.Module) -> list[ast.FunctionDef]:
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    found = [node for level in (tree, *classes) for node in level.body if isinstance(node, ast.FunctionDef)]
    return [node for node in found if node.name.startswith("test_")]


def layers_of(path: Path) -> dict[str, set[str]]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    here = module_marks(tree)
    return {test.name: here | marks(list(test.decorator_list)) for test in cases_of(tree)}


def test_the_marks_of_a_file_are_read() -> None:
    tree = ast.parse(
        "pytestmark = [pytest.mark.unit, pytest.mark.timeout(3)]\n@pytest.mark.long\ndef test_it(): pass\n"
        "x = pytest.mark.roce\n"
    )
    assert module_marks(tree) == {"unit", "timeout"}
    assert [marks(list(test.decorator_list)) for test in cases_of(tree)] == [{"long"}]


def test_every_test_is_in_exactly_one_layer_and_long_is_said_of_unit_tests_alone() -> None:
    wrong = [
        (path.name, name, sorted(seen))
        for path in FILES
        for name, seen in layers_of(path).items()
        if len(seen & LAYERS) != 1 or ("long" in seen and "unit" not in seen)
    ]
    assert wrong == []
