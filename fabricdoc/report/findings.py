"""Findings for people: severity and cause first, then the fix ready to paste, then what was seen.

Their order is the document's within each severity: whoever made them put the cause before what follows.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fabricdoc.model.findings import Evidence, Finding
from fabricdoc.report.cells import BAD, DIM, WARN, Command, Words, indent, line
from fabricdoc.report.text import counted

if TYPE_CHECKING:
    from rich.console import RenderableType

STYLES = {"error": BAD, "warning": WARN, "info": DIM}
PROGRAMS = re.compile(
    r"(chmod|chown|docker|ethtool|export|fabricdoc|ibv_devinfo|ip|journalctl|kubectl|lspci|modprobe|nvidia-smi|podman"
    r"|python3|rdma|ssh|sudo|sysctl|systemctl|ulimit) \S"
)
MOST_EVIDENCE = 6


def render_findings(findings: Sequence[Finding]) -> list[RenderableType]:
    """Every finding, errors first."""
    order = list(STYLES)
    ranked = sorted(findings, key=lambda finding: order.index(finding.severity))
    return [part for finding in ranked for part in _finding(finding)]


def finding_counts(findings: Sequence[Finding], *, unproven: bool = False) -> list[Words]:
    """`1 error, 2 warnings` as words with their colours; `nothing wrong` when there is neither.

    `unproven`: links were looked for and not proven, which nobody may take for a clean bill.
    """
    counts = Counter(finding.severity for finding in findings)
    words: list[Words] = [(counted(counts[key], key), STYLES[key]) for key in ("error", "warning") if counts[key]]
    if not words and not unproven:
        return [("nothing wrong", "green")]
    words = words or ["nothing wrong seen"]
    told = [*words, ("links not proven", WARN)] if unproven else words
    return [piece for word in told for piece in (", ", word)][1:]


def is_command(fix: str) -> bool:
    """Whether a fix line is a command to paste rather than a sentence: it begins with a known program."""
    return bool(PROGRAMS.match(fix)) and not (fix.endswith(".") and ", " in fix)


def render_fix(fixes: Sequence[str], by: int = 4) -> list[RenderableType]:
    """Fix lines: sentences wrapped, commands on lines of their own."""
    return [indent(Command(fix), by) if is_command(fix) else indent(line(fix), by) for fix in fixes]


def _finding(finding: Finding) -> list[RenderableType]:
    style = STYLES[finding.severity]
    sure = "" if finding.confidence == "certain" else f" ({finding.confidence})"
    cause = finding.cause or finding.subject
    head = line((f"{finding.severity}{sure}: ", style), cause, (f"  [{finding.id}]", DIM))
    fixes = [indent(line(("fix:", BAD if finding.severity == "error" else style)), 2), *render_fix(finding.fix)]
    return [head, *(fixes if finding.fix else []), *_evidence(finding.evidence)]


def _evidence(evidence: Sequence[Evidence]) -> list[RenderableType]:
    shown = [indent(line(("seen: ", DIM), (f"{_place(one)}: {one.text}", DIM)), 2) for one in evidence[:MOST_EVIDENCE]]
    left = len(evidence) - MOST_EVIDENCE
    return [*shown, indent(line((f"and {left} more (--json shows all)", DIM)), 2)] if left > 0 else shown


def _place(one: Evidence) -> str:
    return one.file if one.line is None else f"{one.file}:{one.line}"
