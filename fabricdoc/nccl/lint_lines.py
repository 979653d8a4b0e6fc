"""Env files line by line, as each reader takes them: docker --env-file, NCCL's own files, systemd units.

docker (cli/opts/file.go): spaces in front of a line go, "#" begins a comment only there, everything else of a line is
value, quotes and comments too; a name with a blank is an error. NCCL (misc/param.cc): nothing goes, "#" begins a
comment in column 0 since 2.26.2, CR is stripped since 2.30. systemd splits Environment= as a shell would.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from fabricdoc.nccl.complaints import Complaint
from fabricdoc.nccl.lint_settings import Setting, column_of
from fabricdoc.nccl.versions import Release

_EXPORT = re.compile(r"\s*export\s+(.*)", re.DOTALL)
_COMMENT = re.compile(r"\s+#")
QUOTES = "\"'"


def docker_lines(lines: list[str], _release: Release | None = None) -> Iterator[Setting]:
    """What `docker run --env-file` makes of the lines."""
    for number, text in enumerate(lines, 1):
        stripped = text.lstrip()
        if stripped and not stripped.startswith("#"):
            name, equals, value = stripped.partition("=")
            if equals:
                yield _kept(name, value, number, text, "docker --env-file")


def conf_lines(lines: list[str], release: Release | None = None) -> Iterator[Setting]:
    """What NCCL makes of the lines of nccl.conf."""
    for number, text in enumerate(lines, 1):
        if text.startswith("#") or "=" not in text:
            continue
        name, _, value = text.partition("=")
        setting = _kept(name, value, number, text, "NCCL")
        blank = [] if name == name.strip() or setting.wrong else [_blank(name)]
        cr = value.endswith("\r") and (release is None or release < (2, 30, 3))
        wrong = [_carriage(setting.name)] if cr else []
        clean = setting.value.rstrip("\r")
        yield Setting(setting.name, clean, number, setting.column, text, (*setting.wrong, *blank, *wrong))


def _blank(name: str) -> Complaint:
    message = f"NCCL trims nothing: it sets a variable called {name!r}, which nobody reads"
    return Complaint("space-around-equals", name.strip(), message, f"{name.strip()}=VALUE without blanks", name)


def _carriage(name: str) -> Complaint:
    message = "the line ends in CR, which NCCL before 2.30 takes as part of the value"
    return Complaint("carriage-return-kept", name, message, "save the file with Unix line ends")


def _kept(name: str, value: str, number: int, text: str, reader: str) -> Setting:
    """A line whose reader keeps everything: `export`, quotes and comments become part of name or value."""
    wrong: list[Complaint] = []
    exported = _EXPORT.fullmatch(name)
    plain = (exported[1] if exported else name).strip()
    if exported:
        message = f"{reader} runs no shell: the variable would be called {name.strip()!r}"
        wrong.append(Complaint("export-kept", plain, message, f"{plain}={value}", "export"))
    comment = _COMMENT.search(value)
    bare = value[: comment.start()] if comment else value
    if comment:
        message = f"{reader} knows no comment behind a value: it becomes part of it"
        wrong.append(Complaint("comment-kept", plain, message, f"{plain}={bare}", value[comment.start() :].strip()))
    if len(bare) > 1 and bare[0] in QUOTES and bare.rstrip()[-1] == bare[0]:
        inner = bare.strip()[1:-1]
        message = f"{reader} keeps the quotes: the value begins and ends with one"
        wrong.append(Complaint("env-file-quotes-kept", plain, message, f"{plain}={inner}", bare.strip()))
        bare = inner
    return Setting(plain, bare, number, column_of(text, plain), text, tuple(wrong))


def systemd_lines(lines: list[str], _release: Release | None = None) -> Iterator[Setting]:
    """Environment= of a unit; quoted assignments are unquoted, several may stand on a line."""
    for number, text in enumerate(lines, 1):
        stripped = text.strip()
        if stripped.startswith("Environment="):
            yield from assignments(stripped.removeprefix("Environment="), number, text)


def assignments(words: str, number: int, text: str) -> Iterator[Setting]:
    """Every NAME=VALUE among words quoted as in a shell."""
    for word in split(words):
        name, equals, value = word.partition("=")
        if equals and re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            yield Setting(name, value, number, column_of(text, name), text)


def split(words: str) -> list[str]:
    """Words as a shell splits them, comments away; plain blanks decide where quotes do not close."""
    try:
        return shlex.split(words, comments=True)
    except ValueError:
        return words.split()
