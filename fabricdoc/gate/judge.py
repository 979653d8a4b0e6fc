"""The gate's answer from everything that was looked at: one word, one sentence, and what is to be done by whom.

A no beats a failed node, that beats what could not be told. Waived checks, drift that is only to be reported and, for
one node's own part, everything but the ids its administrator listed, decide nothing. Pure: documents in, one out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fabricdoc.errors import ExitStatus
from fabricdoc.gate.catalogue import NO_FLOORS, Floors, kind_of, kinds
from fabricdoc.model.findings import Finding
from fabricdoc.model.gate import Answer, Drift, Gate, GateCheck, Level, Waiver

STATUS: Mapping[Answer, ExitStatus] = {
    "go": ExitStatus.FIT,
    "no-go": ExitStatus.NOT_FIT,
    "could-not-tell": ExitStatus.INCONCLUSIVE,
    "node-failed": ExitStatus.FAILED,
}
FOLLOWING = ("carrier", "peer", "speed", "mac", "address", "gid", "rdma-device")
NOTHING_MEASURED = "nothing measured stands behind it"


@dataclass(frozen=True)
class Terms:
    """By what a gate decides. `waived` is reasons by id; `hardware` the only ids that count when `local` is set.

    `preset` is "" where there is none: then what is unknown or failed can't be held against anything.
    """

    preset: str = ""
    profile: str = ""
    level: Level = "quick"
    waived: Mapping[str, str] = field(default_factory=dict)
    drift: Drift = "fail"
    local: bool = False
    hardware: tuple[str, ...] = ()
    floors: Floors = NO_FLOORS


def conclude(terms: Terms, nodes: Sequence[str], checks: Sequence[GateCheck], findings: Sequence[Finding]) -> Gate:
    """The document. Checks come in the catalogue's order; every one that is not fine says who must do what."""
    kept = [one for one in checks if not terms.floors.only or one.id in terms.floors.only]
    told = _told(findings, kept)
    done = [_complete(_softened(one, terms), told) for one in sorted(kept, key=_order)]
    waived = [one for one in done if one.waived]
    answer = _answer([one for one in done if not one.waived], terms)
    return Gate(
        preset=terms.preset,
        profile=terms.profile,
        level=terms.level,
        scope="local" if terms.local else "all",
        nodes=tuple(nodes),
        hardware=terms.hardware if terms.local else (),
        drift=terms.drift,
        answer=answer,
        reason=_reason(answer, done, told, terms, len(nodes)),
        checks=tuple(done),
        findings=tuple(told),
        waivers=tuple(
            Waiver(id=id, reason=reason, used=any(one.id == id for one in waived))
            for id, reason in terms.waived.items()
        ),
    )


def gate_status(gate: Gate) -> ExitStatus:
    """go 0, no-go 1, could-not-tell 3, node-failed 4."""
    return STATUS[gate.answer]


def _order(check: GateCheck) -> int:
    ids = list(kinds())
    return ids.index(check.id) if check.id in kinds() else len(ids)


def _told(findings: Sequence[Finding], checks: Sequence[GateCheck]) -> list[Finding]:
    """The findings that belong to a check of this gate, each once."""
    ids = {one.id for one in checks}
    known = {id for kind in kinds().values() if kind.id in ids for id in kind.findings}
    every = {id for kind in kinds().values() for id in kind.findings}
    return list(dict.fromkeys(one for one in findings if one.id in known or one.id not in every))


def _softened(check: GateCheck, terms: Terms) -> GateCheck:
    """The check with its waiver, or noted where it may not decide."""
    if check.outcome in ("ok", "noted"):
        return check
    if check.id in terms.waived:
        return check.model_copy(update={"waived": terms.waived[check.id]})
    drifted = terms.drift == "report" and kind_of(check.id).drift
    without = not terms.preset and check.outcome == "unknown"
    if drifted or without or (terms.local and not _counts_here(check, terms)):
        return check.model_copy(update={"outcome": "noted"})
    return check


