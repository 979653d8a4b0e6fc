"""What a serving engine sets in its own processes by itself (presets/candidates/base.toml): part of base when named.

Only what holds without any flag of the user's. Whether an engine runs anywhere is not looked at here.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from fabricdoc.bench.candidate_files import read_toml
from fabricdoc.bench.candidate_values import BadVariable, checked
from fabricdoc.errors import InputError, UsageError
from fabricdoc.files import own_folder

FILE = "candidates/base.toml"


class Engine(NamedTuple):
    """An engine, the variables it sets by itself, and who says so."""

    name: str
    variables: dict[str, str]
    source: str


def engine_named(name: str, extra_dirs: Sequence[Path] = ()) -> Engine:
    """The engine of that name; UsageError names those there are. A base.toml of `extra_dirs` wins."""
    engines = {engine.name: engine for engine in _engines(extra_dirs)}
    if name not in engines:
        raise UsageError(f"no engine is called {name!r}", fix=f"choose one of {', '.join(engines)}")
    return engines[name]


def _engines(extra_dirs: Sequence[Path]) -> list[Engine]:
    found = next((extra / FILE for extra in extra_dirs if (extra / FILE).is_file()), None)
    origin = "base.toml" if found is None else str(found)
    document, _ = read_toml(own_folder("presets").joinpath(*FILE.split("/")) if found is None else found, origin)
    tables = document.get("engine", [])
    if not isinstance(tables, list) or not all(isinstance(one, dict) for one in tables):
        raise InputError(f"{origin}: engine must be written as [[engine]] tables")
    return [_engine(table, origin) for table in tables]


def _engine(table: dict[str, object], origin: str) -> Engine:
    name, source = table.get("name"), table.get("source", "")
    if not isinstance(name, str) or not isinstance(source, str):
        raise InputError(f"{origin}: an engine has a name and a source, both text")
    try:
        return Engine(name, checked(table.get("variables", {})), source)
    except BadVariable as bad:
        raise InputError(f"{origin}, engine {name[:40]!r}: {bad}", fix=bad.fix) from bad
