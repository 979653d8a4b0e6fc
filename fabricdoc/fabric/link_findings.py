"""Findings that only the exchange of beacons can make: ports not opened, missing rights, one-way links, strays.

Ports that met nobody are `unheard`'s. Composes findings from what was heard; opens no port and judges no setting
(`fabricdoc.checks`).
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from fabricdoc.fabric.heard import Heard
from fabricdoc.fabric.unheard import unheard_ports
from fabricdoc.model.fabric import Link, Node, PortKey
from fabricdoc.model.findings import Evidence, Finding

RIGHTS = (
    "for raw sockets: run as root on that node, or give python3 there CAP_NET_RAW",
    "or let the user run python3 there by `sudo -n`, or name the server's image in fabric.toml: image = 'NAME'",
)
NO_RIGHT = "raw sockets are not allowed"
MOST_PORTS = 8
MOST_NODES = 8


def beacon_findings(heard: Heard, links: Sequence[Link], nodes: Sequence[Node]) -> tuple[Finding, ...]:
    """All of them, in the order of the questions: could it look, does it carry both ways, did it meet anybody."""
    return (
        *_failed(heard),
        *refused_ports(heard),
        *_no_raw_sockets(heard),
        *_one_way(links),
        *unheard_ports(links, heard, nodes),
        *_echoes(heard),
        *_strays(heard),
    )


def refused_ports(heard: Heard) -> tuple[Finding, ...]:
    """Ports that could not be opened, with the reason."""
    return tuple(
        Finding(
            id="port-not-probed",
            severity="info",
            subject=f"{port[0]}/{port[1]}",
            evidence=(Evidence(file=port[0], text=f"{port[1]}: {reason}"),),
            cause="The port could not be opened for layer-2 beacons, so what it is cabled to is not known.",
            fix=(*RIGHTS, *_give_address(port, heard.lacks.get(port, ""))),
        )
        for port, reason in sorted(heard.refused.items())
    )


def _give_address(port: PortKey, lack: str) -> tuple[str, ...]:
    """How the port gets what multicast needs: a link-local IPv6 address."""
    node, netdev = port
    if lack == "ipv6-off":
        key = f"net.ipv6.conf.{netdev.replace('.', '/')}.disable_ipv6=0"
        return (f"or let it have IPv6, on {node}:", shlex.join(["sudo", "sysctl", "-w", key]))
    if lack == "no-address":
        command = ["sudo", "ip", "link", "set", "dev", netdev, "addrgenmode", "eui64"]
        again = shlex.join(["sudo", "ip", "link", "set", "dev", netdev, "up"])
        return (
            f"or give it an IPv6 link-local address (netplan: link-local: [ipv6]), on {node}:",
            shlex.join(command),
            again,
        )
    if lack == "member":
        return (f"or list the interface that {netdev} on {node} belongs to, with --ports",)
    if lack == "tentative":
        return ("or run it again in some seconds",)
    if lack == "duplicate":
        return (f"two ports on one segment have the MAC of {netdev} on {node}: see `ip -6 addr show dadfailed`",)
    return ()


def _failed(heard: Heard) -> tuple[Finding, ...]:
    """Nodes that did not take part to the end; the links of the others stand."""
    return tuple(
        Finding(
            id="port-not-probed",
            severity="warning",
            subject=node,
            evidence=(Evidence(file=node, text=str(error)), *_halves(heard, node)),
            cause="The beacon probe failed on this node, so what its ports are cabled to is not known.",
            fix=(error.fix,) if error.fix else (),
        )
        for node, error in sorted(heard.failed.items())
    )


def _halves(heard: Heard, node: str) -> list[Evidence]:
    """What others heard of a node before it failed."""
    halves = sorted((one for one in heard.halves if one.sender[0] == node), key=lambda one: (one.listener, one.sender))
    return [
        Evidence(file=one.listener[0], text=f"{one.listener[1]} heard {one.count} frames of {node}/{one.sender[1]}")
        for one in halves[:MOST_PORTS]
    ]


def _no_raw_sockets(heard: Heard) -> tuple[Finding, ...]:
    """The nodes whose links were proven by multicast, in one finding, with what was tried to get the stronger proof."""
    by_node: dict[str, list[str]] = {}
    for node, netdev in sorted(heard.methods):
        by_node.setdefault(node, []).append(netdev)
    if not by_node:
        return ()
    more = f" and {len(by_node) - MOST_NODES} more" if len(by_node) > MOST_NODES else ""
    return (
        Finding(
            id="beacons-by-multicast",
            severity="info",
            subject=", ".join(list(by_node)[:MOST_NODES]) + more,
            evidence=tuple(
                Evidence(file=node, text=f"{_why_not(heard, node)}; by multicast: {', '.join(netdevs[:MOST_PORTS])}")
                for node, netdevs in list(by_node.items())[:MOST_NODES]
            ),
            cause="Raw sockets are not allowed there, so the ports spoke link-local IPv6 multicast instead. A link "
            "proven so is a real one; one that is not found may be hidden by a firewall on a node.",
            fix=RIGHTS,
        ),
    )


def _why_not(heard: Heard, node: str) -> str:
    return heard.rights.get(node, NO_RIGHT).removeprefix(f"{node}: ")


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
            cause="Frames arrive in one direction only: a broken fibre or lane, or a filter on one end"
            f"{' (a firewall that drops UDP over IPv6 there)' if link.proof.method == 'multicast' else ''}.",
            fix=("re-seat or swap this cable, then run `fabricdoc cables` again",),
        )
        for link in links
        if link.kind == "one-way"
    )


def _echoes(heard: Heard) -> tuple[Finding, ...]:
    return tuple(
        Finding(
            id="port-hears-itself",
            severity="warning",
            subject=f"{node}/{netdev}",
            evidence=(Evidence(file=node, text=f"{netdev}: {count} of its own frames came back to it"),),
            cause="What this port sends comes back to it: a loop in the switched network behind it, or a loopback "
            "plug. In a loop, broadcasts circle until the segment is full.",
            fix=(f"look where the cable of {netdev} on {node} ends, and for a second path between its switches",),
        )
        for (node, netdev), count in sorted(heard.echoes.items())
    )


def _strays(heard: Heard) -> tuple[Finding, ...]:
    if not heard.stray:
        return ()
    busiest = sorted(heard.strays.items(), key=lambda one: (-one[1], one[0]))[:MOST_PORTS]
    return (
        Finding(
            id="stray-beacons",
            severity="info",
            subject="fabric",
            evidence=(
                Evidence(file="beacons", text=f"{heard.stray} frames without this run's seal"),
                *(Evidence(file=node, text=f"{netdev}: {count} of them") for (node, netdev), count in busiest),
            ),
            cause="Another tool or another run sends the same EtherType on this segment; its frames were ignored.",
        ),
    )
