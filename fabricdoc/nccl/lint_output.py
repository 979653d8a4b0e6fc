"""Remarks for a terminal, for GitHub's annotations and as SARIF 2.1.0 for other code-scanning tools.

What a file says is untrusted: control characters are shown as "?", secrets (tokens, keys, passwords) as "***", lines
are cut around the culprit. No colours here: whoever prints adds them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from fabricdoc.nccl.complaints import SEVERITIES, Severity
from fabricdoc.nccl.lint_settings import Remark

WIDTH = 100
SHOWN_LINE = 400
"""Characters of a line that are quoted in a document."""
_NAMES = (
    r"(?:token(?!s|iz)|secret|passw(?:or)?d|passphrase|credential|auth(?![a-z])|authorization|(?<![a-z])key|apikey)"
    r"[\w-]{0,24}"
)
_SECRET = re.compile(
    rf"""((?:{_NAMES}["']?\s{{0,4}}[=:]|--[\w-]{{0,40}}?{_NAMES}\s)\s{{0,4}}["']?(?:bearer\s)?)([^\s"',]{{3,}})""",
    re.IGNORECASE,
)
_LOOKS_SECRET = re.compile(
    r"\b(?:hf_[A-Za-z0-9]{8,}|sk-[A-Za-z0-9_-]{8,}|gh[pousr]_[A-Za-z0-9]{16,}|glpat-[\w-]{16,}|AKIA[A-Z0-9]{12,}"
    r"|nvapi-[\w-]{16,}|xox[abpr]-[\w-]{10,}|eyJ[\w-]{16,}\.[\w-]+\.[\w-]*)"
)
"""Tokens that are known by how they begin: Hugging Face, OpenAI, GitHub, GitLab, AWS, NGC, Slack, JWT."""
_IN_ADDRESS = re.compile(r"(\b[a-z][a-z0-9+.-]{1,15}://[^\s:/@]{0,64}:)[^\s@/]{1,256}@")
_HINTS = ("token", "secret", "pass", "key", "auth", "credential")
_GITHUB: dict[Severity, str] = {"error": "error", "warning": "warning", "info": "notice"}
_SARIF: dict[Severity, str] = {"error": "error", "warning": "warning", "info": "note"}
SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def harmless(text: str) -> str:
    """`text` with secrets masked and control characters shown as "?"."""
    shown = masked(text)
    return shown if shown.isprintable() else "".join(letter if letter.isprintable() else "?" for letter in shown)


def masked(text: str) -> str:
    """`text` with what looks like a secret as "***": by the name before it, or by how it begins."""
    lower = text.lower()
    if any(hint in lower for hint in _HINTS):
        text = _SECRET.sub(lambda found: found[1] + "***", text)
    text = _LOOKS_SECRET.sub("***", text)
    return _IN_ADDRESS.sub(lambda found: found[1] + "***@", text) if "://" in text else text


def as_text(remark: Remark) -> tuple[str, ...]:
    """Where and what, the line, a pointer under the culprit, and the fix."""
    complaint = remark.complaint
    place = f"{harmless(remark.file)}:{remark.line}:{remark.column}"
    lines = [f"{place}: {complaint.severity}: {harmless(complaint.message)}  [{complaint.id}]"]
    lines += [f"  {line}" for line in shown_lines(remark)]
    if complaint.fix:
        lines.append(f"  fix: {harmless(complaint.fix)}")
    return tuple(lines)


def shown_lines(remark: Remark, width: int = WIDTH) -> tuple[str, ...]:
    """The line around the culprit, at most `width` characters of it, and the pointer where the culprit is seen."""
    text, at = _prepared(remark.text), remark.column - 1
    culprit = harmless(remark.text[at : at + remark.width].replace("\t", " "))
    if len(text) != len(remark.text):  # a secret was masked: the same occurrence of the culprit, if it is still there
        at = _nth(text, culprit, remark.text.count(remark.text[at : at + remark.width], 0, at) if culprit else 0)
    begin = max(0, min(at - width // 4, len(text) - width)) if len(text) > width else 0
    shown, start = text[begin : begin + width].rstrip(), max(0, at - begin)
    if not culprit or at < 0 or not text.startswith(culprit, at):
        return (shown,)
    return shown, f"{' ' * start}{'^' * max(1, min(len(culprit), width - start))}"


@lru_cache(maxsize=64)
def _prepared(text: str) -> str:
    """A line as it may be shown; one long line may have thousands of remarks."""
    return harmless(text.replace("\t", " "))


def _nth(text: str, part: str, count: int) -> int:
    """Where `part` stands for the (count + 1)th time, -1 where it does not."""
    at = text.find(part)
    while count and at >= 0:
        at = text.find(part, at + 1)
        count -= 1
    return at


def as_github(remarks: Sequence[Remark]) -> Iterator[str]:
    """One workflow command a remark, escaped as GitHub asks (actions/toolkit, command.ts)."""
    for remark in remarks:
        complaint = remark.complaint
        data = harmless(complaint.message) + (f" (fix: {harmless(complaint.fix)})" if complaint.fix else "")
        where = {
            "file": _property(harmless(remark.file)),
            "line": str(remark.line),
            "col": str(remark.column),
            "title": _property(complaint.id),
        }
        told = ",".join(f"{key}={value}" for key, value in where.items())
        yield f"::{_GITHUB[complaint.severity]} {told}::{_data(data)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def as_sarif(remarks: Sequence[Remark], version: str) -> dict[str, object]:
    """A SARIF log of one run; `version` is this program's."""
    used = sorted({remark.complaint.id for remark in remarks})
    rules = [
        {"id": one, "defaultConfiguration": {"level": _SARIF[SEVERITIES.get(one, "warning")]}} for one in used
    ]  # fmt: skip
    driver = {"name": "fabricdoc", "version": version, "rules": rules}
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": [_result(remark, used) for remark in remarks]}],
    }


def _result(remark: Remark, used: Sequence[str]) -> dict[str, object]:
    complaint = remark.complaint
    region = {
        "startLine": remark.line,
        "startColumn": remark.column,
        "endColumn": remark.column + max(1, remark.width),
        "snippet": {"text": _prepared(remark.text)[: 4 * SHOWN_LINE]},
    }
    message = harmless(complaint.message) + (f" Fix: {harmless(complaint.fix)}" if complaint.fix else "")
    place = {"artifactLocation": {"uri": harmless(remark.file).replace("\\", "/")}, "region": region}
    return {
        "ruleId": complaint.id,
        "ruleIndex": used.index(complaint.id),
        "level": _SARIF[complaint.severity],
        "message": {"text": message},
        "locations": [{"physicalLocation": place}],
    }
