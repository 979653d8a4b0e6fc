"""The gate's answer for people: the answer first, then the causes, then only what differs or is unknown.

Compares nothing; `fabricdoc.gate` did.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricdoc.model.documents import Unknown
from fabricdoc.model.gate import Gate, GateCheck
from fabricdoc.report.cells import BAD, DIM, GOOD, WARN, Column, Name, Words, line, table
from fabricdoc.report.findings import render_findings
from fabricdoc.report.reasons import Reasons
from fabricdoc.report.text import UNKNOWN, counted

if TYPE_CHECKING:
    from rich.console import RenderableType

ANSWERS = {"fit": ("fit", "bold green"), "not-fit": ("not fit", BAD), "could-not-tell": ("could not tell", WARN)}
OUTCOMES = {"ok": GOOD, "differs": BAD, "unknown": WARN}


def render_gate(gate: Gate) -> list[RenderableType]:
    """The whole answer."""
    told = f"{counted(len(gate.findings), 'cause')}" if gate.findings else gate.reason
    head = line(ANSWERS[gate.answer], f" for preset {gate.preset}: {told}")
    causes = [finding.model_copy(update={"evidence": ()}) for finding in gate.findings]  # the table holds it
    return [head, *([line(), *render_findings(causes)] if causes else []), *_table(gate)]


def _table(gate: Gate) -> list[RenderableType]:
    told = [check for check in gate.checks if check.outcome != "ok"]
    held = len(gate.checks) - len(told)
    count = line((f"{counted(held, 'fact')} of {len(gate.checks)} {'holds' if held == 1 else 'hold'}", DIM))
    if not told:
        return [count] if gate.answer != "fit" else []
    columns = [
        Column("node", flex=True),
        Column("fact", flex=True),
        Column("measured", flex=True),
        Column("now", flex=True),
        Column(""),
    ]
    reasons = Reasons()
    rows = [_row(check, reasons) for check in told]
    return [line(), table(columns, rows), *reasons.lines(), count]


def _row(check: GateCheck, reasons: Reasons) -> list[Words | RenderableType]:
    """Names may be cut, values never; why a value is unknown stands below the table."""
    style = OUTCOMES[check.outcome]
    subject = check.subject.partition(" (")[0]
    values = (_value(check, check.expected, reasons), _value(check, check.seen, reasons))
    return [Name(check.node), Name(subject), *values, (check.outcome, style)]


def _value(check: GateCheck, text: str, reasons: Reasons) -> str:
    """The value, or `?` with its reason noted."""
    why = text.removeprefix("unknown: ")
    if why == text:
        return text
    reasons.note(Unknown(unknown=why), f"{check.node} {check.subject.partition(' (')[0]}")
    return UNKNOWN
