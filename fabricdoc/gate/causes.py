"""From differences to causes: one finding per cause, the cause before what follows from it, the fix to paste.

A port without carrier can't be heard and has no speed; a machine that was exchanged has other MACs. Such
consequences get no finding of their own; they stay in the gate's checks. Judges nothing: see `judge`.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from fabricdoc.gate.commands import bench_command, node_words, on_node
from fabricdoc.gate.compared import Compared
from fabricdoc.gate.ports import NOBODY, ONE_WAY
from fabricdoc.model.findings import Evidence, Finding, Severity
from fabricdoc.model.preset import Preset

T = TypeVar("T")
UNREAD = "make it readable (often a right or a missing tool), then look:"
SOFTWARE = ("kernel", "torch", "nvidia-driver")
AGAIN = {
    "mac": "the port was replaced, or names were dealt anew; measure again:",
    "rdma-device": "the RDMA device was renamed, and the preset's list names the old one; measure again:",
    "speed": "check cable, transceiver and the peer's speed; or measure at this speed:",
}


@dataclass(frozen=True)
class Case:
    """All comparisons of a gate that aren't ok; `nodes` as `--nodes` takes them; `bench` measures again."""

    differing: tuple[Compared, ...]
    unknown: tuple[Compared, ...]
    nodes: Mapping[str, str]
    bench: str

    def of(self, *ids: str) -> list[Compared]:
        """The differing comparisons with one of these ids."""
        return [compared for compared in self.differing if compared.id in ids]


def find_causes(preset: Preset, comparisons: Sequence[Compared]) -> tuple[Finding, ...]:
    """The findings, most fundamental cause first: nodes, ports, carrier, cabling, settings, software, unread facts."""
    case = Case(
        tuple(one for one in comparisons if one.outcome == "differs"),
        tuple(one for one in comparisons if one.outcome == "unknown"),
        {name: name for name in (one.node for one in comparisons)} | node_words(preset),
        bench_command(preset),
    )
    steps = (_unreadable, _exchanged, _gone, _dark, _moved, _silent, _settings, _software, _unread)
    return tuple(finding for step in steps for finding in step(case))


def _unreadable(case: Case) -> Iterable[Finding]:
    for one in case.unknown:
        if one.id == "node":
            reason = one.seen.removeprefix("unknown: ")
            cause = f"{one.node} could not be looked at: {reason}"
            yield _finding(
                "gate-node-unread",
                [one],
                cause,
                _look(case, [one], "make the node answer, then gate again:"),
                "warning",
            )


def _exchanged(case: Case) -> Iterable[Finding]:
    for one in case.of("hostname"):
        macs = [other for other in case.of("mac") if other.node == one.node]
        what = "is another machine" if macs else "has another hostname"
        cause = f"{one.node} {what} than the one measured: it was {one.expected} and is {one.seen}"
        fixes = ["point the node's target at the machine that was measured, or measure this one:", case.bench]
        yield _finding("gate-node-changed", [one, *macs], cause, fixes)


def _gone(case: Case) -> Iterable[Finding]:
    for one in case.of("port"):
        where = f": {one.note}" if one.note else ""
        fixes = _look(case, [one], "see what the node has now, then measure again:")
        yield _finding("gate-port-missing", [one], f"{one.place} is gone{where}", [*fixes, case.bench])


def _dark(case: Case) -> Iterable[Finding]:
    """Ports without carrier; the two ends of one cable are one finding."""
    peers = _expected_peers(case)
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
        yield _finding("gate-port-no-carrier", ends, cause, [f"{cable}; if a port is only set down:", *ups])


def _moved(case: Case) -> Iterable[Finding]:
    """Ports that now meet another port: one finding for the whole cabling."""
    changed = [one for one in case.of("peer") if _meets_another(one)]
    if not changed:
        return
    cables = [f"{one.place} now meets {one.seen}, was {one.expected}" for one in changed]
    back = _once((min(one.place, one.expected), max(one.place, one.expected)) for one in changed)
    fixes = [f"either put the cable back: {a} to {b}" for a, b in back]
    yield _finding("gate-cabling-changed", changed, "; ".join(cables), [*fixes, "or measure this cabling:", case.bench])


def _silent(case: Case) -> Iterable[Finding]:
    """Ports with carrier that no longer hear, or are no longer heard by, their peer; without another cause."""
    explained = _explained(case)
    told: set[str] = set()
    for one in case.of("peer"):
        if _meets_another(one) or {one.place, one.expected} & explained or one.place in told:
            continue
        told |= {one.place, one.expected}
        how = "frames cross one way only" if one.note == ONE_WAY else "no frame crosses"
        cause = f"{how} between {one.place} and {one.expected} although both have carrier"
        fix = "check the transceiver and, on a switch, the VLAN and filters of both ports; then look again:"
        look = shlex.join(["fabricdoc", "cables", "--nodes", ",".join(case.nodes.values())])
        yield _finding("gate-link-silent", [one], cause, [fix, look])


