"""Try the ways between nodes: datagrams of real size between ports, TCP connections for bootstrap and rendezvous.

One conversation with the `reach` probe on every node: all open, then all try at once while they answer each other.
Evidence of the weak kind, so it makes no link; RDMA may pass while TCP is blocked, and the other way round. What is
tried is `ways`' matter, what it means `pinging`'s and `bootstrap`'s.
"""

from __future__ import annotations

import secrets
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fabricdoc.checks import limit
from fabricdoc.errors import NodeError
from fabricdoc.fabric.bootstrap import bootstrap_findings
from fabricdoc.fabric.pinging import pinged
from fabricdoc.fabric.tried import Asked, Dialled, Taken
from fabricdoc.fabric.ways import Place, Way, datagram_pairs, tcp_ways
from fabricdoc.model.fabric import Fabric
from fabricdoc.model.findings import Evidence, Finding
from fabricdoc.transport import NodeSpec, open_channels

OPEN_S = 10.0
TRY_S = 20.0
PROBE = "the reach probe"
SMALL = 56
HEADERS = 28
"""IPv4's 20 bytes and UDP's 8 (RFC 791, RFC 768)."""


@dataclass
class Plan:
    """What is tried: pairs of ports by datagrams, ways by TCP; node 0 also listens on the rendezvous port."""

    pairs: list[tuple[Place, Place]] = field(default_factory=list)
    ways: list[Way] = field(default_factory=list)
    head: str = ""
    rendezvous: int = 0

    def asks(self) -> Iterator[tuple[Place, Place, int]]:
        """Every question: from, to, bytes of payload; small ones, and ones that fill the smaller MTU."""
        for one, other in self.pairs:
            full = min(one.mtu, other.mtu) - HEADERS
            for a, b in ((one, other), (other, one)):
                yield a, b, SMALL
                if full > SMALL:
                    yield a, b, full

    def dials(self) -> Iterator[tuple[Way, int]]:
        """Every connection: the way, and the port (0: the one the listener got); each way once."""
        for way in dict.fromkeys(self.ways):
            yield way, 0
            if way.b.node == self.head:
                yield way, self.rendezvous

    def nodes(self) -> set[str]:
        """The nodes that have a part in it."""
        pairs = {place.node for pair in self.pairs for place in pair}
        return pairs | {place.node for way in self.ways for place in (way.a, way.b)}

    def openings(self) -> dict[str, dict[str, list[dict[str, Any]]]]:
        """By node what it opens: ears at its ports, listeners at the addresses others dial."""
        ears = dict.fromkeys(place for pair in self.pairs for place in pair)
        dialled = dict.fromkeys((way.b.node, way.b.ip, port) for way, port in self.dials())
        found: dict[str, dict[str, list[dict[str, Any]]]] = {name: {"ears": [], "listen": []} for name in self.nodes()}
        for place in ears:
            found[place.node]["ears"].append({"netdev": place.netdev, "ip": place.ip})
        for node, ip, port in dialled:
            found[node]["listen"].append({"ip": ip, "port": port})
        return found


def with_reach(specs: Sequence[NodeSpec], fabric: Fabric, progress: Callable[[str], None]) -> Fabric:
    """The fabric with weak proofs of its links, and what datagrams and TCP connections show."""
    plan = Plan(
        datagram_pairs(specs, fabric),
        tcp_ways(specs, fabric),
        specs[0].name if specs else "",
        int(limit("bootstrap", "rendezvous_port")),
    )
    parts = [spec for spec in specs if spec.name in plan.nodes()]
    if len(parts) < 2:
        return fabric
    progress(f"datagrams of full size between {len(plan.pairs)} pairs of ports, TCP on {len(plan.ways)} ways")
    try:
        reached = converse(parts, plan)
    except NodeError as error:
        return fabric.model_copy(update={"findings": (*fabric.findings, _not_tried(error))})
    fabric = pinged(fabric, reached.asked)
    found = bootstrap_findings(fabric.nodes, reached.dialled, reached.taken)
    return fabric.model_copy(update={"findings": (*fabric.findings, *found)})


