"""The gate's answer from everything that was looked at: one word, one sentence, and what is to be done by whom.

A no beats a failed node, that beats what could not be told. Waived checks, drift that is only to be reported and, for
one node's own part, everything but the ids its administrator listed, decide nothing. Pure: documents in, one out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from fabricdoc.errors import ExitStatus
from fabricdoc.gate.behind import Behind
from fabricdoc.gate.catalogue import NO_FLOORS, Floors, Kind, kind_of, kinds
from fabricdoc.model.findings import Finding
from fabricdoc.model.gate import Answer, Drift, Gate, GateCheck, Level, Waiver

STATUS: Mapping[Answer, ExitStatus] = {
    "go": ExitStatus.FIT,
    "no-go": ExitStatus.NOT_FIT,
    "could-not-tell": ExitStatus.INCONCLUSIVE,
    "node-failed": ExitStatus.FAILED,
}
FOLLOWING = ("carrier", "peer", "speed", "mac", "address", "gid", "rdma-device")
LONGEST_LINE, MOST_LINES = 1000, 16
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
    fixing = [one for one in told if one.fix]
    behind = Behind(fixing)
    done = [_complete(_softened(one, terms), fixing, behind) for one in sorted(kept, key=_order)]
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
    return _places().get(check.id, len(_places()))


@cache
def _places() -> Mapping[str, int]:
    return {id: at for at, id in enumerate(kinds())}


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


def _complete(check: GateCheck, fixing: Sequence[Finding], behind: Behind) -> GateCheck:
    """With who must act, and with what: the finding's own lines, else the row's."""
    kind = kind_of(check.id)
    fix = check.fix if check.outcome == "ok" or check.fix else _fix(check, kind, fixing, behind)
    return check.model_copy(update={"who": check.who or kind.who, "fix": _short(fix, check.node)})


def _fix(check: GateCheck, kind: Kind, fixing: Sequence[Finding], behind: Behind) -> tuple[str, ...]:
    best = behind.find(check)
    if best is None or (kind.fix and not behind.names(best, check)):
        return kind.fix or next((one.fix for one in fixing if one.id in kind.findings), ())
    return best.fix


def _short(fix: tuple[str, ...], node: str) -> tuple[str, ...]:
    """Without what is of very many nodes: it stands in the finding, and once more for each check is too often.

    Of many lines those under the node's own heading ("on NODE:").
    """
    lines = tuple(line for line in fix if len(line) <= LONGEST_LINE) or fix[:1]
    if len(lines) <= MOST_LINES:
        return lines
    begin = lines.index(f"on {node}:") if f"on {node}:" in lines else 0
    ends = (at for at in range(begin + 1, len(lines)) if lines[at].startswith("on ") and lines[at].endswith(":"))
    return lines[begin : min(next(ends, len(lines)), begin + MOST_LINES)]


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
    every = Behind(findings)
    behind = [(every.find(one), one) for one in bad]
    deciding = {id(finding) for finding, _ in behind}
    told = [one.cause for one in findings if id(one) in deciding]
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
