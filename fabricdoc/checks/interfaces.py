"""The interfaces named for bootstrap and rendezvous (NCCL_, GLOO_, TP_SOCKET_IFNAME) held against those of the node.

NCCL compares beginnings unless "=" leads; gloo and TensorPipe take whole names. Whether the peer can be reached over
them is not asked.
"""

from __future__ import annotations

from collections.abc import Iterator

from fabricdoc.checks.ports import leads_out, netdevs_of
from fabricdoc.checks.variables import Variable, variable
from fabricdoc.checks.wording import exported, of_nodes, seen
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Netdev, Node
from fabricdoc.model.findings import Finding
from fabricdoc.nccl import take_interfaces

NCCL, WHOLE = "NCCL_SOCKET_IFNAME", ("GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME")


def check_interfaces(fabric: Fabric) -> tuple[Finding, ...]:
    """Names that fit no interface, and choices that end on loopback or on an interface that leads nowhere."""
    if len(fabric.nodes) < 2:
        return of_nodes(fabric, not_found)
    return of_nodes(fabric, not_found, wrong_choice)


def usable(node: Node) -> list[Netdev]:
    """Interfaces with an address that are not known to be down, in the kernel's order."""
    found = (one for one in netdevs_of(node) if one.addresses and one.carrier is not False)
    return sorted(found, key=lambda one: one.ifindex)


def fitting(value: str, netdevs: list[Netdev]) -> list[Netdev]:
    """Those that a value of NCCL_SOCKET_IFNAME takes, in NCCL's order; of one that is too short, NCCL's own choice."""
    by_name = {one.name: one for one in netdevs}
    return [by_name[name] for name in take_interfaces(value, netdevs).taken]


def not_found(node: Node) -> Iterator[Finding]:
    """A variable under which no interface with an address falls; a value of one character is ignored by NCCL."""
    if isinstance(node.netdevs, Unknown):
        return
    hint = variable(node, NCCL)
    if hint and len(hint.value) > 1 and not fitting(hint.value, usable(node)):
        yield _not_found(node, hint, "NCCL ends at start with 'Bootstrap : no socket interface found'")
    for name in WHOLE:
        hint = variable(node, name)
        here = {one.name for one in usable(node)}
        if hint and not here & set(hint.value.split(",")):
            yield _not_found(node, hint, "torch's process group can't be made, before NCCL is even loaded")


def _not_found(node: Node, hint: Variable, effect: str) -> Finding:
    here = [one.name for one in usable(node) if one.name != "lo"]
    return Finding(
        id="socket-ifname-not-found",
        severity="error",
        subject=f"{node.name}: {hint.name}",
        evidence=seen(node, hint.text(), f"interfaces with an address: {', '.join(here[:16]) or 'none'}"),
        cause=f"{hint.name} fits no interface of this node that is up and has an address: {effect}. The value was made "
        "for another node, or the interface is down.",
        fix=(f"on {node.name}: export {hint.name}={(here or ['NAME'])[0]}", "set it per node, not one for all"),
        confidence="likely",
    )


def wrong_choice(node: Node) -> Iterator[Finding]:
    """Bootstrap over loopback, or over an interface from which no frame leaves the node."""
    hint, found = variable(node, NCCL), usable(node)
    chosen = fitting(hint.value if hint else "", found)
    if not chosen or not any(leads_out(node, one) for one in found):
        return
    first = chosen[0]
    if first.name == "lo":
        yield _wrong_choice(node, hint, first, "loopback-selected", "which no other node can reach")
    elif not leads_out(node, first):
        yield _wrong_choice(node, hint, first, "virtual-interface-selected", "from which no frame leaves the node")


def _wrong_choice(node: Node, hint: Variable | None, first: Netdev, id: str, why: str) -> Finding:
    better = next(one.name for one in usable(node) if leads_out(node, one))
    return Finding(
        id=id,
        severity="error" if id == "loopback-selected" else "warning",
        subject=f"{node.name}/{first.name}",
        evidence=seen(
            node,
            hint.text() if hint else f"{NCCL} is not set",
            f"first that fits: {first.name} (kind {first.kind or 'device'}, index {first.ifindex})",
        ),
        cause=f"NCCL takes the first interface that fits for its bootstrap, here {first.name}, {why}: ranks on other "
        "nodes wait for connections that never come.",
        fix=(f"on {node.name}: {exported(NCCL, '=' + better)}",),
        confidence="likely",
    )
