"""Compose and Kubernetes YAML: the environments in them, with their lines. No YAML library is needed.

Read line by line, in the forms in which environments are written: "NAME: value" and "- NAME=value" under
`environment:`, "- name: NAME" with "value:" behind it, the same within one pair of brackets, and what `command:` and
`args:` start, block texts included. Anchors are not followed; what a template fills in (`$`, `{{`) is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from fabricdoc.nccl.complaints import Complaint, Severity
from fabricdoc.nccl.lint_commands import defaulted, shell_lines
from fabricdoc.nccl.lint_settings import Setting, column_of
from fabricdoc.nccl.lint_writing import Style
from fabricdoc.nccl.versions import Release

_ITEM = re.compile(r"""([A-Z][A-Z0-9_]*)([ \t]*)=(.*)$""", re.ASCII | re.DOTALL)
_IS_ITEM = re.compile(r"""\s*-\s+(["']?[A-Z][A-Z0-9_]*[ \t]*=.*)$""", re.ASCII)
_PAIR = re.compile(r"""\s*(["']?)([A-Z][A-Z0-9_]*)\1\s*:\s+(\S.*?)\s*$""", re.ASCII)
_NAMED = re.compile(r"""\s*-?\s*name:\s*(["']?)([A-Z][A-Z0-9_]*)\1\s*(?:#.*)?$""", re.ASCII)
_VALUE = re.compile(r"\s*-?\s*value:\s*(.*?)\s*$")
_SECTION = re.compile(r"(\s*)-?\s*(environment|env|env_vars):\s*(.*)$")
_KEY = re.compile(r"(\s*)(?:-\s+)*([A-Za-z_][\w.-]*):(?:\s|$)", re.ASCII)
BLOCK = re.compile(r"(\s*)(?:-\s+)?(?:[\w.-]+:\s+)?[|>][+-]?\d?\s*(?:#.*)?$", re.ASCII)
_FLOW_PAIR = re.compile(r"""(["']?)([A-Z][A-Z0-9_]*)\1\s*:\s*("[^"]*"|'[^']*'|[^,{}\[\]]*)""", re.ASCII)
_FLOW_ITEM = re.compile(r"""["']?([A-Z][A-Z0-9_]*)=([^"',\]]*)["']?""", re.ASCII)
_FLOW_NAMED = re.compile(
    r"""\{\s*name:\s*(["']?)([A-Z][A-Z0-9_]*)\1\s*,\s*value:\s*("[^"]*"|'[^']*'|[^,{}]*)\}""", re.ASCII
)
_KUBERNETES = re.compile(r"(?:apiVersion|kind):\s")
_OTHER_TYPES = {
    "a number": re.compile(r"[-+]?(?:0[xX][0-9a-fA-F_]+|0[oO]?[0-7_]+|[0-9][0-9_]*(?:\.[0-9_]*)?(?:[eE][-+]?[0-9]+)?)"),
    "a number (.inf, .nan)": re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)|[-+]?\.[0-9]+"),
    "a boolean": re.compile(r"(?:y|n|yes|no|on|off|true|false)", re.IGNORECASE),
}
"""What YAML 1.1 (sigs.k8s.io/yaml, which kubectl uses) makes of a scalar that is no text."""
_STARTS = frozenset({"command", "args", "entrypoint"})
"""Keys whose items are words of a command, not variables."""


