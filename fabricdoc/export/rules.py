"""Which value survives which reader: one rule per export format, with the readers it was made for.

The rules are the intersection of what every reader of a format does:

- docker and podman `--env-file` (docker/cli pkg/kvfile): the value is all after the first `=`, quotes kept
  by the released client and stripped by its successor; lines above 64 KiB fail; the file must be UTF-8.
- compose `env_file` (compose-go dotenv): quotes stripped, `$` interpolated, `#` starts a comment (older
  versions even without a blank before it), blanks trimmed, a leading `export` cut off the name.
- systemd `EnvironmentFile=` (systemd src/basic/env-file.c): quotes and backslashes are syntax, blanks trimmed.
- shells: single quotes carry everything but control characters safely; zsh expands an unquoted `=word`.

This module does not write anything and knows no NCCL variable by name.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from fabricdoc.errors import UsageError

LONGEST = 32 * 1024
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_FILE_SYNTAX = {"'": "a quote", '"': "a quote", "\\": "a backslash", "$": "a $", "`": "a backtick", "#": "a #"}
_SHELL_PLAIN = re.compile(r"[A-Za-z0-9_@%+=:,./^-]*\Z")


@dataclass(frozen=True)
class Format:
    """An export format: its name, who reads it, and `refuse(name, value)` -> the reason, or "" to accept."""

    name: str
    readers: tuple[str, ...]
    refuse: Callable[[str, str], str]


def _not_a_value(_name: str, value: str) -> str:
    """What no environment can hold."""
    return "holds a NUL character, which no environment can" if "\0" in value else ""


def _not_one_line(name: str, value: str) -> str:
    """What a text format of one line per variable can't hold, whatever the quoting."""
    if any(ord(letter) < 0x20 or ord(letter) == 0x7F for letter in value):
        return "holds a line break or another control character"
    if not value.isascii():
        return "is not ASCII, so a reader in another locale would see other bytes"
    if len(name) + 1 + len(value) > LONGEST:
        return f"is longer than {LONGEST} bytes, which not every reader takes"
    return ""


def _not_for_env_files(name: str, value: str) -> str:
    """What docker, compose and systemd would not all read as the same value."""
    reason = _not_one_line(name, value)
    if reason:
        return reason
    if value != value.strip():
        return "begins or ends with a blank, which compose and systemd cut off"
    if name.startswith("export"):
        return "has a name that begins with 'export', which compose cuts off"
    for letter, what in _FILE_SYNTAX.items():
        if letter in value:
            return f"holds {what}, which docker, compose and systemd read differently"
    return ""


FORMATS: dict[str, Format] = {
    "env": Format("env", ("docker --env-file", "compose env_file", "systemd EnvironmentFile"), _not_for_env_files),
    "bash": Format("bash", ("bash", "dash", "zsh"), _not_one_line),
    "docker": Format("docker", ("docker run", "podman run"), _not_one_line),
    "json": Format("json", ("programs",), _not_a_value),
}


def format_named(name: str) -> Format:
    """The format, or UsageError with the names there are."""
    if name not in FORMATS:
        raise UsageError(f"there is no export format {name!r}", fix=f"use one of: {', '.join(FORMATS)}", id="format")
    return FORMATS[name]


def check_name(name: str) -> None:
    """UsageError unless `name` is what POSIX and every reader take as a variable's name."""
    if not _NAME.match(name):
        raise UsageError(
            f"{name!r} is not the name of a variable", fix="use letters, digits and _ only", id="variable-name"
        )


def check_value(wanted: Format, name: str, value: str) -> None:
    """UsageError unless the value survives every reader of the format; the fix names a format that carries it."""
    check_name(name)
    reason = wanted.refuse(name, value)
    if not reason:
        return
    able = [other.name for other in FORMATS.values() if not other.refuse(name, value)]
    fix = f"--format {able[0]} can carry it" if able else "take the variable out of the preset"
    readers = ", ".join(wanted.readers)
    raise UsageError(f"{name} can't be written for {readers}: its value {reason}", fix=fix, id="value-refused")


def shell_would_split(value: str) -> bool:
    """Whether a shell that sources `NAME=value` without quotes would not assign exactly this value."""
    return not _SHELL_PLAIN.match(value)
