"""Small parts: no module above 500 lines, no function above 60, the median module at most 150."""

from __future__ import annotations

import ast
import statistics
from pathlib import Path

import pytest

from tests.unit.house.house import TREE, sources

pytestmark = pytest.mark.unit

MODULE_LINES = 500
FUNCTION_LINES = 60
MEDIAN_LINES = 150


def long_functions(text: str, limit: int = FUNCTION_LINES) -> list[tuple[str, int]]:
    """(name, lines) of every function whose `def` to last line is more than `limit`."""
    functions = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    lengths = [(node.name, (node.end_lineno or 0) - node.lineno + 1) for node in functions]
    return [(name, lines) for name, lines in lengths if lines > limit]


def lines_of(path: Path) -> int:
    return len(path.read_text().splitlines())


def test_no_module_is_long() -> None:
    long = {str(path.relative_to(TREE)): lines_of(path) for path in sources() if lines_of(path) > MODULE_LINES}
    assert not long


def test_the_median_module_is_small() -> None:
    assert statistics.median(lines_of(path) for path in sources() if path.name != "__init__.py") <= MEDIAN_LINES


def test_no_function_is_long() -> None:
    long = {str(path.relative_to(TREE)): found for path in sources() if (found := long_functions(path.read_text()))}
    assert not long


def test_a_long_function_is_seen() -> None:
    text = "class A:\n    def f(self):\n" + "        x = 1\n" * 60
    assert long_functions(text) == [("f", 61)]
    assert long_functions(text, limit=61) == []
