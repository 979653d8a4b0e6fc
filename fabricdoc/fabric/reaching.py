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
from fabricdoc.errors import NodeError, UsageError
from fabricdoc.fabric.bare_links import bare_findings
from fabricdoc.fabric.bootstrap import bootstrap_findings
from fabricdoc.fabric.crew import SEE_WHY, Crew
from fabricdoc.fabric.failing import with_failed
from fabricdoc.fabric.pinging import pinged
from fabricdoc.fabric.sharing import open_some
from fabricdoc.fabric.tried import MOST_REASON, Asked, Dialled, Taken, text
from fabricdoc.fabric.ways import Place, Way, datagram_pairs, tcp_ways
from fabricdoc.model.fabric import Fabric
from fabricdoc.model.findings import Evidence, Finding
from fabricdoc.transport import NodeSpec

OPEN_S = 10.0
TRY_S = 20.0
PROBE = "the reach probe"
SMALL = 56
END = {"do": "end"}
HEADERS, HEADERS6 = 28, 48
"""IPv4's 20 bytes or IPv6's 40, and UDP's 8 (RFC 791, RFC 8200, RFC 768)."""
MOST_PORTS = 8
MOST_DIALS = 256
"""Connections that one node makes (`probes.dial`); of more only the first."""


def check_ports(ports: Sequence[int]) -> tuple[int, ...]:
    """The TCP ports that a launcher uses, each once; the usual one where none is named. UsageError for none or many."""
    if len(set(ports)) > MOST_PORTS or not all(0 < port < 65536 for port in ports):
        raise UsageError(
            f"--port takes numbers from 1 to 65535, at most {MOST_PORTS} of them", fix="write it like --port 29500"
        )
    return tuple(dict.fromkeys(ports)) or (int(limit("bootstrap", "rendezvous_port")),)


@dataclass
class Plan:
    """What is tried: pairs of ports by datagrams, ways by TCP, each on a port of the kernel's choice and on `ports`."""

    pairs: list[tuple[Place, Place]] = field(default_factory=list)
    ways: list[Way] = field(default_factory=list)
    ports: tuple[int, ...] = ()

    def asks(self) -> Iterator[tuple[Place, Place, int]]:
        """Every question: from, to, bytes of payload; small ones, and ones that fill the smaller MTU."""
        for one, other in self.pairs:
            full = min(one.mtu, other.mtu) - (HEADERS6 if ":" in one.ip else HEADERS)
            for a, b in ((one, other), (other, one)):
                yield a, b, SMALL
                if full > SMALL:
                    yield a, b, full

    def dials(self) -> Iterator[tuple[Way, int]]:
        """Every connection: the way, and the port (0: the one the listener got); each way once, a node's first 256."""
        made: dict[str, int] = defaultdict(int)
        for way in dict.fromkeys(self.ways):
            for port in (0, *self.ports):
                made[way.a.node] += 1
                if made[way.a.node] <= MOST_DIALS:
                    yield way, port

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


def with_reach(
    specs: Sequence[NodeSpec], fabric: Fabric, progress: Callable[[str], None], ports: Sequence[int] = ()
) -> Fabric:
    """The fabric with weak proofs of its links, and what datagrams and TCP connections show.

    `ports` are those that the user's launcher listens on (default: torch's rendezvous port).
    """
    plan = Plan(datagram_pairs(specs, fabric), tcp_ways(specs, fabric), check_ports(ports))
    parts = [spec for spec in specs if spec.name in plan.nodes()]
    if len(parts) < 2:
        return fabric
    progress(f"datagrams of full size between {len(plan.pairs)} pairs of ports, TCP on {len(plan.ways)} ways")
    reached = converse(parts, plan)
    fabric = pinged(with_failed(fabric, reached.failed), reached.asked)
    found = bootstrap_findings(fabric.nodes, reached.dialled, reached.taken)
    lost = (_not_tried(reached.failed),) if reached.failed else ()
    shut = tuple(_not_opened(*one) for one in reached.shut)
    bare = bare_findings(fabric, [way for way in plan.ways if way.by == "link"])
    return fabric.model_copy(update={"findings": (*fabric.findings, *found, *shut, *lost, *bare)})


@dataclass
class Reached:
    """What came back; `failed` are nodes whose probe did not come to the end, so that what leads there is not known.

    `shut` are ports that could not be opened on a node although nobody holds them: (node, port, reason).
    """

    asked: list[Asked] = field(default_factory=list)
    dialled: list[Dialled] = field(default_factory=list)
    taken: list[Taken] = field(default_factory=list)
    shut: list[tuple[str, int, str]] = field(default_factory=list)
    failed: dict[str, NodeError] = field(default_factory=dict)


