"""From differences to causes: one finding per cause, the cause before what follows from it, the fix to paste.

A port without carrier can't be heard and has no speed; a machine that was exchanged has other MACs. Such
consequences get no finding of their own; they stay in the gate's checks. Judges nothing: see `judge`.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence

from fabricdoc.gate.case import Case, explained, finding_of, look_again, meets_another
from fabricdoc.gate.commands import bench_command, node_options, node_words, on_node, port_options
from fabricdoc.gate.compared import Compared
from fabricdoc.gate.drift import settings, software, unread
from fabricdoc.gate.nodes import GONE, NOT_ASKED
from fabricdoc.gate.ports import ONE_WAY
from fabricdoc.model.fabric import Fabric
from fabricdoc.model.findings import Finding
from fabricdoc.model.preset import Preset


def find_causes(preset: Preset, fabric: Fabric, comparisons: Sequence[Compared]) -> tuple[Finding, ...]:
    """The findings, most fundamental cause first: nodes, ports, carrier, cabling, settings, software, unread facts."""
    nodes = node_words(preset, fabric)
    case = Case(
        tuple(one for one in comparisons if one.outcome == "differs"),
        tuple(one for one in comparisons if one.outcome in ("unknown", "failed")),
        nodes,
        tuple(port_options(preset)),
        bench_command(preset, nodes),
    )
    steps = (_unreadable, _exchanged, _gone, _dark, _moved, _silent, settings, software, unread)
    return tuple(finding for step in steps for finding in step(case))


def _unreadable(case: Case) -> Iterable[Finding]:
    """Nodes that gave no answer: those nobody asked and those whose namespace is gone have another way out."""
    nodes = [one for one in case.unknown if one.id == "node"]
    unasked = [one for one in nodes if one.seen == f"unknown: {NOT_ASKED}"]
    gone = [one for one in nodes if one.note == GONE]
    if unasked:
        were = "was" if len(unasked) == 1 else "were"
        cause = f"{names_of(unasked)} {were} not asked, but the preset is for all its nodes"
        every = shlex.join(["fabricdoc", "gate", *node_options(case.nodes.values())])
        fixes = ["leave --nodes out, or name every node of the preset:", every]
        yield finding_of("gate-node-unread", unasked, cause, fixes, "warning")
    if gone:
        its = "its namespace is" if len(gone) == 1 else "their namespaces are"
        cause = f"{names_of(gone)}: {its} gone: the lab that was measured has ended"
        fixes = ["start it again, then measure again on the nodes it names:", "fabricdoc lab up"]
        yield finding_of("gate-node-unread", gone, cause, fixes)
    for one in nodes:
        if one not in unasked and one not in gone:
            reason = one.seen.removeprefix("unknown: ").removeprefix(f"{one.node}: ")
            cause = f"{one.node} could not be looked at: {reason}"
            fixes = look_again(case, [one], "make the node answer, then gate again:")
            yield finding_of("gate-node-unread", [one], cause, fixes)


def names_of(members: Sequence[Compared]) -> str:
    """`alpha`, `alpha and beta`, `alpha, beta and gamma`."""
    names = [one.node for one in members]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _exchanged(case: Case) -> Iterable[Finding]:
    for one in case.of("hostname"):
        macs = [other for other in case.of("mac") if other.node == one.node]
        what = "is another machine" if macs else "has another hostname"
        cause = f"{one.node} {what} than the one measured: it was {one.expected} and is {one.seen}"
        fixes = ["point the node's target at the machine that was measured, or measure this one:", case.bench]
        yield finding_of("gate-node-changed", [one, *macs], cause, fixes)


def _gone(case: Case) -> Iterable[Finding]:
    for one in case.of("port"):
        where = f": {one.note}" if one.note else ""
        fixes = look_again(case, [one], "see what the node has now, then measure again:")
        yield finding_of("gate-port-missing", [one], f"{one.place} is gone{where}", [*fixes, case.bench])


def _dark(case: Case) -> Iterable[Finding]:
    """Ports without carrier; the two ends of one cable are one finding."""
    peers = {one.place: one.expected for one in (*case.differing, *case.unknown) if one.id == "peer"}
    dark = {one.place: one for one in case.of("carrier")}
    told: set[str] = set()
    for place, one in dark.items():
        if place in told:
            continue
        peer = peers.get(place, "")
        ends = [one] + ([dark[peer]] if peer in dark else [])
        told |= {end.place for end in ends}
        names = " and ".join(end.place for end in ends)
        cause = f"{names} lost {'its' if len(ends) == 1 else 'their'} carrier: no signal, or a port set down"
        cable = f"check the cable between {place} and {peer}" if peer else f"check the cable of {place}"
        ups = [word for end in ends for word in on_node(end.node, "sudo", "ip", "link", "set", "dev", end.port, "up")]
        yield finding_of("gate-port-no-carrier", ends, cause, [f"{cable}; if a port is only set down:", *ups])


def _moved(case: Case) -> Iterable[Finding]:
    """Ports that now meet another port: one finding for the whole cabling."""
    changed = [one for one in case.of("peer") if meets_another(one)]
    if not changed:
        return
    cables = {frozenset((one.place, one.seen)): one for one in reversed(changed)}  # each is seen from both its ends
    texts = [f"{one.place} now meets {one.seen}, was {one.expected}" for one in reversed(cables.values())]
    back = dict.fromkeys((min(one.place, one.expected), max(one.place, one.expected)) for one in changed)
    fixes = [f"either put the cable back: {a} to {b}" for a, b in back]
    yield finding_of(
        "gate-cabling-changed", changed, "; ".join(texts), [*fixes, "or measure this cabling:", case.bench]
    )


def _silent(case: Case) -> Iterable[Finding]:
    """Ports with carrier that no longer hear, or are no longer heard by, their peer; without another cause."""
    causes = explained(case)
    told: set[str] = set()
    for one in case.of("peer"):
        if meets_another(one) or {one.place, one.expected} & causes or one.place in told:
            continue
        told |= {one.place, one.expected}
        how = "frames cross one way only" if one.note == ONE_WAY else "no frame crosses"
        cause = f"{how} between {one.place} and {one.expected} although both have carrier"
        fix = "check the transceiver and, on a switch, the VLAN and filters of both ports; then look again:"
        look = shlex.join(["fabricdoc", "cables", *node_options(case.nodes.values()), *case.ports])
        yield finding_of("gate-link-silent", [one], cause, [fix, look])