@dataclass
class Reached:
    """What came back."""

    asked: list[Asked] = field(default_factory=list)
    dialled: list[Dialled] = field(default_factory=list)
    taken: list[Taken] = field(default_factory=list)


def converse(specs: Sequence[NodeSpec], plan: Plan) -> Reached:
    """Open, try and close on every node of the plan. Raises NodeError when one does not answer, or not as it should."""
    run = {"nonce": secrets.token_hex(8), "key": secrets.token_hex(32)}
    try:
        with open_channels(specs, "reach") as channels:
            for name, opening in plan.openings().items():
                channels.send(name, {"do": "open", **run, **opening})
            opened = Opened(plan, channels.gather("ready", OPEN_S, PROBE))
            for name in channels.names:
                channels.send(name, opened.trying(name))
            said = channels.gather("tried", TRY_S, PROBE)
            channels.broadcast({"do": "end"})
        return opened.reached(said)
    except (KeyError, TypeError, ValueError) as error:
        raise NodeError(f"{PROBE} answered with something else: {error}"[:200], id="probe-failed") from error


class Opened:
    """The plan with what really stands open on the nodes: what is asked and dialled, by node, in the plan's order.

    KeyError, TypeError, ValueError for answers that are none.
    """

    def __init__(self, plan: Plan, ready: Mapping[str, dict[str, Any]]) -> None:
        told = [(node, kind, one) for node, said in ready.items() for kind in KINDS for one in said[kind]]
        self._ears = {(n, str(one["netdev"]), str(one["ip"])): _port(one) for n, kind, one in told if kind == "ears"}
        listeners = ((n, one) for n, kind, one in told if kind == "listeners")
        self._listeners = {(n, str(one["ip"]), int(one["wanted"])): _port(one) for n, one in listeners}
        self._taken = [Taken.read(n, one) for n, kind, one in told if kind == "refused" and one["taken"] is True]
        self._asks: dict[str, list[tuple[Place, Place, int]]] = defaultdict(list)
        self._dials: dict[str, list[tuple[Way, int]]] = defaultdict(list)
        for a, b, size in plan.asks():
            if {(a.node, a.netdev, a.ip), (b.node, b.netdev, b.ip)} <= self._ears.keys():
                self._asks[a.node].append((a, b, size))
        for way, port in plan.dials():
            if (way.b.node, way.b.ip, port) in self._listeners:
                self._dials[way.a.node].append((way, port))

    def trying(self, node: str) -> dict[str, Any]:
        """The message that makes one node try."""
        asks = [
            {"netdev": a.netdev, "ip": a.ip, "to_ip": b.ip, "to_port": self._ears[b.node, b.netdev, b.ip], "size": size}
            for a, b, size in self._asks[node]
        ]
        dials = [
            {"ip": way.b.ip, "port": self._listeners[way.b.node, way.b.ip, port]} for way, port in self._dials[node]
        ]
        return {"do": "try", "asks": asks, "dials": dials}

    def reached(self, said: Mapping[str, dict[str, Any]]) -> Reached:
        """The answers beside what was asked; they come in the order of the questions."""
        found = Reached(taken=self._taken)
        for node, told in said.items():
            for (a, b, size), one in zip(self._asks[node], told["asks"], strict=True):
                found.asked.append(Asked.read(a, b, size, one))
            for (way, port), one in zip(self._dials[node], told["dials"], strict=True):
                found.dialled.append(Dialled.read(way, port, one))
        return found


KINDS = ("ears", "listeners", "refused")


def _port(told: dict[str, Any]) -> int:
    port = int(told["port"])
    if not 0 < port < 65536:
        raise ValueError(f"no port is {port}")
    return port


def _not_tried(error: NodeError) -> Finding:
    return Finding(
        id="reach-not-tried",
        severity="info",
        subject="fabric",
        evidence=(Evidence(file="reach", text=error.message),),
        cause="Datagrams and TCP connections between the nodes could not be tried, so whether bootstrap and frames of "
        "full size pass is not known.",
        fix=(error.fix,) if error.fix else (),
    )
