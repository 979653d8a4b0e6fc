"""Env files line by line, as each reader takes them: docker --env-file, NCCL's own files, systemd units.

docker (opts/file.go, opts/env.go): spaces in front of a line go, and a CR at its end; "#" begins a comment only at the
beginning; everything behind "=" is value, quotes and comments too; nothing is expanded; a name with a blank makes it
refuse the file. NCCL (misc/param.cc): nothing goes, "#" begins a comment in column 0 since 2.26.2, CR is stripped since
2.30, a value is cut at 1023 characters. systemd splits Environment= as a shell would.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from fabricdoc.nccl.complaints import Complaint, Severity
from fabricdoc.nccl.lint_settings import Setting, column_of
from fabricdoc.nccl.lint_shell import words_of
from fabricdoc.nccl.safety import MAX_VALUE
from fabricdoc.nccl.versions import Release

_EXPORT = re.compile(r"\s*(?:export|set|declare -x)\s+(.*)", re.DOTALL)
_COMMENT = re.compile(r"\s+#")
_OURS = ("NCCL_", "GLOO_", "TP_", "UCX_", "TORCH_NCCL_")
_EXPANDED = re.compile(r"\$[A-Za-z_{]|^~/")
_SPACED = re.compile(r"(?<![\w\"'])((?:NCCL|TORCH_NCCL|GLOO|UCX)_[A-Z0-9_]+)[ \t]+=[ \t]*([^\s\"']*)", re.ASCII)
QUOTES = "\"'"
DOCKER, NCCL = "docker --env-file", "NCCL"
STRIPS_CR: Release = (2, 30, 3)


def docker_lines(lines: list[str], _release: Release | None = None) -> Iterator[Setting]:
    """What `docker run --env-file` makes of the lines."""
    told = False
    for number, raw in enumerate(lines, 1):
        text = raw.removesuffix("\r")
        stripped = text.lstrip()
        name, equals, value = stripped.partition("=")
        if not equals or stripped.startswith("#"):
            continue
        setting = _kept(name, value, number, text, DOCKER)
        if text is not raw and not told:
            told = True
            message = "the line ends in CR: docker drops it, a shell and older NCCL make it part of the value"
            complaint = Complaint("carriage-return-kept", setting.name, message, "save it with Unix ends", level="info")
            setting = _with(setting, complaint)
        yield setting


def conf_lines(lines: list[str], release: Release | None = None) -> Iterator[Setting]:
    """What NCCL makes of the lines of nccl.conf."""
    for number, text in enumerate(lines, 1):
        if text.startswith("#") or "=" not in text:
            continue
        name, _, value = text.partition("=")
        setting = _kept(name, value.rstrip("\r"), number, text.removesuffix("\r"), NCCL)
        if value.endswith("\r") and (release is None or release < STRIPS_CR):
            message = "the line ends in CR, which NCCL before 2.30 takes as part of the value"
            fix = "save the file with Unix line ends"
            setting = _with(setting, Complaint("carriage-return-kept", setting.name, message, fix))
        if len(value) > MAX_VALUE:
            message = f"NCCL cuts values at {MAX_VALUE} characters, and this one has {len(value)}"
            setting = _with(setting, Complaint("out-of-range", setting.name, message, "make it shorter"))
        yield setting


def _with(setting: Setting, complaint: Complaint) -> Setting:
    return replace(setting, wrong=(*setting.wrong, complaint))


def _kept(name: str, value: str, number: int, text: str, by: str) -> Setting:
    """A line whose reader keeps everything: `export`, quotes, comments and blanks become part of name or value."""
    exported = _EXPORT.fullmatch(name)
    plain = (exported[1] if exported else name).strip().removeprefix("\ufeff")
    comment = _COMMENT.search(value)
    bare = value[: comment.start()] if comment else value
    ours = plain.startswith(_OURS)
    has_quotes = _is_quoted(bare.strip()) or (ours and any(quote in bare for quote in QUOTES))
    meant = unquoted(bare.strip()) if has_quotes else bare.strip() if name != name.rstrip() else bare
    fix = f"{plain}={meant.strip()}"
    wrong = [*_in_name(name, plain, fix, by, exported is not None)]
    if comment:
        message = f"{by} knows no comment behind a value: it becomes part of it"
        culprit = value[comment.start() :].strip()
        wrong.append(Complaint("comment-kept", plain, message, fix, culprit, level=_level(ours)))
    if has_quotes:
        message = f"{by} keeps the quotes: they become part of the value"
        culprit = bare.strip()[min(bare.strip().find(quote) for quote in QUOTES if quote in bare) :]
        wrong.append(Complaint("env-file-quotes-kept", plain, message, fix, culprit, level=_level(ours)))
    if ours and _EXPANDED.search(meant):
        message = f"{by} expands nothing: the value stays {meant[:40]!r}"
        wrong.append(Complaint("bad-value", plain, message, f"write the value of {plain} out", meant))
    return Setting(plain, meant, number, column_of(text, plain), text, tuple(wrong))


def _in_name(name: str, plain: str, fix: str, by: str, is_exported: bool) -> Iterator[Complaint]:
    """`export`, a blank or a byte order mark in front of "="."""
    called = f"it sets a variable called {name[:80]!r}, which nobody reads"
    effect = "docker refuses the whole file" if by == DOCKER else called
    if is_exported:
        message = f"{by} runs no shell, and the name would hold a blank: {effect}"
        yield Complaint("export-kept", plain, message, fix, name.split()[0])
    elif name.strip() != name:
        yield Complaint("space-around-equals", plain, f"{by} trims no name: {effect}", fix, name)
    elif name.startswith("\ufeff"):
        message = f"the file begins with a byte order mark: {effect}"
        yield Complaint("unknown-variable", plain, message, "save the file as UTF-8 without one")


def _level(ours: bool) -> Severity | None:
    """Other programs may strip or want what is kept: no error then."""
    return None if ours else "warning"


def _is_quoted(value: str) -> bool:
    return len(value) > 1 and value[0] in QUOTES and value[-1] == value[0]


def unquoted(value: str) -> str:
    """The value that was meant: without the quotes around it, or around its parts."""
    inner = value[1:-1] if _is_quoted(value) else value
    return inner.replace('"', "").replace("'", "")


def systemd_lines(lines: list[str], _release: Release | None = None) -> Iterator[Setting]:
    """Environment= of a unit; quoted assignments are unquoted, several may stand on a line."""
    for number, text in enumerate(lines, 1):
        stripped = text.strip()
        if stripped.startswith("Environment="):
            start = text.index("Environment=") + len("Environment=")
            yield from _spaced(text, number, start)
            for word in words_of([text[start:].removesuffix("\r")]):
                name, equals, value = word.text.partition("=")
                if equals and re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name, re.ASCII):
                    yield Setting(name, value, number, column_of(text, name, start), text, style="systemd")


def _spaced(text: str, number: int, start: int) -> Iterator[Setting]:
    """`NAME = VALUE` in a unit: three words, none of which sets anything."""
    if match := _SPACED.search(text, start):
        name, value = match[1], match[2].strip("\"'\r")
        message = "systemd splits at blanks, and ignores a word that sets nothing: the variable stays unset"
        wrong = Complaint("space-around-equals", name, message, f"{name}={value}")
        yield Setting(name, value, number, match.start(1) + 1, text, (wrong,), style="systemd")