def converse(specs: Sequence[NodeSpec], plan: Plan) -> Reached:
    """Open, try and close on every node of the plan; one that does not answer, or not as it should, is in `failed`."""
    run = {"nonce": secrets.token_hex(8), "key": secrets.token_hex(32)}
    channels, failed = open_some(specs, "reach")
    with channels:
        crew = Crew(channels, failed, PROBE)
        crew.tell({name: {"do": "open", **run, **opening} for name, opening in plan.openings().items()})
        opened = Opened(plan, crew.answers("ready", crew.names, OPEN_S), crew.failed)
        crew.tell({name: opened.trying(name) for name in crew.names})
        said = crew.answers("tried", crew.names, TRY_S)
        lost = {name: error for name, error in crew.failed.items() if name not in said}
        crew.tell(dict.fromkeys(crew.names, END))
    return opened.reached(said, lost)


class Opened:
    """The plan with what really stands open on the nodes: what is asked and dialled, by node, in the plan's order.

    A node whose answer is none is put into `failed`.
    """

    def __init__(self, plan: Plan, ready: Mapping[str, dict[str, Any]], failed: dict[str, NodeError]) -> None:
        self._ears: dict[tuple[str, str, str], int] = {}
        self._listeners: dict[tuple[str, str, int], int] = {}
        self._taken: list[Taken] = []
        self._shut: dict[tuple[str, int], str] = {}
        for node, told in ready.items():
            try:
                self._note(node, told)
            except (KeyError, TypeError, ValueError) as error:
                failed.setdefault(node, _nonsense(node, error))
        self._asks: dict[str, list[tuple[Place, Place, int]]] = defaultdict(list)
        self._dials: dict[str, list[tuple[Way, int]]] = defaultdict(list)
        for a, b, size in plan.asks():
            if {(a.node, a.netdev, a.ip), (b.node, b.netdev, b.ip)} <= self._ears.keys():
                self._asks[a.node].append((a, b, size))
        for way, port in plan.dials():
            if (way.b.node, way.b.ip, port) in self._listeners:
                self._dials[way.a.node].append((way, port))

    def _note(self, node: str, told: Mapping[str, Any]) -> None:
        """Take what one node opened. KeyError, TypeError, ValueError for an answer that is none."""
        ears = {(node, str(one["netdev"]), str(one["ip"])): _port(one) for one in told["ears"]}
        listeners = {(node, str(one["ip"]), int(one["wanted"])): _port(one) for one in told["listeners"]}
        taken = [Taken.read(node, one) for one in told["refused"] if one["taken"] is True]
        shut = {
            (node, int(one["port"])): text(one["reason"], MOST_REASON) for one in told["refused"] if not one["taken"]
        }
        self._shut |= {(name, port): reason for (name, port), reason in shut.items() if port}
        self._ears |= ears
        self._listeners |= listeners
        self._taken += taken

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

    def reached(self, said: Mapping[str, dict[str, Any]], failed: Mapping[str, NodeError]) -> Reached:
        """The answers beside what was asked; that one which failed could not be reached says nothing."""
        shut = [(node, port, reason) for (node, port), reason in self._shut.items()]
        found = Reached(taken=self._taken, shut=shut, failed=dict(failed))
        for node, told in said.items():
            try:
                asked, dialled = self._read(node, told)
            except (KeyError, TypeError, ValueError) as error:
                found.failed[node] = _nonsense(node, error)
            else:
                found.asked += asked
                found.dialled += dialled
        found.asked = [one for one in found.asked if one.b.node not in found.failed]
        found.dialled = [one for one in found.dialled if one.way.b.node not in found.failed]
        return found

    def _read(self, node: str, told: Mapping[str, Any]) -> tuple[list[Asked], list[Dialled]]:
        """One node's answers, which come in the order of the questions."""
        asks = zip(self._asks[node], told["asks"], strict=True)
        dials = zip(self._dials[node], told["dials"], strict=True)
        return (
            [Asked.read(a, b, size, one) for (a, b, size), one in asks],
            [Dialled.read(way, port, one) for (way, port), one in dials],
        )


def _nonsense(node: str, error: Exception) -> NodeError:
    told = f"{node}: {PROBE} answered with something else: {error}"[:200]
    return NodeError(told, fix=SEE_WHY, id="probe-failed")


def _port(told: dict[str, Any]) -> int:
    port = int(told["port"])
    if not 0 < port < 65536:
        raise ValueError(f"no port is {port}")
    return port


def _not_opened(node: str, port: int, reason: str) -> Finding:
    return Finding(
        id="reach-not-tried",
        severity="info",
        subject=f"{node} port {port}",
        evidence=(Evidence(file=node, text=f"tcp port {port}: {reason}"),),
        cause=f"Port {port} could not be opened on {node}, so whether the other nodes reach it is not known.",
        fix=("name the port that the launcher will really use; below 1024 only root may open one",),
    )


def _not_tried(failed: Mapping[str, NodeError]) -> Finding:
    """The nodes that could not take part, in one finding."""
    return Finding(
        id="reach-not-tried",
        severity="info",
        subject=", ".join(failed),
        evidence=tuple(Evidence(file=name, text=error.message) for name, error in failed.items()),
        cause="Datagrams and TCP connections to and from these nodes could not be tried, so whether bootstrap and "
        "frames of full size pass there is not known.",
        fix=tuple(dict.fromkeys(error.fix for error in failed.values() if error.fix)),
    )
