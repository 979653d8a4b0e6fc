"""Findings that only the exchange of beacons can make: ports not opened, one-way links, ports nobody met, strays.

Composes findings from what was heard; opens no port and judges no setting (`fabricdoc.checks`).
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from fabricdoc.fabric.heard import Heard, PortKey
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Link, Node
from fabricdoc.model.findings import Evidence, Finding


def beacon_findings(heard: Heard, links: Sequence[Link], nodes: Sequence[Node]) -> tuple[Finding, ...]:
    """All of them, in the order of the questions: could it look, does it carry both ways, did it meet anybody."""
    return (*refused_ports(heard), *_one_way(links), *_silent(links, heard, nodes), *_strays(heard))


def refused_ports(heard: Heard) -> tuple[Finding, ...]:
    """Ports that could not be opened, with the reason."""
    return tuple(
        Finding(
            id="port-not-probed",
            severity="info",
            subject=f"{node}/{netdev}",
            evidence=(Evidence(file=node, text=f"{netdev}: {reason}"),),
            cause="The port could not be opened for layer-2 beacons, so what it is cabled to is not known.",
            fix=("run as root on that node, or give python3 there CAP_NET_RAW",),
        )
        for (node, netdev), reason in sorted(heard.refused.items())
    )


def _one_way(links: Sequence[Link]) -> tuple[Finding, ...]:
    return tuple(
        Finding(
            id="link-one-way",
            severity="error",
            subject=f"{link.a.node}/{link.a.netdev} - {link.b.node}/{link.b.netdev}",
            evidence=(
                Evidence(
                    file=link.a.node,
                    text=f"frames to {link.b.node}: {link.proof.frames_a_to_b}, back: {link.proof.frames_b_to_a}",
                ),
            ),
            cause="Frames arrive in one direction only: a broken fibre or lane, or a filter on one end.",
            fix=("re-seat or swap this cable, then run `fabricdoc cables` again",),
        )
        for link in links
        if link.kind == "one-way"
    )


def _silent(links: Sequence[Link], heard: Heard, nodes: Sequence[Node]) -> tuple[Finding, ...]:
    """Ports that met nobody: those that are down first of all say so."""
    linked = {(end.node, end.netdev) for link in links for end in (link.a, link.b)}
    down = down_ports(nodes)
    return tuple(
        _down(node, netdev) if (node, netdev) in down else _unheard(node, netdev)
        for node, netdev in sorted(set(heard.macs) - linked)
    )


def down_ports(nodes: Sequence[Node]) -> set[PortKey]:
    """Ports known to be down: without carrier, or set down (some drivers then refuse to tell the carrier, or lie)."""
    return {
        (node.name, netdev.name)
        for node in nodes
        for netdev in (() if isinstance(node.netdevs, Unknown) else node.netdevs)
        if netdev.carrier is False or netdev.operstate == "down"
    }


def _down(node: str, netdev: str) -> Finding:
    return Finding(
        id="port-without-peer",
        severity="warning",
        subject=f"{node}/{netdev}",
        evidence=(Evidence(file=node, text=f"{netdev} is down; no beacon heard, none of its own heard elsewhere"),),
        cause=f"{netdev} on {node} is down: it is set down, or no signal reaches it (no cable, or the port at its "
        "other end is down).",
        fix=(
            f"on {node}:",
            shlex.join(["sudo", "ip", "link", "set", "dev", netdev, "up"]),
            "if it stays down, look at its cable and at the port at the other end",
        ),
    )


def _unheard(node: str, netdev: str) -> Finding:
    return Finding(
        id="port-without-peer",
        severity="warning",
        subject=f"{node}/{netdev}",
        evidence=(Evidence(file=node, text=f"{netdev}: no beacon heard, none of its own heard elsewhere"),),
        cause=f"{netdev} on {node} is up, but nothing named here is at its other end: a cable elsewhere, or a switch "
        "that drops.",
        fix=(f"look where the cable of {netdev} on {node} ends, or leave the port out of the selectors",),
    )


def _strays(heard: Heard) -> tuple[Finding, ...]:
    if not heard.stray:
        return ()
    return (
        Finding(
            id="stray-beacons",
            severity="info",
            subject="fabric",
            evidence=(Evidence(file="beacons", text=f"{heard.stray} frames without this run's seal"),),
            cause="Another tool or another run sends the same EtherType on this segment; its frames were ignored.",
        ),
    )
