"""Compose and Kubernetes YAML, and JSON: the environments in them, with their lines. No YAML library is needed.

YAML is read line by line, in the three forms in which environments are written: "NAME: value" and "- NAME=value" under
`environment:`, and "- name: NAME" with "value:" behind it. Anchors, templates and block texts are left alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from fabricdoc.nccl.lint_settings import MOST_SETTINGS, Setting, column_of
from fabricdoc.nccl.versions import Release

_ITEM = re.compile(r"""\s*-\s+(["']?)([A-Z][A-Z0-9_]*)=(.*?)\1\s*$""", re.ASCII)
_PAIR = re.compile(r"""\s*(["']?)([A-Z][A-Z0-9_]*)\1\s*:\s+(\S.*?)\s*$""", re.ASCII)
_NAMED = re.compile(r"""\s*-?\s*name:\s*(["']?)([A-Z][A-Z0-9_]*)\1\s*$""", re.ASCII)
_VALUE = re.compile(r"\s*-?\s*value:\s*(.*?)\s*$")
_SECTION = re.compile(r"\s*-?\s*(?:environment|env):\s*(?:#.*)?$")
_ASSIGNED = re.compile(r"[A-Z][A-Z0-9_]*=", re.ASCII)
_NAME = re.compile(r"[A-Z][A-Z0-9_]*", re.ASCII)


def yaml_lines(lines: list[str], _release: Release | None = None) -> Iterator[Setting]:
    """The variables of the environments in a YAML file; each `environment:` or `env:` is one of its own."""
    named = ""
    scope = 0
    for number, raw in enumerate(lines, 1):
        text = raw.removesuffix("\r")
        if _SECTION.match(text):
            scope = number
        elif match := _NAMED.match(text):
            named = match[2]
        elif named and (match := _VALUE.match(text)):
            yield Setting(named, scalar(match[1]), number, column_of(text, match[1]), text, scope=scope)
            named = ""
        elif match := _ITEM.match(text):
            yield Setting(match[2], match[3], number, column_of(text, match[2]), text, scope=scope)
        elif (match := _PAIR.match(text)) and "_" in match[2]:
            yield Setting(match[2], scalar(match[3]), number, column_of(text, match[2]), text, scope=scope)


def scalar(text: str) -> str:
    """A YAML scalar of one line without its quotes and comment."""
    if text[:1] in "\"'" and text[:1]:
        end = text.find(text[0], 1)
        return text[1:end] if end > 0 else text[1:]
    return re.split(r"\s+#", text, maxsplit=1)[0]


def json_lines(lines: list[str], _release: Release | None = None) -> Iterator[Setting]:
    """The variables of a JSON document: objects of names, lists of "NAME=value", lists of name and value.

    Raises ValueError when it is no JSON, or nested too deeply.
    """
    try:
        document = json.loads("\n".join(lines))
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    seen: dict[str, int] = {}
    for count, (name, value, scope) in enumerate(_walk(document)):
        if count >= MOST_SETTINGS:
            return
        start = seen.get(name, 0)
        number = next((n for n in range(start + 1, len(lines) + 1) if name in lines[n - 1]), start or 1)
        seen[name] = number
        text = lines[number - 1]
        yield Setting(name, value, number, column_of(text, name), text, scope=scope)


def _walk(document: object) -> Iterator[tuple[str, str, int]]:
    """(name, value, number of the object or list it stands in) of every variable, depth first."""
    waiting: list[tuple[object, int]] = [(document, 0)]
    count = 0
    while waiting:
        one, scope = waiting.pop()
        count += 1
        if isinstance(one, list):
            waiting += [(item, count) for item in reversed(one)]
        elif isinstance(one, str) and _ASSIGNED.match(one):
            name, _, value = one.partition("=")
            yield name, value, scope
        elif isinstance(one, dict) and (pair := _pair(one)):
            yield *pair, scope
        elif isinstance(one, dict):
            nested: list[tuple[object, int]] = []
            for key, item in one.items():
                if _NAME.fullmatch(key) and "_" in key and _is_text(item):
                    yield key, str(item), count
                else:
                    nested.append((item, count))
            waiting += reversed(nested)


def _pair(one: dict[str, object]) -> tuple[str, str] | None:
    """An object that is a name and a value, as Kubernetes writes them."""
    name, value = one.get("name", one.get("Name")), one.get("value", one.get("Value"))
    if isinstance(name, str) and _NAME.fullmatch(name) and _is_text(value):
        return name, str(value)
    return None


def _is_text(item: object) -> bool:
    return isinstance(item, str | int) and not isinstance(item, bool)