def _settings(case: Case) -> Iterable[Finding]:
    """MAC, RDMA device, MTU, speed and addresses, one finding per kind, where no other cause explains them."""
    exchanged = {one.node for one in case.of("hostname")}
    dark = {one.place for one in case.of("carrier")}
    for id in ("mac", "rdma-device", "mtu", "speed", "address"):
        members = [
            one
            for one in case.of(id)
            if not (id == "mac" and one.node in exchanged) and not (id == "speed" and one.place in dark)
        ]
        if members:
            texts = "; ".join(f"{one.place} had {one.expected}, has {one.seen}" for one in members)
            fixes = [fix for one in members for fix in _setting_fix(one)]
            if id in AGAIN:
                fixes = [AGAIN[id], case.bench]
            yield _finding(f"gate-{id}-changed", members, f"the {id} is not the one measured: {texts}", fixes)


def _setting_fix(one: Compared) -> list[str]:
    """The commands that bring an MTU or an address back, on its node."""
    if one.id == "address":
        adds = (("sudo", "ip", "address", "add", text, "dev", one.port) for text in one.lost)
        return [word for add in adds for word in on_node(one.node, *add)]
    return on_node(one.node, "sudo", "ip", "link", "set", "dev", one.port, "mtu", one.expected)


def _software(case: Case) -> Iterable[Finding]:
    changed = case.of(*SOFTWARE)
    if changed:
        texts = "; ".join(f"{one.node}: {one.id} was {one.expected}, is {one.seen}" for one in changed)
        cause = f"the software is not the one measured: {texts}"
        yield _finding("gate-software-changed", changed, cause, ["measure again with this software:", case.bench])
    for one in case.of("gpus"):
        cause = f"{one.node} had {one.expected} when measured and has {one.seen}"
        yield _finding("gate-gpus-changed", [one], cause, ["bring the GPUs back, or measure again:", case.bench])


def _unread(case: Case) -> Iterable[Finding]:
    """Facts that can't be compared, one finding per reason; those of an unread node or a dark port are not told."""
    explained = _explained(case) | {one.node for one in case.unknown if one.id == "node"}
    groups: dict[tuple[str, str], list[Compared]] = {}
    for one in case.unknown:
        about = {one.node, one.place, one.expected.partition("/")[0]} if one.id == "peer" else {one.node, one.place}
        if not about & explained:
            plain = one.seen.removeprefix("unknown: ")
            groups.setdefault((one.note, plain if plain != one.seen else f"now {plain}"), []).append(one)
    for (note, reason), members in groups.items():
        names = ", ".join(f"{one.place} {one.id}" for one in members)
        again = ["measure again, so that they are recorded:", case.bench]
        fixes = again if note.endswith("when measured") else _look(case, members, UNREAD)
        yield _finding("gate-fact-unknown", members, f"{names}: {note or 'unknown'}: {reason}", fixes, "warning")


def _look(case: Case, members: Sequence[Compared], what: str) -> list[str]:
    """`what`, and the scan that shows whether it helped."""
    return [
        what,
        shlex.join(["fabricdoc", "scan", "--nodes", ",".join(_once(case.nodes[one.node] for one in members))]),
    ]


def _explained(case: Case) -> set[str]:
    """Ports ("node/netdev") whose silence has a cause already: gone, without carrier, or cabled elsewhere."""
    places = {one.place for one in case.of("port", "carrier")}
    return places | {one.place for one in case.of("peer") if _meets_another(one)}


def _meets_another(one: Compared) -> bool:
    """Whether a peer comparison saw another port than the recorded one (rather than nobody, or one way only)."""
    return one.seen != NOBODY and one.note != ONE_WAY


def _expected_peers(case: Case) -> dict[str, str]:
    return {one.place: one.expected for one in (*case.differing, *case.unknown) if one.id == "peer"}


def _once(items: Iterable[T]) -> list[T]:
    return list(dict.fromkeys(items))


def _finding(
    id: str, members: Sequence[Compared], cause: str, fixes: Sequence[str], severity: Severity = "error"
) -> Finding:
    evidence = tuple(
        Evidence(file=one.node, text=f"{one.port} {one.id}: was {one.expected}, is {one.seen}".strip())
        for one in members
    )
    subject = ", ".join(dict.fromkeys(one.place for one in members))
    return Finding(id=id, severity=severity, subject=subject, evidence=evidence, cause=cause, fix=tuple(fixes))
