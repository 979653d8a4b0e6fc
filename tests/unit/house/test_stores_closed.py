"""Every store that is opened is closed: SQLite folds its log into the one file that people copy only then.

A command leaves by os._exit, so nothing closes what it left open.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.house.house import PACKAGE, TREE, sources

pytestmark = pytest.mark.unit

OPENER = "open_store"
"""What the commands open a store with."""


def opens_a_store(node: ast.AST, own: set[str]) -> bool:
    """Whether this calls RunStore.open, `open_store` or a function of the file's own that hands on an open store."""
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Attribute):
        return node.func.attr == "open" and getattr(node.func.value, "id", "") == "RunStore"
    return getattr(node.func, "id", "") in {OPENER, *own}


def functions(tree: ast.Module) -> list[ast.FunctionDef]:
    """All functions of a file."""
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]


def openers(tree: ast.Module) -> set[str]:
    """Functions that promise a RunStore: who calls them closes it."""
    return {one.name for one in functions(tree) if getattr(one.returns, "id", "") == "RunStore"}


def left_open(tree: ast.Module) -> Iterator[int]:
    """Lines of functions that open a store outside a `with`, though they don't hand it on."""
    own = openers(tree)
    for function in functions(tree):
        if function.name in own:
            continue
        withs = [item.context_expr for node in ast.walk(function) if isinstance(node, ast.With) for item in node.items]
        closed = {id(one) for one in withs} | _named(function, withs)
        calls = [node for node in ast.walk(function) if isinstance(node, ast.Call) and opens_a_store(node, own)]
        yield from (node.lineno for node in calls if id(node) not in closed)


def _named(function: ast.FunctionDef, withs: list[ast.expr]) -> set[int]:
    """Stores that got a name first, and were entered by it."""
    entered = {one.id for one in withs if isinstance(one, ast.Name)}
    assigned = [node for node in ast.walk(function) if isinstance(node, ast.Assign)]
    return {id(one.value) for one in assigned if isinstance(one.targets[0], ast.Name) and one.targets[0].id in entered}


def test_every_store_is_closed() -> None:
    found = [
        f"{path.relative_to(TREE)}:{line}"
        for path in sources()
        if PACKAGE in path.parents
        for line in left_open(ast.parse(path.read_text(), str(path)))
    ]
    assert not found


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("def a():\n    kept = open_store(p)\n    kept.load()\n", [2]),
        ("def a():\n    with open_store(p) as kept:\n        kept.load()\n", []),
        ("def a():\n    return RunStore.open(p).load()\n", [2]),
        ("def a():\n    kept = RunStore.open(p)\n    with kept as s, other() as o:\n        pass\n", []),
        ("def opened(p) -> RunStore:\n    return RunStore.open(p)\n", []),
        ("def opened() -> RunStore:\n    return RunStore.open(p)\ndef a():\n    opened().load()\n", [4]),
        ("def a():\n    Path.open(p)\n", []),
    ],
)
def test_the_rule_sees_what_stays_open(text: str, lines: list[int]) -> None:
    assert list(left_open(ast.parse(text))) == lines


def test_the_rule_looks_at_the_commands() -> None:
    commands = Path(PACKAGE / "cli" / "commands" / "measure.py")
    assert commands in sources()
    calls = [node for node in ast.walk(ast.parse(commands.read_text())) if opens_a_store(node, set())]
    assert len(calls) >= 3
