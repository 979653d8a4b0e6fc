"""Shell scripts and launch lines: exported variables, prefixes of commands, -e and --env of docker, -x of mpirun.

Nothing is run or expanded: a value with `$` in it is left alone, since only the shell knows it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from fabricdoc.nccl.lint_lines import split
from fabricdoc.nccl.lint_settings import Setting, column_of
from fabricdoc.nccl.versions import Release

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_OPTIONS = ("-e", "--env", "-x", "--export", "--genv")
_EQUALS = ("--env=", "--export=", "-e=")


def shell_lines(lines: list[str], _release: Release | None = None) -> Iterator[Setting]:
    """The assignments of a script and of the commands in it, line by line (continued lines are one)."""
    for number, text, joined in _continued(lines):
        for word in _words(joined):
            name, equals, value = word.partition("=")
            if equals and _NAME.fullmatch(name) and "$" not in value and "`" not in value:
                first, place = _place(lines, number, name)
                yield Setting(name, value, first, column_of(place, name), place or text)


def _continued(lines: list[str]) -> Iterator[tuple[int, str, str]]:
    """(number of the first line, its text, the whole command) with lines that end in a backslash joined."""
    start = 1
    parts: list[str] = []
    for number, text in enumerate(lines, 1):
        if not parts:
            start = number
        parts.append(text.removesuffix("\r").removesuffix("\\"))
        if not text.removesuffix("\r").endswith("\\"):
            yield start, lines[start - 1], " ".join(parts)
            parts = []
    if parts:
        yield start, lines[start - 1], " ".join(parts)


def _place(lines: list[str], start: int, name: str) -> tuple[int, str]:
    """The line of a command in which the name stands."""
    for number in range(start, min(start + 200, len(lines) + 1)):
        if name + "=" in lines[number - 1]:
            return number, lines[number - 1]
    return start, lines[start - 1]


def _words(command: str) -> Iterator[str]:
    """Every word that sets a variable: before the command, behind export or env, behind an option that takes one."""
    leading, after_option = True, False
    for raw in split(command):
        word = raw.rstrip(";")
        if after_option:
            yield from word.split(",") if "," in word and word.count("=") > 1 else [word]
        elif leading and _assigns(word):
            yield word
        elif any(word.startswith(option) for option in _EQUALS):
            yield word.partition("=")[2]
        elif word.startswith("-e") and _assigns(word[2:]):
            yield word[2:]
        elif word not in ("export", "env", "set", "sudo", "declare", "-x") and not word.startswith("-"):
            leading = raw.endswith((";", "&&", "||")) or word in ("&&", "||", ";", "then", "do")
        after_option = word in _OPTIONS and not (leading and word == "-x")


def _assigns(word: str) -> bool:
    name, equals, _ = word.partition("=")
    return bool(equals) and _NAME.fullmatch(name) is not None
