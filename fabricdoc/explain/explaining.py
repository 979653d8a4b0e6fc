"""The verdict: every rule is held against the case, the first cause in the chain of causes wins, the others compete.

One verdict, or `unknown` with what would decide. What competes keeps its evidence and says what it lacks.
"""

from __future__ import annotations

from collections.abc import Sequence

from fabricdoc.explain.case import Case
from fabricdoc.explain.causes import Cause, causes
from fabricdoc.explain.files import listed
from fabricdoc.explain.harmless import harmless
from fabricdoc.explain.hits import Hit, Near, Severity
from fabricdoc.explain.own import machines
from fabricdoc.explain.reading import read_case
from fabricdoc.explain.rules import all_rules
from fabricdoc.explain.seen import Material, Seen, Sign, Spot
from fabricdoc.explain.undecided import Undecided, undecided
from fabricdoc.model.findings import Considered, Evidence, Finding, Findings, ReadFile
from fabricdoc.nccl import masked

LONGEST_TEXT = 400
MOST_CONSIDERED = 8
RANKS: dict[str, int] = {"error": 0, "warning": 1, "info": 2}


def explain_files(paths: Sequence[str]) -> Findings:
    """What the files at `paths` (files, folders, `-` for stdin) tell. InputError for a path that is not there."""
    return explain(read_case(listed(paths)))


def explain(case: Case) -> Findings:
    """The verdict on a case."""
    hits, nears = _judged(case)
    ranked = sorted(hits, key=lambda pair: _order(case, *pair))
    files = tuple(_read(case))
    if ranked:
        first, *rest = ranked
        findings = (_finding(*first), *harmless(case))
        considered = (*(_behind(first[0], *pair) for pair in rest), *(_near(*pair) for pair in nears))
        collect = first[0].collect if first[1].confidence != "certain" else ()
        return Findings(
            verdict=first[0].id,
            findings=findings,
            considered=considered[:MOST_CONSIDERED],
            collect=collect,
            files=files,
        )
    considered = tuple(_near(*pair) for pair in nears)[:MOST_CONSIDERED]
    left = undecided(case, [cause for cause, _near_one in nears])
    if left is None:
        return Findings(verdict="none", findings=tuple(harmless(case)), considered=considered, files=files)
    return Findings(
        verdict="unknown",
        findings=(_unknown(left), *harmless(case)),
        considered=considered,
        collect=left.collect,
        files=files,
    )


def _judged(case: Case) -> tuple[list[tuple[Cause, Hit]], list[tuple[Cause, Near]]]:
    hits: list[tuple[Cause, Hit]] = []
    nears: list[tuple[Cause, Near]] = []
    for id, rule in all_rules().items():
        answer = rule(case)
        if isinstance(answer, Hit):
            hits.append((causes()[id], answer))
        elif answer is not None:
            nears.append((causes()[id], answer))
    return hits, nears


def _order(case: Case, cause: Cause, hit: Hit) -> tuple[int, int, int, str]:
    """An error before a warning, what is sure before what is only possible, then the chain of causes, then time."""
    severity = hit.severity or cause.severity
    return RANKS[severity], int(hit.confidence == "possible"), cause.order, _time(case, hit)


def _time(case: Case, hit: Hit) -> str:
    spot = hit.evidence[0] if hit.evidence else None
    return next((seen.time for seen in case.seen if spot and seen.spot == spot), "")


def _finding(cause: Cause, hit: Hit) -> Finding:
    said, fix = cause.filled(hit.words)
    if hit.sought and hit.confidence != "certain":
        said += f" Looked for and not found: {'; '.join(hit.sought)}."
    severity: Severity = hit.severity or cause.severity
    return Finding(
        id=cause.id,
        severity=severity,
        subject=_subject(hit),
        evidence=evidence(hit.evidence),
        cause=said,
        fix=fix,
        confidence=hit.confidence,
    )


def _subject(hit: Hit) -> str:
    names = [hit.words.get("node", ""), hit.words.get("hca", "")]
    return "/".join(name for name in names if name) or (hit.evidence[0].file if hit.evidence else "the launch")


def evidence(spots: Sequence[Spot]) -> tuple[Evidence, ...]:
    """Places as evidence: the text verbatim, secrets masked, cut where it is very long."""
    return tuple(
        Evidence(file=one.file, line=one.line, text=masked((one.quote or one.text).strip())[:LONGEST_TEXT])
        for one in spots
    )


def _behind(first: Cause, cause: Cause, hit: Hit) -> Considered:
    """A cause that holds too, behind the one that won."""
    said, _fix = cause.filled(hit.words)
    return Considered(
        id=cause.id,
        why=f"{said} {first.id} comes before it in the chain of causes.",
        evidence=evidence(hit.evidence[:3]),
    )


def _near(cause: Cause, near: Near) -> Considered:
    return Considered(id=cause.id, why=near.why, evidence=evidence(near.evidence[:3]), sought=near.sought)


def _unknown(left: Undecided) -> Finding:
    return Finding(
        id="unknown",
        severity="warning",
        subject=left.subject,
        evidence=evidence(left.evidence),
        cause=left.cause,
        fix=left.collect,
        confidence="possible",
    )


def _read(case: Case) -> list[ReadFile]:
    nodes = {piece.spot.file: piece.spot.node for piece in _pieces(case)}
    return [
        ReadFile(
            name=one.name,
            kinds=tuple(dict.fromkeys(one.kinds)),
            node=_named(case, one, nodes.get(one.name, "")),
            lines=one.lines,
            note=one.note,
        )
        for one in case.files
    ]


def _named(case: Case, one: Material, spoken: str) -> str:
    """The node that a file is of: one that a log or a dump tells of; a name alone (prod.env, gate.json) is none."""
    told = [node for node in (one.node, spoken) if node in machines(case) and (len(node) > 1 or not one.hosts)]
    return told[0] if one.kinds and told else ""


def _pieces(case: Case) -> list[Seen | Sign]:
    return [*case.signs, *case.seen]
