"""Remarks for a terminal, for GitHub's annotations and as SARIF 2.1.0 for other code-scanning tools.

What a file says is untrusted: control characters are shown as "?", secrets (tokens, keys, passwords) as "***", lines
are cut around the culprit. No colours here: whoever prints adds them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from fabricdoc.nccl.complaints import SEVERITIES, Severity
from fabricdoc.nccl.lint_settings import Remark

WIDTH = 100
_SECRET = re.compile(
    r"(?i)((?:\b\w*(?:token|secret|password|passwd|api[_-]?key|access[_-]?key)\w*"
    r"|--(?:api-key|token|password))[=: ]\s*[\"']?)"
    r"([^\s\"',]{3,})"
)
_GITHUB: dict[Severity, str] = {"error": "error", "warning": "warning", "info": "notice"}
_SARIF: dict[Severity, str] = {"error": "error", "warning": "warning", "info": "note"}
SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def harmless(text: str) -> str:
    """`text` with secrets masked and control characters shown as "?"."""
    masked = _SECRET.sub(lambda found: found[1] + "***", text)
    return masked if masked.isprintable() else "".join(letter if letter.isprintable() else "?" for letter in masked)


def as_text(remark: Remark) -> tuple[str, ...]:
    """Where and what, the line, a pointer under the culprit, and the fix."""
    complaint = remark.complaint
    place = f"{harmless(remark.file)}:{remark.line}:{remark.column}"
    lines = [f"{place}: {complaint.severity}: {harmless(complaint.message)}  [{complaint.id}]"]
    shown, start = _window(remark)
    lines.append(f"  {shown}")
    if remark.width and harmless(remark.text) == remark.text:
        lines.append(f"  {' ' * start}{'^' * max(1, min(remark.width, WIDTH - start))}")
    if complaint.fix:
        lines.append(f"  fix: {harmless(complaint.fix)}")
    return tuple(lines)


def _window(remark: Remark) -> tuple[str, int]:
    """The part of the line that holds the culprit, at most WIDTH characters, and the culprit's place in it."""
    text, at = harmless(remark.text), remark.column - 1
    begin = max(0, min(at - WIDTH // 4, len(text) - WIDTH)) if len(text) > WIDTH else 0
    return text[begin : begin + WIDTH], max(0, at - begin)


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
        "snippet": {"text": harmless(remark.text)},
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
