"""What drifted while node, port and cable are the ones measured: settings, software, GPUs; and what can't be read.

A cause found in `causes` (another machine, a dark port) is respected: its consequences are not told again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fabricdoc.gate.case import Case, explained, finding_of, look_again
from fabricdoc.gate.commands import on_node
from fabricdoc.gate.compared import Compared
from fabricdoc.model.findings import Finding

UNREAD = "make it readable (often a right or a missing tool), then look:"
SOFTWARE = ("kernel", "torch", "nvidia-driver", "nccl-build", "image")
WORDS = {"mac": "MAC", "mtu": "MTU", "rdma-device": "RDMA device", "gid": "GID NCCL takes", "pcie": "PCIe link"}
AGAIN = {
    "mac": "the port was replaced, or names were dealt anew; measure again:",
    "rdma-device": "the RDMA device was renamed, and the preset's list names the old one; measure again:",
    "gid": "give the port the address it had, or measure with this one:",
    "firmware": "bring the firmware back, or measure with this one:",
    "pcie": "shut the node down and take its power away for a minute, so that the card starts anew; or measure:",
    "speed": "check cable, transceiver and the peer's speed; or measure at this speed:",
}


def settings(case: Case) -> Iterable[Finding]:
    """MAC, RDMA device, MTU, speed and addresses, one finding per kind, where no other cause explains them."""
    exchanged = {one.node for one in case.of("hostname")}
    dark = {one.place for one in case.of("carrier")}
    for id in ("mac", "rdma-device", "mtu", "speed", "address", "gid", "firmware", "pcie"):
        members = [
            one
            for one in case.of(id)
            if not (id == "mac" and one.node in exchanged) and not (id == "speed" and one.place in dark)
        ]
        if members:
            fixes = [AGAIN[id], case.bench] if id in AGAIN else _setting_fixes(members)
            yield finding_of(f"gate-{id}-changed", members, _setting_cause(id, members), fixes)


def _setting_cause(id: str, members: Sequence[Compared]) -> str:
    """One or two ports with their values; more are counted, the evidence has them all."""
    word = WORDS.get(id, id)
    if len(members) > 2:
        return f"the {word} of {len(members)} ports is not the one measured"
    texts = "; ".join(f"{one.place} had {one.expected}, has {one.seen}" for one in members)
    return f"the {word} is not the one measured: {texts}"


def _setting_fixes(members: Sequence[Compared]) -> list[str]:
    """The commands that bring MTUs or addresses back, under one heading per node."""
    fixes: list[str] = []
    for heading, command in (pair for one in members for pair in _commands(one)):
        fixes += [command] if heading in fixes else [heading, command]
    return fixes


def _commands(one: Compared) -> list[list[str]]:
    if one.id == "address":
        return [on_node(one.node, "sudo", "ip", "address", "add", text, "dev", one.port) for text in one.lost]
    return [on_node(one.node, "sudo", "ip", "link", "set", "dev", one.port, "mtu", one.expected)]


def software(case: Case) -> Iterable[Finding]:
    """Kernel, torch and driver of all nodes as one finding; GPUs per node."""
    changed = case.of(*SOFTWARE)
    if changed:
        texts = "; ".join(f"{one.node}: {one.id} was {one.expected}, is {one.seen}" for one in changed)
        cause = f"the software is not the one measured: {texts}"
        yield finding_of("gate-software-changed", changed, cause, ["measure again with this software:", case.bench])
    for one in case.of("gpus"):
        cause = f"{one.node} had {one.expected} when measured and has {one.seen}"
        yield finding_of("gate-gpus-changed", [one], cause, ["bring the GPUs back, or measure again:", case.bench])


def unread(case: Case) -> Iterable[Finding]:
    """Facts that can't be compared, one finding per reason; those of an unread node or a dark port are not told."""
    told = explained(case) | {one.node for one in case.unknown if one.id == "node"}
    groups: dict[tuple[str, str], list[Compared]] = {}
    for one in case.unknown:
        about = {one.node, one.place, one.expected.partition("/")[0]} if one.id == "peer" else {one.node, one.place}
        if not about & told:
            plain = one.seen.removeprefix("unknown: ")
            groups.setdefault((one.note, plain if plain != one.seen else f"now {plain}"), []).append(one)
    for (note, reason), members in groups.items():
        names = ", ".join(f"{one.place} {one.id}" for one in members)
        again = ["measure again, so that they are recorded:", case.bench]
        fixes = again if note.endswith("when measured") else look_again(case, members, UNREAD)
        yield finding_of("gate-fact-unknown", members, f"{names}: {note or 'unknown'}: {reason}", fixes, "warning")
