"""Compose and Kubernetes YAML: the environments in them, with their lines. No YAML library is needed.

Read line by line, in the forms in which environments are written: "NAME: value" and "- NAME=value" under
`environment:`, "- name: NAME" with "value:" behind it, the same within one pair of brackets, and what `command:` and
`args:` start, block texts included. Anchors are not followed; what a template fills in (`$`, `{{`) is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from fabricdoc.nccl.lint_commands import defaulted, shell_lines
from fabricdoc.nccl.lint_settings import Setting, column_of
from fabricdoc.nccl.versions import Release

_ITEM = re.compile(r"""\s*-\s+(["']?)([A-Z][A-Z0-9_]*)=(.*?)\1\s*$""", re.ASCII)
_PAIR = re.compile(r"""\s*(["']?)([A-Z][A-Z0-9_]*)\1\s*:\s+(\S.*?)\s*$""", re.ASCII)
_NAMED = re.compile(r"""\s*-?\s*name:\s*(["']?)([A-Z][A-Z0-9_]*)\1\s*(?:#.*)?$""", re.ASCII)
_VALUE = re.compile(r"\s*-?\s*value:\s*(.*?)\s*$")
_SECTION = re.compile(r"(\s*)-?\s*(environment|env|env_vars):\s*(.*)$")
_KEY = re.compile(r"(\s*)(?:-\s+)*([A-Za-z_][\w.-]*):(?:\s|$)", re.ASCII)
_BLOCK = re.compile(r"(\s*)(?:-\s+)?(?:[\w.-]+:\s+)?[|>][+-]?\d?\s*(?:#.*)?$", re.ASCII)
_FLOW_PAIR = re.compile(r"""(["']?)([A-Z][A-Z0-9_]*)\1\s*:\s*("[^"]*"|'[^']*'|[^,{}\[\]]*)""", re.ASCII)
_FLOW_ITEM = re.compile(r"""["']?([A-Z][A-Z0-9_]*)=([^"',\]]*)["']?""", re.ASCII)
_FLOW_NAMED = re.compile(
    r"""\{\s*name:\s*(["']?)([A-Z][A-Z0-9_]*)\1\s*,\s*value:\s*("[^"]*"|'[^']*'|[^,{}]*)\}""", re.ASCII
)
_STARTS = frozenset({"command", "args", "entrypoint"})
"""Keys whose items are words of a command, not variables."""


def yaml_lines(lines: list[str], _release: Release | None = None) -> Iterator[Setting]:
    """The variables of the environments in a YAML file; each `environment:` or `env:` is one of its own."""
    named, scope, key, skip = "", 0, "", 0
    for number, raw in enumerate(lines, 1):
        text = raw.removesuffix("\r")
        if number <= skip:
            continue
        if found := _KEY.match(text):
            key = found[2]
        if block := _BLOCK.match(text):
            skip = _block_end(lines, number, len(block[1]))
            yield from _block(lines, number, skip, scope)
        elif text.rstrip() == "---":
            scope = number  # another document
        elif section := _SECTION.match(text):
            scope = number
            yield from _flow(text, number, section.start(3), scope)
        elif match := _NAMED.match(text):
            named = match[2]
        elif named and (match := _VALUE.match(text)):
            yield from _plain(named, scalar(match[1]), number, column_of(text, match[1]), text, scope)
            named = ""
        elif key in _STARTS and (text.lstrip().startswith("-") or f"{key}:" in text):
            yield from _command(text, number, scope)
        elif match := _ITEM.match(text):
            yield from _plain(match[2], match[3], number, column_of(text, match[2]), text, scope)
        elif _FLOW_NAMED.search(text):
            yield from _flow(text, number, 0, scope)
        elif (match := _PAIR.match(text)) and "_" in match[2]:
            yield from _plain(match[2], scalar(match[3]), number, column_of(text, match[2]), text, scope)


def _plain(name: str, value: str, number: int, column: int, text: str, scope: int) -> Iterator[Setting]:
    """The setting, unless a template or the shell fills its value in."""
    value = defaulted(value)
    if "$" not in value and "{{" not in value:
        yield Setting(name, value, number, column, text, scope=scope)


def _flow(text: str, number: int, start: int, scope: int) -> Iterator[Setting]:
    """The variables within brackets on one line."""
    part = text[start:]
    if not part.lstrip().startswith(("{", "[", "-")):
        return
    if named := list(_FLOW_NAMED.finditer(part)):
        pairs = [(one[2], scalar(one[3].strip()), one.start(2)) for one in named]
    elif part.lstrip().startswith("["):
        pairs = [(one[1], one[2].strip(), one.start(1)) for one in _FLOW_ITEM.finditer(part)]
    else:
        pairs = [(one[2], scalar(one[3].strip()), one.start(2)) for one in _FLOW_PAIR.finditer(part)]
    for name, value, at in pairs:
        yield from _plain(name, value, number, start + at + 1, text, scope)


def _block_end(lines: list[str], number: int, indent: int) -> int:
    """The number of the last line of a block text that begins behind a line: all that are indented more, or blank."""
    last = number
    while last < len(lines):
        text = lines[last]
        if text.strip() and len(text) - len(text.lstrip(" ")) <= indent:
            break
        last += 1
    return last


def _block(lines: list[str], first: int, last: int, scope: int) -> Iterator[Setting]:
    """What the lines of a block text set, read as a shell would."""
    for one in shell_lines(lines[first:last]):
        yield replace(one, line=first + one.line, scope=scope)


def _command(text: str, number: int, scope: int) -> Iterator[Setting]:
    """What one item of a command sets."""
    for one in shell_lines([text.strip().removeprefix("-").strip().strip("\"'")]):
        yield replace(one, line=number, column=column_of(text, one.name), text=text, scope=scope)


def scalar(text: str) -> str:
    """A YAML scalar of one line without its quotes and comment."""
    if text[:1] in "\"'" and text[:1]:
        end = text.find(text[0], 1)
        return text[1:end] if end > 0 else text[1:]
    return re.split(r"\s+#", text, maxsplit=1)[0]
