"""What the house tests share: the source files, and who imports whom, read from syntax trees (nothing is imported)."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

TREE = Path(__file__).resolve().parents[3]
PACKAGE = TREE / "fabricdoc"
LINKED = {"probes": TREE / "probes", "presets": TREE / "presets"}


def rooms() -> dict[str, list[Path]]:
    """Room name -> its source files; `errors`, `__init__` and `__main__` are single modules of the package."""
    found = {path.stem: [path] for path in PACKAGE.glob("*.py")}
    for folder in PACKAGE.iterdir():
        if folder.is_dir() and not folder.is_symlink() and (folder / "__init__.py").exists():
            found[folder.name] = sorted(folder.rglob("*.py"))
    return found | {name: sorted(folder.rglob("*.py")) for name, folder in LINKED.items()}


def sources() -> list[Path]:
    """Every module of the product."""
    return sorted(path for files in rooms().values() for path in files)


def module_name(path: Path) -> str:
    """`fabricdoc.model.run` for fabricdoc/model/run.py; probes/ and presets/ are named as installed."""
    parts = list(path.relative_to(TREE).with_suffix("").parts)
    if parts[0] in LINKED:
        parts.insert(0, "fabricdoc")
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(path: Path) -> Iterator[tuple[int, str]]:
    """(line, absolute module) of every import in a file, those inside functions and `import_module("...")` too.

    For `from a.b import c` the module is `a.b.c` where that is a module of this tree and not a name that `a.b`
    exports (a function may share its module's name), else `a.b`.
    """
    tree = ast.parse(path.read_text(), str(path))
    package = module_name(path) if path.name == "__init__.py" else module_name(path).rpartition(".")[0]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, base]).rstrip(".")
            for alias in node.names:
                whole = f"{base}.{alias.name}"
                yield node.lineno, whole if is_module(whole) and alias.name not in exports(base) else base
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in ("import_module", "__import__") and isinstance(node.args[0].value, str):
                yield node.lineno, node.args[0].value


def is_module(name: str) -> bool:
    """Whether `name` is a module or package of this tree."""
    path = TREE.joinpath(*name.split("."))
    return name.startswith("fabricdoc.") and (path.with_suffix(".py").is_file() or (path / "__init__.py").is_file())


@cache
def exports(package: str) -> frozenset[str]:
    """The names that a package's `__init__` imports from elsewhere."""
    path = TREE.joinpath(*package.split("."), "__init__.py")
    if not path.is_file():
        return frozenset()
    nodes = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.ImportFrom)]
    return frozenset(alias.asname or alias.name for node in nodes for alias in node.names)
