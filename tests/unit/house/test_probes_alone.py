"""Probes run on a node's own Python: standard library only, Python 3.10 syntax and library, nothing of fabricdoc."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

from tests.unit.house.house import LINKED, imported

pytestmark = pytest.mark.unit

PROBES = sorted(LINKED["probes"].rglob("*.py"))
# Came with Python 3.11 or later: modules, and names of modules that 3.10 has.
NEWER_MODULES = {
    "tomllib",
    "compression",
    "pathlib.types",
    "annotationlib",
    "concurrent.interpreters",
    "string.templatelib",
}
NEWER_NAMES = {
    "asyncio": {"Runner", "TaskGroup", "timeout", "Barrier"},
    "contextlib": {"chdir"},
    "datetime": {"UTC"},
    "enum": {"StrEnum", "ReprEnum", "verify", "member", "nonmember", "EnumCheck"},
    "hashlib": {"file_digest"},
    "inspect": {"getmembers_static"},
    "itertools": {"batched"},
    "math": {"cbrt", "exp2", "sumprod"},
    "operator": {"call"},
    "typing": {"Self", "Never", "LiteralString", "assert_never", "assert_type", "Required", "NotRequired", "override"},
    "warnings": {"deprecated"},
}
NEWER_BUILTINS = {"ExceptionGroup", "BaseExceptionGroup", "PythonFinalizationError"}
# Modules that may import more than the standard library, inside a function only.
GUESTS = {"torch": {"worker", "clocks", "collectives", "rendezvous", "torch_facts", "views"}}  # agent and worker, split


def names_used(tree: ast.Module) -> set[str]:
    """Dotted uses `module.name` and imported names, with builtins as bare names."""
    used = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            used.add(f"{node.value.id}.{node.attr}")
        elif isinstance(node, ast.ImportFrom) and node.module:
            used |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Name):
            used.add(node.id)
    return used


def newer_than_310(tree: ast.Module) -> set[str]:
    """What a module uses that Python 3.10 has not."""
    newer = {f"{module}.{name}" for module, names in NEWER_NAMES.items() for name in names}
    return names_used(tree) & (newer | NEWER_BUILTINS)


@pytest.mark.parametrize("path", PROBES, ids=lambda path: path.stem)
def test_syntax_and_library_of_python_310(path: Path) -> None:
    tree = ast.parse(path.read_text(), str(path), feature_version=(3, 10))
    assert not newer_than_310(tree)
    assert not any(
        type(node).__name__ in ("TryStar", "TypeAlias", "TypeVar", "Interpolation") for node in ast.walk(tree)
    )


@pytest.mark.parametrize("path", PROBES, ids=lambda path: path.stem)
def test_imports_only_the_standard_library_and_its_neighbours(path: Path) -> None:
    for line, module in imported(path):
        top = module.split(".")[0]
        if module.startswith("fabricdoc.probes"):
            continue
        if top in GUESTS:
            assert path.stem in GUESTS[top], f"{path.name}:{line} imports {module}"
            continue
        assert top in sys.stdlib_module_names - NEWER_MODULES, f"{path.name}:{line} imports {module}"


@pytest.mark.parametrize("path", PROBES, ids=lambda path: path.stem)
def test_neighbours_are_imported_relatively_and_guests_inside_functions(path: Path) -> None:
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            assert not (node.module or "").startswith(("probes", "fabricdoc")), f"{path.name}:{node.lineno}"
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 1, f"{path.name}:{node.lineno} leaves the folder"
    at_top = [module.split(".")[0] for module in top_level_imports(tree)]
    assert not set(at_top) & set(GUESTS), f"{path.name} loads {at_top} when it is imported"


def top_level_imports(tree: ast.Module) -> list[str]:
    """Modules imported when the file is imported (outside functions and `if TYPE_CHECKING:`)."""
    found: list[str] = []
    waiting: list[ast.AST] = list(tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            waiting += node.orelse
            continue
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found.append(node.module or "")
        waiting += list(ast.iter_child_nodes(node))
    return found


def test_newer_things_are_seen() -> None:
    tree = ast.parse("import datetime\nfrom enum import StrEnum\nx = datetime.UTC\nraise ExceptionGroup('', [])\n")
    assert newer_than_310(tree) == {"enum.StrEnum", "datetime.UTC", "ExceptionGroup"}
    assert top_level_imports(ast.parse("if True:\n    import torch\ndef f():\n    import json\n")) == ["torch"]
