"""The quick level put together: everything that was looked at, judged row by row. Pure: documents in, checks out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from fabricdoc.gate.adopted import adopted, deciding
from fabricdoc.gate.catalogue import NO_FLOORS, Floors
from fabricdoc.gate.deliveries import judge_deliveries
from fabricdoc.gate.fingerprint import judge_fingerprint
from fabricdoc.gate.refusals import Job, judge_refusals
from fabricdoc.gate.room import Users, judge_room
from fabricdoc.gate.selectors import judge_selectors
from fabricdoc.model.delivery import Delivery
from fabricdoc.model.fabric import Fabric
from fabricdoc.model.findings import Finding
from fabricdoc.model.gate import GateCheck
from fabricdoc.model.preset import Preset

TAKEN = re.compile(r"(\S+) (\S+):(\d{1,5})")
PID = re.compile(r"\(pid (\d{1,7})\)")


@dataclass(frozen=True)
class Looked:
    """All that a quick gate looked at. `fabric` was judged with the job's variables in each node's environment.

    `only` is the one node whose own part is asked, "" for all; `head` the node on which ranks meet, by `ports`.
    `serving` are the processes of a server that runs already, by node. `late` says what the deadline cut off.
    """

    fabric: Fabric
    preset: Preset | None
    now: datetime
    job: Job = field(default_factory=Job)
    variables: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    delivery: Delivery | None = None
    users: Users = field(default_factory=lambda: Users({}, {}))
    serving: Mapping[str, frozenset[int]] = field(default_factory=dict)
    floors: Floors = NO_FLOORS
    head: str = ""
    ports: tuple[int, ...] = ()
    only: str = ""
    late: tuple[str, ...] = ()


def judge_quick(looked: Looked) -> tuple[list[GateCheck], list[Finding]]:
    """Every check, and the findings behind those that are not fine, causes first."""
    checks: list[GateCheck] = []
    findings: list[Finding] = []
    for some, why in _parts(looked):
        checks += some
        findings += why
    return checks, findings


def _parts(looked: Looked) -> Iterator[tuple[Sequence[GateCheck], Sequence[Finding]]]:
    fabric, preset = looked.fabric, looked.preset
    yield _late(looked.late)
    if preset is not None:
        yield judge_refusals(preset, fabric, looked.job, looked.now)
        yield judge_fingerprint(preset, fabric, looked.only)
    else:
        yield _answering(fabric), ()
    yield [check for node in fabric.nodes for check in judge_selectors(node, looked.variables.get(node.name, {}))], ()
    if looked.delivery is not None:
        yield judge_deliveries(looked.delivery), looked.delivery.findings
    yield judge_room(fabric, looked.floors, looked.users, looked.serving)
    yield _ports_free(looked)
    yield adopted(fabric), deciding(fabric)


def _late(late: Sequence[str]) -> tuple[list[GateCheck], list[Finding]]:
    if not late:
        return [GateCheck(id="time", node="", outcome="ok", expected="within the deadline", found="in time")], []
    cause = f"the deadline ended the gate before it had looked at everything: {', '.join(late)}"
    fix = ("see which node is slow: fabricdoc scan", "or give it more time: --deadline 30")
    finding = Finding(id="gate-out-of-time", severity="warning", subject="gate", cause=cause, fix=fix)
    found = f"not looked at: {', '.join(late)}"
    check = GateCheck(id="time", node="", outcome="failed", expected="within the deadline", found=found, fix=fix)
    return [check], [finding]


def _answering(fabric: Fabric) -> list[GateCheck]:
    """Without a preset: the nodes that were named must answer."""
    good = [
        GateCheck(id="node", node=one.name, outcome="ok", expected="answers", found="answers") for one in fabric.nodes
    ]
    names = {one.name for one in fabric.nodes}
    bad = [
        GateCheck(
            id="node", node=one.name, outcome="failed", expected="answers", found=one.message[:300], fix=_lines(one.fix)
        )
        for one in fabric.failed
        if one.name not in names
    ]
    return [*good, *bad]


def _lines(fix: str) -> tuple[str, ...]:
    return (fix,) if fix else ()


def _ports_free(looked: Looked) -> tuple[list[GateCheck], list[Finding]]:
    """The ports of the launcher on the head: somebody else must not listen there; workers' own ports are theirs."""
    if not looked.head or looked.head not in [node.name for node in looked.fabric.nodes]:
        return [], []
    taken = _taken(looked)
    checks = []
    for port in looked.ports:
        finding = taken.get(port)
        who = finding.evidence[0].text.partition(" in use by ")[2] if finding and finding.evidence else ""
        fields = {"id": "ports-free", "node": looked.head, "port": "", "expected": f"tcp port {port} is free"}
        if finding is None:
            checks.append(GateCheck.model_validate(fields | {"outcome": "ok", "found": "free"}))
        else:
            found = f"in use by {who or 'a process that /proc does not show'}"
            checks.append(GateCheck.model_validate(fields | {"outcome": "differs", "found": found, "fix": finding.fix}))
    return checks, list(dict.fromkeys(taken.values()))


def _taken(looked: Looked) -> dict[int, Finding]:
    """Ports of the head that others hold, not the server that is judged."""
    own = looked.serving.get(looked.head, frozenset())
    found: dict[int, Finding] = {}
    for one in looked.fabric.findings:
        match = TAKEN.fullmatch(one.subject) if one.id == "rendezvous-port-taken" else None
        if match is None or match[1] != looked.head:
            continue
        pid = PID.search(one.evidence[0].text) if one.evidence else None
        if pid is None or int(pid[1]) not in own:
            found[int(match[3])] = one.model_copy(update={"severity": "error"})
    return found