def yaml_lines(lines: list[str], _release: Release | None = None) -> Iterator[Setting]:
    """The variables of the environments in a YAML file; each `environment:` or `env:` is one of its own."""
    named, scope, key, skip = "", 0, "", 0
    place: tuple[int, str] | None = None
    level: Severity | None = None if any(_KUBERNETES.match(line) for line in lines) else "warning"
    for number, raw in enumerate(lines, 1):
        text = raw.removesuffix("\r")
        if number <= skip:
            continue
        if found := _KEY.match(text):
            key = found[2]
        if block := BLOCK.match(text):
            skip = block_end(lines, number, len(block[1]))
            yield from _block(lines, number, skip, scope)
        elif text.rstrip() == "---":
            scope = number  # another document
        elif section := _SECTION.match(text):
            scope = number
            yield from _flow(text, number, section.start(3), scope, level)
        elif match := _NAMED.match(text):
            named, place = match[2], (number, text)
        elif named and (match := _VALUE.match(text)):
            at = column_of(text, match[1], match.start(1))
            for one in _plain(named, scalar(match[1]), number, at, text, scope, "named"):
                yield replace(_as_text(one, match[1], level), named=place)
            named = ""
        elif key in _STARTS and (text.lstrip().startswith("-") or f"{key}:" in text):
            yield from _command(text, number, scope)
        elif match := _IS_ITEM.match(text):
            yield from _item(match[1], number, text, scope)
        elif _FLOW_NAMED.search(text):
            yield from _flow(text, number, 0, scope, level)
        elif (match := _PAIR.match(text)) and "_" in match[2]:
            yield from _plain(match[2], scalar(match[3]), number, column_of(text, match[2]), text, scope, "mapping")


def _plain(
    name: str, value: str, number: int, column: int, text: str, scope: int, style: Style = ""
) -> Iterator[Setting]:
    """The setting, unless a template or the shell fills its value in."""
    value = defaulted(value)
    if "$" not in value and "{{" not in value:
        yield Setting(name, value, number, column, text, scope=scope, style=style)


def _item(item: str, number: int, text: str, scope: int) -> Iterator[Setting]:
    """An item `NAME=VALUE`. A blank in front of its `=` is part of the name for compose."""
    if match := _ITEM.match(scalar(item)):
        name, blank, value = match[1], match[2], match[3]
        for one in _plain(name, value.strip() if blank else value, number, column_of(text, name), text, scope, "list"):
            message = f"compose trims no name: it sets a variable called {f'{name} '!r}, which nobody reads"
            fix = f"{name}={one.value}"
            yield replace(one, wrong=(Complaint("space-around-equals", name, message, fix),)) if blank else one


def _as_text(setting: Setting, written: str, level: Severity | None) -> Setting:
    """The setting of a `value:`, with a complaint where YAML makes another thing than text of what is written there.

    `level` is how bad that is where the file need not be Kubernetes' own.
    """
    what = next((what for what, pattern in _OTHER_TYPES.items() if pattern.fullmatch(setting.value)), "")
    if not what or written[:1] in "\"'":
        return setting
    message = f"{setting.value} without quotes is {what}: Kubernetes takes text alone, and refuses the whole object"
    fix = f"{setting.name}={setting.value}"
    wrong = Complaint("value-not-text", setting.name, message, fix, setting.value, level=level)
    return replace(setting, wrong=(*setting.wrong, wrong))


def _flow(text: str, number: int, start: int, scope: int, level: Severity | None = None) -> Iterator[Setting]:
    """The variables within brackets on one line."""
    part = text[start:]
    if not part.lstrip().startswith(("{", "[", "-")):
        return
    style: Style = "mapping"
    if named := list(_FLOW_NAMED.finditer(part)):
        for one in named:
            for setting in _plain(
                one[2], scalar(one[3].strip()), number, start + one.start(2) + 1, text, scope, "named"
            ):
                yield _as_text(setting, one[3].strip(), level)
        return
    if part.lstrip().startswith("["):
        style = "json-list"
        pairs = [(one[1], one[2].strip(), one.start(1)) for one in _FLOW_ITEM.finditer(part)]
    else:
        pairs = [(one[2], scalar(one[3].strip()), one.start(2)) for one in _FLOW_PAIR.finditer(part)]
    for name, value, at in pairs:
        yield from _plain(name, value, number, start + at + 1, text, scope, style)


def block_end(lines: Sequence[str], number: int, indent: int) -> int:
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
