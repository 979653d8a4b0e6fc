"""Why it failed, for people: the cause first, the line that shows it, the fix, then what else was considered.

Judges nothing; `fabricdoc.explain` did.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fabricdoc.model.findings import Considered, Evidence, Finding, Findings, ReadFile
from fabricdoc.report.cells import BAD, BOLD, DIM, GOOD, WARN, Unwrapped, Words, indent, labelled, line
from fabricdoc.report.findings import render_fix
from fabricdoc.report.text import counted

if TYPE_CHECKING:
    from rich.console import RenderableType

STYLES = {"error": BAD, "warning": WARN, "info": DIM}
MOST_EVIDENCE, MOST_FILES, MOST_HARMLESS = 5, 6, 6


def render_explained(document: Findings) -> list[RenderableType]:
    """The whole answer."""
    causes = [finding for finding in document.findings if finding.severity != "info"]
    remarks = [finding for finding in document.findings if finding.severity == "info"]
    parts: list[RenderableType] = [part for finding in causes for part in _cause(document, finding)]
    if not causes:
        parts.append(line(("nothing wrong", GOOD), " in what these files tell"))
    if document.considered:
        parts += [line(), line(("also considered", BOLD)), *map(_considered, document.considered)]
    if document.collect and document.verdict != "unknown":
        parts += [line(), line(("to be sure, collect", BOLD)), *render_fix(document.collect, 2)]
    if remarks:
        parts += [line(), line(("harmless lines", BOLD)), *map(_remark, remarks[:MOST_HARMLESS])]
    return [*parts, line(), *_files(document.files)]


def _cause(document: Findings, finding: Finding) -> list[RenderableType]:
    sure = "" if finding.confidence == "certain" else f" ({finding.confidence})"
    unknown = document.verdict == "unknown"
    title = "could not tell" if unknown else f"{finding.severity}{sure}"
    head = line((f"{title}: ", STYLES[finding.severity]), finding.cause, (f"  [{finding.id}]", DIM))
    parts: list[RenderableType] = [head, *_evidence(finding.evidence)]
    if finding.fix:
        label = "collect next" if unknown else "fix"
        parts += [line(), line((label, BOLD)), *render_fix(finding.fix, 2)]
    return parts


def _evidence(pieces: Sequence[Evidence]) -> list[RenderableType]:
    shown: list[RenderableType] = []
    for piece in pieces[:MOST_EVIDENCE]:
        place = piece.file if piece.line is None else f"{piece.file}:{piece.line}"
        shown += [indent(Unwrapped((place, DIM))), indent(line(piece.text.replace("\t", " ")), 4)]
    left = len(pieces) - MOST_EVIDENCE
    return [*shown, indent(line((f"and {left} more (--json shows all)", DIM)))] if left > 0 else shown


def _considered(one: Considered) -> RenderableType:
    sought = f" Not found: {'; '.join(one.sought)}." if one.sought else ""
    where = next((f" ({piece.file}:{piece.line})" for piece in one.evidence if piece.line is not None), "")
    return indent(line((one.id, BOLD), f"{where}: {one.why}{sought}"))


def _remark(finding: Finding) -> RenderableType:
    where = next((f"{piece.file}:{piece.line} " for piece in finding.evidence), "")
    return indent(line((where, DIM), finding.cause))


def _files(files: Sequence[ReadFile]) -> list[RenderableType]:
    parts: list[RenderableType] = [labelled("read", *_file(one)) for one in files[:MOST_FILES]]
    left = len(files) - MOST_FILES
    return [*parts, line((f"and {counted(left, 'more file')}", DIM))] if left > 0 else parts


def _file(one: ReadFile) -> list[Words]:
    kinds = ", ".join(one.kinds) or "nothing known in it"
    node = f" of {one.node}" if one.node else ""
    words: list[Words] = [f"{one.name}: ", (f"{kinds}{node}, {counted(one.lines, 'line')}", DIM)]
    return [*words, (f"; {one.note}", WARN)] if one.note else words
