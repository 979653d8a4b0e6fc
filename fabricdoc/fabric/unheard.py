"""Ports that met nobody, as findings: down, only met their own twin, leading to a machine not named here, or silent.

What else is known of the other end comes from the scan (LLDP, the neighbour table): it names a stranger, and proves no
link.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence

from fabricdoc.fabric.cabling import hca_of_netdev
from fabricdoc.fabric.heard import Heard
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Link, Node, PortKey
from fabricdoc.model.findings import Evidence, Finding

NAMED = 4
# states of a neighbour that has answered once (linux/neighbour.h); the rest may be an address nobody has
ANSWERED = ("reachable", "stale", "delay", "probe")
FIREWALL = "a firewall on one of the nodes that drops UDP port 18613 over IPv6"


def unheard_ports(links: Sequence[Link], heard: Heard, nodes: Sequence[Node]) -> tuple[Finding, ...]:
    """A warning for every port that listened and met no port of another node, nor another cage of its own.

    Not for ports of a node that failed on the way, which did not listen to the end, nor for those that heard one.
    """
    met = _met(links, nodes) | {half.listener for half in heard.halves}
    down, strangers = down_ports(nodes), foreign_machines(nodes)
    found = []
    for port in sorted(port for port in heard.macs if port not in met and port[0] not in heard.failed):
        if port in down:
            found.append(_down(port, heard))
        elif port in strangers:
            found.append(_elsewhere(port, heard, strangers[port]))
        else:
            found.append(_silent(port, heard))
    return tuple(found)


def _met(links: Iterable[Link], nodes: Sequence[Node]) -> set[PortKey]:
    """Ports at an end of a link, but for what loops inside a chip between twins: that is no cable."""
    cages = cage_of_port(nodes)
    met = set()
    for link in links:
        ends = link.ends
        is_twin_loop = link.kind == "loop" and cages.get(ends[0], "one") == cages.get(ends[1], "another")
        met |= set() if is_twin_loop else set(ends)
    return met


def cage_of_port(nodes: Iterable[Node]) -> dict[PortKey, str]:
    """The cage id of every port whose cage is known."""
    found: dict[PortKey, str] = {}
    for node in nodes:
        by_hca = {hca: cage.id for cage in node.cages for hca in cage.hcas}
        found |= {(node.name, netdev): by_hca[hca] for netdev, hca in hca_of_netdev(node).items() if hca in by_hca}
    return found


def down_ports(nodes: Sequence[Node]) -> set[PortKey]:
    """Ports known to be down: without carrier, or set down (some drivers then refuse to tell the carrier, or lie)."""
    return {
        (node.name, netdev.name)
        for node in nodes
        for netdev in (() if isinstance(node.netdevs, Unknown) else node.netdevs)
        if netdev.carrier is False or netdev.operstate == "down"
    }


def foreign_machines(nodes: Sequence[Node]) -> dict[PortKey, list[str]]:
    """What ports have at their other end that is none of `nodes`: a line per LLDP neighbour and answered address."""
    macs = {
        netdev.mac.lower()
        for node in nodes
        for netdev in (() if isinstance(node.netdevs, Unknown) else node.netdevs)
        if isinstance(netdev.mac, str)
    }
    found: dict[PortKey, list[str]] = {}
    for node in nodes:
        for one in () if isinstance(node.lldp, Unknown) else node.lldp:
            if {one.chassis.lower(), one.port.lower()}.isdisjoint(macs):
                text = f"{one.netdev}: LLDP names {one.system or one.chassis}, port {one.port}"
                found.setdefault((node.name, one.netdev), []).append(text)
        for near in () if isinstance(node.neighbours, Unknown) else node.neighbours:
            if near.mac and near.mac.lower() not in macs and near.state in ANSWERED:
                found.setdefault((node.name, near.netdev), []).append(f"{near.netdev}: {near.ip} is at {near.mac}")
    return found


def _down(port: PortKey, heard: Heard) -> Finding:
    node, netdev = port
    return Finding(
        id="port-without-peer",
        severity="warning",
        subject=f"{node}/{netdev}",
        evidence=(Evidence(file=node, text=f"{netdev} is down; {_nobody(port, heard)}"),),
        cause=f"{netdev} on {node} is down: it is set down, or no signal reaches it (no cable, or the port at its "
        "other end is down).",
        fix=(
            f"on {node}:",
            shlex.join(["sudo", "ip", "link", "set", "dev", netdev, "up"]),
            "if it stays down, look at its cable and at the port at the other end",
        ),
    )


def _elsewhere(port: PortKey, heard: Heard, strangers: Sequence[str]) -> Finding:
    node, netdev = port
    told = (f"{netdev}: {_nobody(port, heard)}", *strangers[:4])
    return Finding(
        id="port-leads-elsewhere",
        severity="warning",
        subject=f"{node}/{netdev}",
        evidence=tuple(Evidence(file=node, text=text) for text in told),
        cause=f"{netdev} on {node} is up and leads to a machine or switch that is not among these nodes. A selector "
        "that lists it makes NCCL try to reach the others over it, which fails.",
        fix=(
            f"leave {netdev} on {node} out of the selectors",
            "or name the machine at its other end with --nodes too, or move the cable",
        ),
        confidence="likely",
    )


def _silent(port: PortKey, heard: Heard) -> Finding:
    node, netdev = port
    by_multicast = "multicast" in heard.methods.values()
    failed = f"; or it leads to {_few(sorted(heard.failed))}, which failed on the way" if heard.failed else ""
    return Finding(
        id="port-without-peer",
        severity="warning",
        subject=f"{node}/{netdev}",
        evidence=(Evidence(file=node, text=f"{netdev}: {_nobody(port, heard)}"),),
        cause=f"{netdev} on {node} is up, but nothing named here is at its other end: a cable elsewhere, or a switch "
        f"that drops{f'; or {FIREWALL}' if by_multicast else ''}{failed}.",
        fix=(f"look where the cable of {netdev} on {node} ends, or leave the port out of the selectors",),
    )


def _few(names: Sequence[str]) -> str:
    more = f" or {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


def _nobody(port: PortKey, heard: Heard) -> str:
    kinds: Mapping[str, str] = {"beacon": "no beacon heard", "multicast": "no multicast beacon heard"}
    strays = heard.strays.get(port, 0)
    told = f"{kinds[heard.methods.get(port, 'beacon')]}, none of its own heard elsewhere"
    return f"{told}; {strays} frames of others heard" if strays else told