def _counts_here(check: GateCheck, terms: Terms) -> bool:
    return check.id in terms.hardware and check.outcome == "differs"


def _complete(check: GateCheck, findings: Sequence[Finding]) -> GateCheck:
    """With who must act, and with what: the finding's own lines, else the row's."""
    kind = kind_of(check.id)
    check = check.model_copy(update={"who": check.who or kind.who})
    if check.outcome == "ok" or check.fix:
        return check
    fixing = [one for one in findings if one.fix]
    best = _finding_of(check, fixing)
    if best is None or (kind.fix and not _names(best, check)):
        other = next((one.fix for one in fixing if one.id in kind.findings), ())
        return check.model_copy(update={"fix": kind.fix or other})
    return check.model_copy(update={"fix": best.fix})


def _finding_of(check: GateCheck, findings: Sequence[Finding]) -> Finding | None:
    """The finding behind a check: that which names it, else one of its row, of its place before its node's."""
    own = kind_of(check.id).findings
    about = [one for one in findings if _names(one, check) or _is_about(one, check)]
    return max(
        about, key=lambda one: (_names(one, check), one.id in own, check.place in one.subject.split(", ")), default=None
    )


def _names(finding: Finding, check: GateCheck) -> bool:
    """Whether a line of the evidence is this very comparison (see `case.finding_of`)."""
    start = f"{check.port} {check.id}:".strip()
    return any(one.file == check.node and one.text.startswith(start) for one in finding.evidence)


def _is_about(finding: Finding, check: GateCheck) -> bool:
    places = [check.place, check.node]
    return not check.node or any(one in places or one.partition("/")[0] == check.place for one in _subjects(finding))


def _subjects(finding: Finding) -> list[str]:
    return [one.partition(":")[0] for one in finding.subject.split(", ")]


def _answer(checks: Sequence[GateCheck], terms: Terms) -> Answer:
    outcomes = {one.outcome for one in checks}
    if "differs" in outcomes or (not terms.preset and "failed" in outcomes):
        return "no-go"
    if "failed" in outcomes:
        return "node-failed"
    return "could-not-tell" if "unknown" in outcomes else "go"


DECIDES: Mapping[Answer, str] = {"no-go": "differs", "node-failed": "failed", "could-not-tell": "unknown"}


def _reason(answer: Answer, checks: Sequence[GateCheck], findings: Sequence[Finding], terms: Terms, nodes: int) -> str:
    """One sentence: the first cause that decides, and how many more there are."""
    behind = "" if terms.preset else f"; {NOTHING_MEASURED}"
    if answer == "go":
        return f"{_holding(checks)} on {nodes} node{'s' if nodes != 1 else ''}{behind}"
    outcomes = {DECIDES[answer]} | ({"failed"} if not terms.preset else set())
    bad = [one for one in checks if one.outcome in outcomes and not one.waived]
    causes = _causes(bad, findings)
    more = f" (and {len(causes) - 1} more)" if len(causes) > 1 else ""
    return f"{causes[0]}{more}{behind}"


def _causes(bad: Sequence[GateCheck], findings: Sequence[Finding]) -> list[str]:
    """One sentence for each cause, the findings' in their order (the most fundamental first), then what has none."""
    behind = [(_finding_of(one, findings), one) for one in bad]
    told = [one.cause for one in findings if any(finding is one for finding, _ in behind)]
    # what differs from the fingerprint without a finding of its own follows from one that has
    alone = [check for finding, check in behind if finding is None and not (told and check.id in FOLLOWING)]
    return list(dict.fromkeys([*told, *map(_plainly, alone)]))


def _plainly(check: GateCheck) -> str:
    where = f"{check.place}: " if check.place else ""
    return f"{where}{kind_of(check.id).asks}: expected {check.expected}, found {check.found}"


def _holding(checks: Sequence[GateCheck]) -> str:
    good = sum(one.outcome == "ok" for one in checks)
    rest = len(checks) - good
    return f"all {good} checks hold" if not rest else f"{good} of {len(checks)} checks hold, {rest} noted or waived,"
