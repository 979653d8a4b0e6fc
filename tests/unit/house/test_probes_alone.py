"""Probes run on a node's own Python: standard library only, Python 3.10 syntax and library, nothing of fabricdoc."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.house.house import LINKED, TREE, imported

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
# What may be imported besides the standard library, inside a function only, and by nothing these entries reach.
GUESTS = {"torch"}
ONLY_LOOK = ("__main__", "scan", "beacon", "lldp", "reach", "settings", "delivered")


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


def reached_from(*entries: str) -> set[str]:
    """The probe modules that importing `entries` brings, themselves included."""
    waiting, reached = list(entries), set[str]()
    while waiting:
        stem = waiting.pop()
        if stem not in reached:
            reached.add(stem)
            found = (module for _, module in imported(LINKED["probes"] / f"{stem}.py"))
            waiting += [module.split(".")[2] for module in found if module.startswith("fabricdoc.probes.")]
    return reached


@pytest.mark.parametrize("path", PROBES, ids=lambda path: path.stem)
def test_imports_only_the_standard_library_and_its_neighbours(path: Path) -> None:
    outside = {
        f"{path.name}:{line} {module}"
        for line, module in imported(path)
        if not module.startswith("fabricdoc.probes")
        and module.split(".")[0] not in (sys.stdlib_module_names - NEWER_MODULES) | GUESTS
    }
    assert not outside


def test_what_only_looks_never_reaches_torch() -> None:
    lookers = reached_from(*ONLY_LOOK)
    assert {"scan", "beacon", "wire", "netlink"} <= lookers
    guests = {
        f"{stem}: {module}"
        for stem in lookers
        for _, module in imported(LINKED["probes"] / f"{stem}.py")
        if module.split(".")[0] in GUESTS
    }
    assert not guests


def test_importing_every_probe_loads_nothing_but_the_standard_library() -> None:
    code = (
        f"import sys; before = set(sys.modules); sys.path.insert(0, {str(TREE)!r})\n"
        f"import importlib; [importlib.import_module('probes.' + n) for n in {[p.stem for p in PROBES]!r}]\n"
        "print(*sorted({m.split('.')[0] for m in set(sys.modules) - before} - sys.stdlib_module_names))"
    )
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == ["probes"]


@pytest.mark.parametrize("path", PROBES, ids=lambda path: path.stem)
def test_neighbours_are_imported_relatively_and_guests_inside_functions(path: Path) -> None:
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            assert not (node.module or "").startswith(("probes", "fabricdoc")), f"{path.name}:{node.lineno}"
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 1, f"{path.name}:{node.lineno} leaves the folder"
    at_top = [module.split(".")[0] for module in top_level_imports(tree)]
    assert not set(at_top) & GUESTS, f"{path.name} loads {at_top} when it is imported"


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
