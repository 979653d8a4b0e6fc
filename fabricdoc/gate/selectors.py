"""The HCAs and interfaces that a preset's own lines name: there, ACTIVE, and with the GID that RoCE v2 needs.

The grammar of the values is NCCL's (`fabricdoc.nccl`). What was measured is not asked here, only what is needed now.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fabricdoc.gate.commands import on_node
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Hca, Node, Port
from fabricdoc.model.gate import GateCheck
from fabricdoc.nccl import expand, take_interfaces

HCAS = "NCCL_IB_HCA"
BY_PREFIX = "NCCL_SOCKET_IFNAME"
BY_NAME = ("GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME")
GID = "an IPv4 RoCE v2 GID"


def judge_selectors(node: Node, variables: Mapping[str, str]) -> list[GateCheck]:
    """Of one node, with the variables the job will have there; nothing for what they do not name."""
    return [*_hcas(node, variables.get(HCAS, "")), *_interfaces(node, variables)]


def _hcas(node: Node, value: str) -> Iterator[GateCheck]:
    if isinstance(node.hcas, Unknown):
        if value:
            yield _check(node, "hca-active", "", "unknown", f"{HCAS}={value}", f"unknown: {node.hcas.unknown}")
        return
    selection = expand(value, node.hcas)
    ports = {(hca.name, port.number): (hca, port) for hca in node.hcas for port in hca.ports}
    for name, number in selection.ports:
        hca, port = ports[name, number]
        yield _check(node, "hca-active", _netdev(port), "ok", f"{name} port {number} ACTIVE", "ACTIVE")
        yield from _gid(node, hca, port)
    named = selection.inactive if value else ()
    for name, number in named:
        state = ports[name, number][1].state
        text = f"unknown: {state.unknown}" if isinstance(state, Unknown) else state
        netdev = _netdev(ports[name, number][1])
        yield _check(node, "hca-active", netdev, "differs", f"{name} port {number} ACTIVE", text, _up(node, netdev))
    told = {name for name, _ in named}
    for entry in selection.unmatched if value else ():
        if entry.partition(":")[0] not in told and not any(name.startswith(entry) for name in told):
            there = ", ".join(hca.name for hca in node.hcas) or "no HCA"
            yield _check(node, "hca-active", "", "differs", f"an ACTIVE HCA {entry}", there, _look(node))


def _gid(node: Node, hca: Hca, port: Port) -> Iterator[GateCheck]:
    """RoCE ports only: an InfiniBand port needs none."""
    if port.link_layer != "Ethernet":
        return
    netdev = _netdev(port)
    if isinstance(port.gids, Unknown):
        yield _check(node, "hca-gid", netdev, "unknown", GID, f"unknown: {port.gids.unknown}")
        return
    good = [gid for gid in port.gids if gid.ipv4 and (isinstance(gid.type, Unknown) or gid.type == "RoCE v2")]
    if good:
        text = ", ".join(f"{gid.ipv4} at {gid.index}" for gid in good[:4])
        yield _check(node, "hca-gid", netdev, "ok", GID, text)
        return
    fix = (f"on {node.name}: give {netdev} an IPv4 address, then look at its GIDs:", f"rdma link show {hca.name}")
    yield _check(node, "hca-gid", netdev, "differs", GID, "none", fix)


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
