"""Remarks for a terminal, for GitHub's annotations and as SARIF 2.1.0 for other code-scanning tools.

What a file says is untrusted: control characters are shown as "?", secrets (tokens, keys, passwords) as "***", lines
are cut around the culprit. No colours here: whoever prints adds them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from fabricdoc.nccl.complaints import SEVERITIES, Severity
from fabricdoc.nccl.lint_settings import Remark
from fabricdoc.nccl.masking import masked

WIDTH = 100
SHOWN_LINE = 400
"""Characters of a line that are quoted in a document."""
_GITHUB: dict[Severity, str] = {"error": "error", "warning": "warning", "info": "notice"}
_SARIF: dict[Severity, str] = {"error": "error", "warning": "warning", "info": "note"}
SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def harmless(text: str) -> str:
    """`text` with secrets masked and control characters shown as "?"."""
    shown = masked(text)
    return shown if shown.isprintable() else "".join(letter if letter.isprintable() else "?" for letter in shown)


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
