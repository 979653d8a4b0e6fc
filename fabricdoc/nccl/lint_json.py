"""JSON: the environments in a document (`docker inspect`, Ray's runtime_env, VS Code, Nomad), with their lines.

Three forms: objects of names and values, lists of "NAME=value", lists of objects that have a name and a value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

from fabricdoc.nccl.complaints import Complaint, Severity
from fabricdoc.nccl.lint_settings import MOST_SETTINGS, Setting
from fabricdoc.nccl.lint_writing import Style
from fabricdoc.nccl.versions import Release

_ASSIGNED = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=", re.ASCII)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
FIRST = (1, 1)
ABOUT = frozenset({"evidence", "description", "comments"})
"""Keys of what is said about variables, as in fabricdoc's own files; nothing below them is set."""
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


def json_lines(lines: list[str], _release: Release | None = None) -> Iterator[Setting]:
    """The variables of a JSON document, each object or list an environment of its own.

    Raises ValueError when it is no JSON, or nested too deeply.
    """
    found = list(islice(_walk(_loaded("\n".join(lines))), MOST_SETTINGS + 1))
    where = _where(lines, {one.name for one in found})
    for one in found:
        number, column = next(where[one.name], FIRST) if one.name in where else FIRST
        setting = Setting(one.name, one.value, number, column, lines[number - 1], scope=one.scope, style=one.style)
        yield replace(setting, wrong=(_no_text(one),)) if one.is_other and one.name.startswith("NCCL_") else setting


def variables_in(text: str) -> list[tuple[str, str]]:
    """The variables of a JSON text inside a command; none where it is no JSON."""
    try:
        return [(one.name, one.value) for one in _walk(_loaded(text))]
    except ValueError:
        return []


def _loaded(text: str) -> object:
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _where(lines: list[str], names: set[str]) -> dict[str, Iterator[tuple[int, int]]]:
    """For every name the lines and columns at which it stands as a word, in one pass over the text."""
    found: dict[str, list[tuple[int, int]]] = {}
    for number, line in enumerate(lines, 1):
        for word in _WORD.finditer(line):
            if word[0] in names:
                found.setdefault(word[0], []).append((number, word.start() + 1))
    return {name: iter(places) for name, places in found.items()}


class _Found(NamedTuple):
    """A variable, the number of the object or list it stands in, how it is written; `is_other`: it is no text."""

    name: str
    value: str
    scope: int
    style: Style
    is_other: bool = False


def _no_text(one: _Found) -> Complaint:
    """Kubernetes and Ray refuse it; what else reads an environment from JSON may not."""
    message = f"{one.value} without quotes is no text, and an environment holds text: Kubernetes and Ray refuse it"
    level: Severity | None = None if one.style == "json-named" else "warning"
    return Complaint("value-not-text", one.name, message, f"{one.name}={one.value}", one.value, level=level)


def _walk(document: object) -> Iterator[_Found]:
    """Every variable, depth first."""
    waiting: list[tuple[object, int]] = [(document, 0)]
    count = 0
    while waiting:
        one, scope = waiting.pop()
        count += 1
        if isinstance(one, list):
            waiting += [(item, count) for item in reversed(one)]
        elif isinstance(one, str) and _ASSIGNED.match(one):
            name, _, value = one.partition("=")
            yield _Found(name, value, scope, "json-list")
        elif isinstance(one, dict) and (pair := _pair(one)):
            yield _Found(*pair, scope, "json-named", _is_other(one.get("value", one.get("Value"))))
        elif isinstance(one, dict):
            nested: list[tuple[object, int]] = []
            for key, item in one.items():
                if _NAME.fullmatch(key) and "_" in key and (_is_text(item) or (_is_other(item) and "NCCL" in key)):
                    yield _Found(key, _written(item), count, "json", isinstance(item, bool))
                elif key not in ABOUT:
                    nested.append((item, count))
            waiting += reversed(nested)


def _pair(one: dict[str, object]) -> tuple[str, str] | None:
    """An object that is a name and a value, as Kubernetes writes them."""
    name, value = one.get("name", one.get("Name")), one.get("value", one.get("Value"))
    if isinstance(name, str) and _NAME.fullmatch(name) and (_is_text(value) or _is_other(value)):
        return name, _written(value)
    return None


def _is_other(item: object) -> bool:
    """Whether JSON makes a number or a boolean of it."""
    return isinstance(item, int | float)


def _written(item: object) -> str:
    return item if isinstance(item, str) else json.dumps(item)


def _is_text(item: object) -> bool:
    return isinstance(item, str | int) and not isinstance(item, bool)
