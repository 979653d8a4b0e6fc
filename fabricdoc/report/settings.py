"""What is wrong with files of settings, for people: place and message, the line with a pointer under the culprit, fix.

Takes remarks as `fabricdoc.nccl` gives them (by their attributes), already made harmless. Judges nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from fabricdoc.report.cells import BAD, BOLD, DIM, WARN, Unwrapped, Words, indent, line
from fabricdoc.report.text import counted

if TYPE_CHECKING:
    from rich.console import RenderableType

STYLES = {"error": BAD, "warning": WARN, "info": DIM}
PASTED = re.compile(r"""(?:- |export |ENV |Environment=)?"?[A-Z][A-Z0-9_]*"?(?:=|: )\S+|value: "[^" ]*\"""")
"""A fix that is a line to paste and no sentence: it is never wrapped."""


def render_settings(
    remarks: Sequence[Any], shown: Sequence[Sequence[str]], told: Sequence[str], files: int, settings: int
) -> list[RenderableType]:
    """Every remark, then the counts; `shown` has for each its line and pointer, `told` what it was judged for.

    `settings` were read in `files`; of none nothing is said to be right.
    """
    parts: list[RenderableType] = []
    for remark, lines in zip(remarks, shown, strict=True):
        parts += [*_remark(remark, lines), line()]
    return [*parts, line(*_counts(remarks, files, settings)), *(line((one, DIM)) for one in told)]


def _remark(remark: Any, lines: Sequence[str]) -> Iterator[RenderableType]:
    complaint = remark.complaint
    style = STYLES[complaint.severity]
    whose = f" ({remark.node})" if remark.node else ""
    yield line((f"{remark.file}:{remark.line}:{remark.column}", BOLD), (whose, DIM))
    yield indent(line((f"{complaint.severity}: ", style), complaint.message, (f"  [{complaint.id}]", DIM)), 2)
    number = str(remark.line)
    for place, text in enumerate(lines):
        label = number if not place else " " * len(number)
        yield Unwrapped((f"    {label} | ", DIM), text if not place else (text, style))
    if complaint.fix:
        yield indent(_fix(complaint.fix), 2)
    for also in remark.also[:4]:
        yield indent(line(("see ", DIM), (f"{also.file}:{also.line}", DIM), (f": {also.text.strip()[:200]}", DIM)), 2)


def _fix(fix: str) -> RenderableType:
    if PASTED.fullmatch(fix):
        return Unwrapped(("fix: ", BOLD), fix)
    return line(("fix: ", BOLD), fix)


def _counts(remarks: Sequence[Any], files: int, settings: int) -> list[Words]:
    found = [remark.complaint.severity for remark in remarks]
    words: list[Words] = []
    for severity in STYLES:
        if count := found.count(severity):
            noun = "note" if severity == "info" else severity
            words += [", "] * bool(words) + [(counted(count, noun), STYLES[severity])]
    where = f" in {counted(settings, 'setting')} of {counted(files, 'file')}"
    if not settings and not words:
        return [("nothing was judged", WARN), f": no settings in {counted(files, 'file')}"]
    return [*(words or [("nothing wrong", "green")]), where]
