"""The gate's answer for people: the answer first, then causes with what to do and who, then only what does not hold.

Compares nothing; `fabricdoc.gate` did.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fabricdoc.model.documents import Unknown
from fabricdoc.model.findings import Finding
from fabricdoc.model.gate import Gate, GateCheck
from fabricdoc.report.cells import BAD, DIM, GOOD, WARN, Column, Name, Words, line, table
from fabricdoc.report.findings import render_findings
from fabricdoc.report.reasons import Reasons
from fabricdoc.report.text import UNKNOWN, counted

if TYPE_CHECKING:
    from rich.console import RenderableType

ANSWERS = {
    "go": ("go", "bold green"),
    "no-go": ("no-go", BAD),
    "could-not-tell": ("could not tell", WARN),
    "node-failed": ("a node failed", BAD),
}
OUTCOMES = {"ok": GOOD, "noted": DIM, "differs": BAD, "unknown": WARN, "failed": BAD}
WHOS = {
    "administrator": "who administers the node",
    "launcher": "who starts the job",
    "measurer": "who measures (fabricdoc bench)",
}


def render_gate(gate: Gate) -> list[RenderableType]:
    """The whole answer."""
    told = counted(len(gate.findings), "cause") if gate.findings and gate.answer != "go" else gate.reason
    behind = f" for preset {gate.preset}" if gate.preset else " without a preset"
    where = f", {', '.join(gate.nodes)} alone" if gate.scope == "local" else ""
    head = line(ANSWERS[gate.answer], f"{behind}{where}: {told}")
    causes = [finding.model_copy(update={"evidence": ()}) for finding in gate.findings]  # the table holds it
    causes += _without_finding(gate)
    lines = [head, *([line(), *render_findings(causes)] if causes else [])]
    return [*lines, *_whos(gate), *_table(gate), *_waivers(gate)]


def _without_finding(gate: Gate) -> list[Finding]:
    """What refuses and is no finding of a check's (an HCA that is not there): told as one, with what to do."""
    told = {line for finding in gate.findings for line in finding.fix}
    refusing = [one for one in gate.checks if one.outcome in ("differs", "failed") and not one.waived]
    return [
        Finding(
            id=one.id,
            severity="error",
            subject=one.place,
            cause=f"{f'{one.place}: ' if one.place else ''}expected {one.expected}, found {one.found}",
            fix=one.fix,
        )
        for one in refusing
        if one.fix and not set(one.fix) <= told
    ]


def _whos(gate: Gate) -> list[RenderableType]:
    """Who must act: one line for each, with the checks that wait for them."""
    open_ones = [one for one in gate.checks if one.outcome in ("differs", "failed") and not one.waived]
    lines: list[RenderableType] = []
    for who, words in WHOS.items():
        mine = dict.fromkeys(f"{one.id} ({one.place})" if one.place else one.id for one in open_ones if one.who == who)
        if mine:
            lines.append(line((f"for {words}: ", DIM), ", ".join(mine)))
    return [line(), *lines] if lines else []


def _table(gate: Gate) -> list[RenderableType]:
    told = [check for check in gate.checks if check.outcome != "ok"]
    held = sum(check.outcome == "ok" for check in gate.checks)
    count = line((f"{counted(held, 'check')} of {len(gate.checks)} {'holds' if held == 1 else 'hold'}", DIM))
    if not told:
        return [count] if gate.answer != "go" else []
    columns = [
        Column("node", flex=True),
        Column("check", flex=True),
        Column("expected", flex=True),
        Column("found", flex=True),
        Column(""),
    ]
    reasons = Reasons()
    rows = [_row(check, reasons) for check in told]
    return [line(), table(columns, rows), *reasons.lines(), count]


def _row(check: GateCheck, reasons: Reasons) -> list[Words | RenderableType]:
    """Names may be cut, values never; why a value is unknown stands below the table."""
    outcome = "waived" if check.waived else check.outcome
    style = DIM if check.waived else OUTCOMES[check.outcome]
    subject = f"{check.port} {check.id}" if check.port else check.id
    values = (_value(check, check.expected, reasons), _value(check, check.found, reasons))
    return [Name(check.node or "all"), Name(subject), *values, (outcome, style)]


def _value(check: GateCheck, text: str, reasons: Reasons) -> str:
    """The value, or `?` with its reason noted."""
    why = text.removeprefix("unknown: ")
    if why == text:
        return text
    words = f"{check.node} {check.port} {check.id}" if check.port else f"{check.node} {check.id}"
    reasons.note(Unknown(unknown=why), words.strip())
    return UNKNOWN


def _waivers(gate: Gate) -> Sequence[RenderableType]:
    """What somebody let pass, and why: recorded with the answer."""
    return [
        line((f"waived: {one.id}: {one.reason}{'' if one.used else ' (was not needed)'}", WARN)) for one in gate.waivers
    ]
