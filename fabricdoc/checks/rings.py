"""Rings of nodes joined by cables without a switch: which cages the cables join, and what NCCL needs there.

Three DGX Sparks on three cables are the usual case. What is not a ring (pairs, chains, switches) is left alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from fabricdoc.checks.differences import SHOWN
from fabricdoc.checks.segments import Attached, End, Segment, segments_of
from fabricdoc.checks.variables import variable, whole_number
from fabricdoc.model.fabric import Fabric, Node
from fabricdoc.model.findings import Evidence, Finding

ROUTING = "NCCL_IB_SUBNET_AWARE_ROUTING"
SMALLEST = 3


class Ring(NamedTuple):
    """Nodes in the order of the ring; cable k joins node k with the next one, its ends in that order."""

    nodes: tuple[Node, ...]
    cables: tuple[Segment, ...]


def check_rings(fabric: Fabric) -> tuple[Finding, ...]:
    """Cables that join cages of one number, and rings whose nodes do not route by subnet."""
    return tuple(finding for ring in rings_of(fabric) for finding in (*like_cages(ring), *unrouted(ring)))


def rings_of(fabric: Fabric) -> list[Ring]:
    """Every set of three or more nodes in which each is cabled to two others, once each."""
    cables: dict[str, list[Segment]] = defaultdict(list)
    for segment in segments_of(fabric):
        for end in segment.ends:
            cables[end.node.name].append(segment)
    seen: set[str] = set()
    found = []
    for node in fabric.nodes:
        if node.name not in seen and node.name in cables:
            ring = _walk(node, cables, seen)
            if ring is not None:
                found.append(ring)
    return found


def _walk(start: Node, cables: dict[str, list[Segment]], seen: set[str]) -> Ring | None:
    """The ring through `start`, or None where the way along cables ends, forks, or meets a switch."""
    nodes, way = [start], []
    came: Segment | None = None
    while True:
        here = nodes[-1]
        seen.add(here.name)
        own = cables[here.name]
        if len(own) != 2 or not all(segment.is_cable for segment in own):
            return None
        came = own[0] if came is None or own[1] is came else own[1]
        near, far = came.ends if came.ends[0].node.name == here.name else came.ends[::-1]
        way.append(Segment((near, far)))
        cables_of_far = cables[far.node.name]
        if far.node.name == start.name:
            return Ring(tuple(nodes), tuple(way)) if len(nodes) >= SMALLEST else None
        if far.node.name in seen:
            return None
        nodes.append(far.node)
        if not any(segment is came for segment in cables_of_far):
            return None


def like_cages(ring: Ring) -> Iterator[Finding]:
    """ring-joins-like-cages: a cable from a cage 0 to a cage 0, or 1 to 1; silent where a cage has no number."""
    numbers = [tuple(_connector(end) for end in cable.ends) for cable in ring.cables]
    wrong = [cable for cable, (near, far) in zip(ring.cables, numbers, strict=True) if near and near == far]
    if wrong and all(number for pair in numbers for number in pair):
        yield Finding(
            id="ring-joins-like-cages",
            severity="error",
            subject=", ".join(cable.title() for cable in wrong[:SHOWN]),
            evidence=tuple(
                Evidence(file=end.node.name, text=f"{end.ports[0].netdev.name}, cage {_connector(end)}")
                for cable in wrong[:SHOWN]
                for end in cable.ends
            ),
            cause="In a ring without a switch every cable must join a cage 0 to a cage 1. NCCL pairs like with like, "
            "so over these cables it dials a port that is not there: connecting ends with errno 110, or silently.",
            fix=(
                "plug the cables so that cage 0 of each node leads to cage 1 of the next:",
                *(
                    f"{node.name} {_port_of(node, ring, 'p0')} to {after.name} {_port_of(after, ring, 'p1')}"
                    for node, after in zip(ring.nodes, (*ring.nodes[1:], ring.nodes[0]), strict=True)
                ),
                "then fabricdoc cables again, and move the addresses with the cables",
            ),
        )


def _connector(end: End) -> str:
    """The connector's number as firmware reports it (p0, p1); empty where it is unknown."""
    name = end.ports[0].netdev.phys_port_name
    return name if isinstance(name, str) else ""


def _port_of(node: Node, ring: Ring, connector: str) -> str:
    ends = [end for cable in ring.cables for end in cable.ends if end.node.name == node.name]
    port: Attached | None = next((end.ports[0] for end in ends if _connector(end) == connector), None)
    return f"cage {connector[1:]}" + (f" ({port.netdev.name})" if port is not None else "")


def unrouted(ring: Ring) -> Iterator[Finding]:
    """ring-without-subnet-routing: information where a node would not look for the HCA that reaches its neighbour."""
    without = [node for node in ring.nodes if not _routes(node)]
    if without:
        many = len(ring.nodes) > SMALLEST
        trees = ("and, since nodes that are not neighbours can't connect: export NCCL_ALGO=ring",)
        yield Finding(
            id="ring-without-subnet-routing",
            severity="info",
            subject=", ".join(node.name for node in ring.nodes[:SHOWN]),
            evidence=tuple(
                Evidence(file=near.node.name, text=f"{near.ports[0].netdev.name} leads to {far.node.name}")
                for near, far in (cable.ends for cable in ring.cables[:SHOWN])
            ),
            cause="These nodes form a ring without a switch: each HCA reaches one neighbour only, while NCCL pairs "
            "HCAs by their number. It finds the one that shares a subnet with the neighbour when it is told to (2.30.7 "
            "and later).",
            fix=(
                f"on every rank: export {ROUTING}=1 NCCL_NET_PLUGIN=none",
                "give every cable subnets of its own, and list all HCAs of both cages (or none) in NCCL_IB_HCA",
                *(trees if many else ()),
            ),
            confidence="likely",
        )


def _routes(node: Node) -> bool:
    found = variable(node, ROUTING)
    return found is not None and whole_number(found.value) > 0
