"""NCCL_IB_GID_INDEX held against the GID tables of the ports that NCCL takes.

One value holds for all HCAs of a process, so one that is right on one port may be wrong on the next. What NCCL would
choose by itself is `gids`'.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from fabricdoc.checks.ports import RocePort, roce_ports
from fabricdoc.checks.selection import taken_hcas
from fabricdoc.checks.variables import Variable, variable, whole_number
from fabricdoc.checks.wording import of_nodes, plain, seen
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Gid, Node
from fabricdoc.model.findings import Finding, Severity

VARIABLE = "NCCL_IB_GID_INDEX"


class Wrong(NamedTuple):
    """What is wrong with the pinned slot of one port."""

    id: str
    severity: Severity
    what: str


def check_gid_pins(fabric: Fabric) -> tuple[Finding, ...]:
    """A finding for each port on which the pinned index is wrong; one line of information where it is right."""
    return of_nodes(fabric, pinned)


def pinned(node: Node) -> Iterator[Finding]:
    """The pin held against every port that NCCL takes and whose table is known."""
    hint = variable(node, VARIABLE)
    index = whole_number(hint.value) if hint else -1
    if hint is None or index < 0:
        return
    taken = taken_hcas(node)
    ports = [one for one in roce_ports(node) if one.hca.name in taken and not isinstance(one.port.gids, Unknown)]
    wrong = [(one, found) for one in ports if (found := judged(one, index))]
    for one, found in wrong:
        yield _wrong(node, one, found, hint)
    if ports and not wrong:
        slots = [f"{one.hca.name}: {_text(gid)}" for one in ports for gid in _at(one, index)]
        yield Finding(
            id="gid-index-pinned",
            severity="info",
            subject=node.name,
            evidence=seen(node, hint.text(), *slots[:16]),
            cause="The pinned index is right today, but indices move when addresses, cables or IPv6 change, and one "
            "pin holds for all HCAs. NCCL 2.21.5 and newer choose by themselves.",
            fix=(f"on {node.name}: unset {VARIABLE}, unless NCCL is older than 2.21.5",),
        )


def judged(one: RocePort, index: int) -> Wrong | None:
    """Why this slot of the port is no good, None where it is or where its type is unknown."""
    found = _at(one, index)
    if not found:
        return Wrong("gid-index-drifted" if _right(one) else "wrong-gid-index", "error", f"slot {index} is empty")
    gid = found[0]
    if gid.link_local:
        return Wrong("gid-index-link-local", "error", f"slot {index} is link-local")
    if gid.type == "IB/RoCE v1":
        return Wrong("wrong-gid-index", "warning", f"slot {index} is RoCE v1")
    return None


def _gids(one: RocePort) -> tuple[Gid, ...]:
    return () if isinstance(one.port.gids, Unknown) else one.port.gids


def _at(one: RocePort, index: int) -> list[Gid]:
    return [gid for gid in _gids(one) if gid.index == index]


def _right(one: RocePort) -> list[int]:
    return [gid.index for gid in _gids(one) if gid.type == "RoCE v2" and gid.ipv4]


def _text(gid: Gid) -> str:
    return f"GID {gid.index} {gid.gid} {plain(gid.type)}"


def _wrong(node: Node, one: RocePort, wrong: Wrong, hint: Variable) -> Finding:
    right = ", ".join(str(index) for index in _right(one)) or "none"
    effect = (
        "it has no IP header, so it can't be routed or prioritised (DSCP), and fails with a peer that uses v2"
        if wrong.severity == "warning"
        else "connecting fails (errno 22, 61 or 110) or hangs"
    )
    return Finding(
        id=wrong.id,
        severity=wrong.severity,
        subject=f"{node.name}/{one.hca.name}",
        evidence=seen(
            node,
            hint.text(),
            *(f"{one.hca.name}: {_text(gid)}" for gid in _gids(one)[:8]),
            f"RoCE v2 IPv4 slots of {one.hca.name}: {right}",
        ),
        cause=f"The pinned GID index is used as it is, and on {one.hca.name} {wrong.what}: {effect}. Indices move with "
        "addresses, and differ between HCAs.",
        fix=(f"on {node.name}: unset {VARIABLE} (NCCL 2.21.5 and newer choose the right one for each HCA)",),
        confidence="likely",
    )
