"""The HCAs and interfaces that a preset's own lines name: there, ACTIVE, and with the GID that RoCE v2 needs.

A pinned GID index is used by NCCL as it is, so the GID must stand at that index; without a pin NCCL chooses. The
grammar of the values is NCCL's (`fabricdoc.nccl`). What was measured is not asked here, only what is needed now.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from fabricdoc.gate.commands import on_node
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Gid, Hca, Node, Port
from fabricdoc.model.gate import GateCheck
from fabricdoc.nccl import expand, number_at_start, take_interfaces

HCAS = "NCCL_IB_HCA"
PIN = "NCCL_IB_GID_INDEX"
BY_PREFIX = "NCCL_SOCKET_IFNAME"
BY_NAME = ("GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME")
GID = "an IPv4 RoCE v2 GID"
MOST_INDEX = 10**7
"""No table has so many GIDs: a number above is not held against one."""


def judge_selectors(node: Node, variables: Mapping[str, str]) -> list[GateCheck]:
    """Of one node, with the variables the job will have there; nothing for what they do not name."""
    return [*_hcas(node, variables.get(HCAS, ""), _pin(variables)), *_interfaces(node, variables)]


def _pin(variables: Mapping[str, str]) -> int | None:
    """The index that is pinned; None where NCCL chooses (no value, a negative one, or one that is no number)."""
    index = number_at_start(variables.get(PIN, ""))
    return index if index is not None and 0 <= index < MOST_INDEX else None


def _hcas(node: Node, value: str, pin: int | None) -> Iterator[GateCheck]:
    if isinstance(node.hcas, Unknown):
        if value:
            yield _check(node, "hca-active", "", "unknown", f"{HCAS}={value}", f"unknown: {node.hcas.unknown}")
        return
    selection = expand(value, node.hcas)
    ports = {(hca.name, port.number): (hca, port) for hca in node.hcas for port in hca.ports}
    for name, number in selection.ports:
        hca, port = ports[name, number]
        yield _check(node, "hca-active", _netdev(port), "ok", f"{name} port {number} ACTIVE", "ACTIVE")
        yield from _gid(node, hca, port, pin)
    named = selection.inactive if value else ()
    for name, number in named:
        state, netdev = ports[name, number][1].state, _netdev(ports[name, number][1])
        expected = f"{name} port {number} ACTIVE"
        if isinstance(state, Unknown):  # a driver that was slow to answer is no port that is down
            yield _check(node, "hca-active", netdev, "unknown", expected, f"unknown: {state.unknown}", _look(node))
        else:
            yield _check(node, "hca-active", netdev, "differs", expected, state, _up(node, netdev))
    told = {name for name, _ in named}
    for entry in selection.unmatched if value else ():
        if entry.partition(":")[0] not in told and not any(name.startswith(entry) for name in told):
            there = ", ".join(hca.name for hca in node.hcas) or "no HCA"
            yield _check(node, "hca-active", "", "differs", f"an ACTIVE HCA {entry}", there, _look(node))


def _gid(node: Node, hca: Hca, port: Port, pin: int | None) -> Iterator[GateCheck]:
    """RoCE ports only: an InfiniBand port needs none."""
    if port.link_layer != "Ethernet":
        return
    netdev = _netdev(port)
    if isinstance(port.gids, Unknown):
        yield _check(node, "hca-gid", netdev, "unknown", GID, f"unknown: {port.gids.unknown}")
        return
    good = [gid for gid in port.gids if gid.ipv4 and (isinstance(gid.type, Unknown) or gid.type == "RoCE v2")]
    if good and pin is not None:
        yield _pinned(node, hca, port, good, pin)
    elif good:
        text = ", ".join(f"{gid.ipv4} at {gid.index}" for gid in good[:4])
        yield _check(node, "hca-gid", netdev, "ok", GID, text)
    else:
        fix = (f"on {node.name}: give {netdev} an IPv4 address, then look at its GIDs:", f"rdma link show {hca.name}")
        yield _check(node, "hca-gid", netdev, "differs", GID, "none", fix)


def _pinned(node: Node, hca: Hca, port: Port, good: Sequence[Gid], pin: int) -> GateCheck:
    """Whether a good GID is where the pin says; one of RoCE v1 works among nodes that all have it, and is noted."""
    netdev, expected = _netdev(port), f"{GID} at index {pin} ({PIN})"
    gids = () if isinstance(port.gids, Unknown) else port.gids
    here = next((gid for gid in gids if gid.index == pin), None)
    if here is not None and here.ipv4:
        v1 = here not in good
        text = f"{here.ipv4} at {pin}{', RoCE v1' if v1 else ''}"
        return _check(node, "hca-gid", netdev, "noted" if v1 else "ok", expected, text)
    there = ", ".join(f"{gid.ipv4} at {gid.index}" for gid in good[:4])
    text = f"{'empty' if here is None else here.gid} at {pin}; {there}"
    fix = (
        f"leave {PIN} out: NCCL 2.21.5 and newer find index {good[0].index} of {hca.name} on {node.name} by themselves",
        *_again(node, netdev, good[0]),
    )
    return _check(node, "hca-gid", netdev, "differs", expected, text, fix)


def _again(node: Node, netdev: str, gid: Gid) -> tuple[str, ...]:
    """An older NCCL needs the index back: an address that is given again takes the first free one."""
    netdevs = () if isinstance(node.netdevs, Unknown) else node.netdevs
    addresses = next((one.addresses for one in netdevs if one.name == netdev), ())
    full = next((f"{one.ip}/{one.prefix}" for one in addresses if one.ip == gid.ipv4), "")
    if not full:
        return ()
    lines = [
        line
        for verb in ("del", "add")
        for line in on_node(node.name, "sudo", "ip", "address", verb, full, "dev", netdev)
    ]
    return ("with an older one give the address again, it takes the first free index:", *dict.fromkeys(lines))


def _interfaces(node: Node, variables: Mapping[str, str]) -> Iterator[GateCheck]:
    if isinstance(node.netdevs, Unknown):
        return
    names = {one.name for one in node.netdevs}
    value = variables.get(BY_PREFIX, "")
    taken = take_interfaces(value, node.netdevs)
    if value and not taken.ignored:
        good = bool(taken.taken)
        found = ", ".join(taken.taken) or "none that is up"
        port = next(iter(taken.taken), "")
        yield _check(node, "interface", port, "ok" if good else "differs", f"{BY_PREFIX}={value}", found, _look(node))
    for name in BY_NAME:
        for wanted in (one for one in variables.get(name, "").split(",") if one):
            there = wanted in names
            found = "exists" if there else "no such interface"
            yield _check(
                node, "interface", wanted, "ok" if there else "differs", f"{name}={wanted}", found, _look(node)
            )


def _netdev(port: Port) -> str:
    return port.netdev if isinstance(port.netdev, str) else ""


def _up(node: Node, netdev: str) -> tuple[str, ...]:
    if not netdev:
        return _look(node)
    what = f"check the cable of {node.name}/{netdev}; if it is only set down:"
    return (what, *on_node(node.name, "sudo", "ip", "link", "set", "dev", netdev, "up"))


def _look(node: Node) -> tuple[str, ...]:
    return (f"see what {node.name} has, then write its variables again:", f"fabricdoc scan --nodes {node.name}")


def _check(
    node: Node, id: str, port: str, outcome: str, expected: str, found: str, fix: tuple[str, ...] = ()
) -> GateCheck:
    fields = {"id": id, "node": node.name, "port": port, "outcome": outcome, "expected": expected, "found": found[:200]}
    return GateCheck.model_validate(fields | {"fix": () if outcome == "ok" else fix})
