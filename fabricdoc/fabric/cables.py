"""The cables job: add the link map to a scanned fabric, with findings about what could not be proven."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence

from fabricdoc.checks import check_fabric, load_catalogue
from fabricdoc.errors import NodeError
from fabricdoc.fabric.beacons import candidate_ports, exchange
from fabricdoc.fabric.cabling import Heard, PortKey, links_from
from fabricdoc.fabric.listing import no_candidates, unmatched
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Link, Node
from fabricdoc.model.findings import Evidence, Finding
from fabricdoc.transport import NodeSpec


def map_cables(specs: Sequence[NodeSpec], fabric: Fabric, progress: Callable[[str], None] = lambda _: None) -> Fabric:
    """`fabric` with `links` proven by beacons, or the reason they could not be.

    Sends a few layer-2 frames from RDMA-backed or listed ports only. Nodes that failed the scan are left out.
    """
    scanned = {node.name: node for node in fabric.nodes}
    present = [spec for spec in specs if spec.name in scanned]
    if len(present) < 2:
        read = f"{len(present)} of {len(specs)} could be read"
        named = "name them with --nodes" if len(specs) < 2 else read
        return _without_links(fabric, f"cables join at least two nodes: {named}")
    ports = {spec.name: candidate_ports(spec, scanned[spec.name]) for spec in present}
    if not any(ports.values()):
        return _without_links(fabric, no_candidates(present, fabric.nodes))
    fabric = fabric.model_copy(update={"findings": (*fabric.findings, *unmatched(present, fabric.nodes))})
    progress(f"beacons on {sum(map(len, ports.values()))} ports")
    try:
        heard = exchange(present, ports)
    except NodeError as error:
        return _without_links(fabric, error.message)
    return judged_again(_with_links(fabric, heard))


def judged_again(fabric: Fabric) -> Fabric:
    """The fabric with what the checks say now that its links are known; what beacons told is kept."""
    if isinstance(fabric.links, Unknown):
        return fabric
    known = load_catalogue()
    kept = [one for one in fabric.findings if one.id in known and known[one.id].decided_by == "beacons"]
    return fabric.model_copy(update={"findings": (*check_fabric(fabric), *kept)})


def _without_links(fabric: Fabric, reason: str) -> Fabric:
    return fabric.model_copy(update={"links": Unknown(unknown=reason)})


def _with_links(fabric: Fabric, heard: Heard) -> Fabric:
    findings = (*fabric.findings, *_refused(heard))
    if not heard.macs:
        reason = next(iter(heard.refused.values()), "no port could be opened")
        text = f"beacons need CAP_NET_RAW on the nodes: {reason}"
        return fabric.model_copy(update={"links": Unknown(unknown=text), "findings": findings})
    links = links_from(heard, fabric.nodes)
    findings += (*_one_way(links), *_silent(links, heard, fabric.nodes), *_strays(heard))
    return fabric.model_copy(update={"links": links, "findings": findings})


def _refused(heard: Heard) -> tuple[Finding, ...]:
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
