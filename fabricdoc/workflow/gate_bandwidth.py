"""What a full level's launches say of bandwidth: each rail and all of them, one direction at a time.

A direction is held against the fastest one of the same gate and, with RDMA, against what its port and PCIe link can
carry: no absolute number is right for every machine. Judges what was measured; measures nothing.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fabricdoc.fabric import Rail, RailPort
from fabricdoc.model.bandwidth import bandwidth
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Netdev, Node
from fabricdoc.model.findings import Evidence, Finding
from fabricdoc.model.gate import GateCheck
from fabricdoc.model.run import Launch
from fabricdoc.workflow.gate_launches import limits
from fabricdoc.workflow.gate_smoke_answers import check, finding
from fabricdoc.workflow.pair_rounds import Pair

RAIL, ALL, NODE = "rail-bandwidth", "all-rails-bandwidth", "node-bandwidth"
BITS_PER_GB = 8.0
LONGEST = 60
PCIE_PAYLOAD = 128 / 130  # the encoding of Gen3 and later; headers take more, which `of_wire` leaves room for


@dataclass(frozen=True)
class Leg:
    """What one launch measures: bytes from `sender` to `receiver` over one rail, or over all (`rail` is None).

    `ports` are the two netdevs, "" for all rails; `wire_gbps` is what the weaker end can carry, None where unknown.
    """

    sender: str
    receiver: str
    rail: int | None = None
    ports: tuple[str, str] = ("", "")
    wire_gbps: float | None = None

    @property
    def subject(self) -> str:
        """ "enp1s0f0np0 to beta/enp1s0f1np1", or "all rails to beta"."""
        if self.rail is None:
            return f"all rails to {self.receiver}"
        return f"{self.ports[0]} to {self.receiver}/{self.ports[1]}"

    @property
    def pair(self) -> Pair:
        """Its two nodes, whichever sends."""
        return (self.sender, self.receiver)


@dataclass(frozen=True)
class Flow:
    """A leg that was launched: its rate in Gbit/s, or why there is none."""

    leg: Leg
    gbps: float | None
    problem: str = ""


@dataclass(frozen=True)
class Judged:
    """A flow with the least it had to reach, in Gbit/s, and why that much."""

    flow: Flow
    least: float
    why: str

    @property
    def good(self) -> bool:
        """Whether it reached that."""
        return self.flow.gbps is not None and self.flow.gbps >= self.least


def flow_of(leg: Leg, launch: Launch) -> Flow:
    """The rate of the one broadcast that launch timed: with two nodes all its bytes cross once, one way."""
    cells = [cell for cell in launch.cells if cell.op == "broadcast" and cell.view == "throughput"]
    if launch.status != "ok" or not cells:
        return Flow(leg, None, launch.reason or f"the launch ended as {launch.status}")
    rate = bandwidth("broadcast", cells[0].size, 2, cells[0].median_us).algbw * BITS_PER_GB
    return Flow(leg, round(rate, 3))


def judged(flows: Sequence[Flow], backend: str) -> list[Judged]:
    """Every flow beside the least it had to reach: a part of the fastest single rail, of the fastest of its own kind
    (all rails carry no less than one), and of its wire."""
    data: Mapping[str, Mapping[str, float]] = limits()["bandwidth"]
    one = max((flow.gbps or 0.0 for flow in flows if flow.leg.rail is not None), default=0.0)
    every = max((flow.gbps or 0.0 for flow in flows if flow.leg.rail is None), default=0.0)
    return [_judged(flow, max(one, every) if flow.leg.rail is None else one, data, backend) for flow in flows]


def _judged(flow: Flow, best: float, data: Mapping[str, Mapping[str, float]], backend: str) -> Judged:
    part = float(data["of_best"][backend])
    bounds = [(part * best, f"{part:g} of the fastest, {best:.1f} Gbit/s")]
    of_wire = data["of_wire"].get(backend)
    if of_wire is not None and flow.leg.wire_gbps is not None:
        bounds.append(
            (float(of_wire) * flow.leg.wire_gbps, f"{of_wire:g} of the wire, {flow.leg.wire_gbps:.0f} Gbit/s")
        )
    least, why = max(bounds)
    return Judged(flow, least, why)


def wire_gbps(fabric: Fabric, rail: Rail) -> float | None:
    """What the weakest port of the rail can carry, in Gbit/s: its own speed or its PCIe link's. None where unknown."""
    nodes = {node.name: node for node in fabric.nodes}
    rates = [_port_gbps(nodes[port.node], port) for port in rail.ports if port.node in nodes]
    known = [rate for rate in rates if rate]
    return min(known) if known and all(port.hca for port in rail.ports) else None


def _port_gbps(node: Node, port: RailPort) -> float | None:
    netdevs = () if isinstance(node.netdevs, Unknown) else node.netdevs
    netdev = next((one for one in netdevs if one.name == port.netdev), None)
    if netdev is None:
        return None
    speed = netdev.speed_mbps / 1000 if isinstance(netdev.speed_mbps, int) and netdev.speed_mbps > 0 else None
    return min((rate for rate in (speed, _pcie_gbps(node, netdev)) if rate), default=None)


def _pcie_gbps(node: Node, netdev: Netdev) -> float | None:
    functions = () if isinstance(node.pcie, Unknown) else node.pcie
    one = next((each for each in functions if each.address == netdev.pci), None)
    if one is None or isinstance(one.current_speed_gts, Unknown) or isinstance(one.current_width, Unknown):
        return None
    return one.current_speed_gts * one.current_width * PCIE_PAYLOAD


def check_of(one: Judged) -> GateCheck:
    """As the gate's document holds it."""
    leg, gbps = one.flow.leg, one.flow.gbps
    seen = f"{gbps:.1f} Gbit/s" if gbps is not None else shortened(one.flow.problem)
    expected = f"at least {one.least:.1f} Gbit/s ({one.why})"
    return check(RAIL if leg.rail is not None else ALL, leg.sender, leg.subject, expected, seen, _outcome(one))


def shortened(problem: str) -> str:
    """The beginning of why there is no rate, for a table; the evidence of the finding holds the whole."""
    return problem if len(problem) <= LONGEST else f"{problem[: LONGEST - 3].rstrip()}..."


def _outcome(one: Judged) -> str:
    return "ok" if one.good else "differs"


def slow_legs(members: Sequence[Judged], nodes: str) -> Finding:
    """One finding for the slow legs between two nodes of which neither is ill by itself, or can't be told apart."""
    first = members[0].flow.leg
    places = dict.fromkeys(_place(one.flow.leg) for one in members)
    both = len({one.flow.leg.pair for one in members}) > 1
    way = f"between {first.sender} and {first.receiver}" if both else f"from {first.sender} to {first.receiver}"
    cause = f"{way} {_rates(members)}: {_what(members)}"
    fix = [
        *_ports_to_look_at(members),
        "see speed, width and counters of these ports:",
        f"fabricdoc scan --nodes {nodes}",
    ]
    id = RAIL if first.rail is not None else ALL
    return finding(id, ", ".join(places), cause, fix, [_evidence(one) for one in members])


def ill_node(node: str, members: Sequence[Judged], nodes: str) -> Finding:
    """A node that is slow with a partner that is not, too."""
    partners = dict.fromkeys(name for one in members for name in one.flow.leg.pair if name != node)
    cause = f"{node} is slow with {' and with '.join(partners)}, who are not slow with others: {_what(members)}"
    fix = [f"look at {node} first (clocks, PCIe width, firmware, other users):", f"fabricdoc scan --nodes {nodes}"]
    return finding(NODE, node, cause, fix, [_evidence(one) for one in members])


def _place(leg: Leg) -> str:
    return f"{leg.sender}/{leg.ports[0]}" if leg.ports[0] else leg.sender


def _rates(members: Iterable[Judged]) -> str:
    told = [
        f"{one.flow.gbps:.1f} Gbit/s over {'all rails' if one.flow.leg.rail is None else one.flow.leg.ports[0]}"
        if one.flow.gbps is not None
        else f"nothing over {'all rails' if one.flow.leg.rail is None else one.flow.leg.ports[0]}"
        for one in members
    ]
    return ", ".join(dict.fromkeys(told))


def _what(members: Sequence[Judged]) -> str:
    """How much it had to be; of a launch that came to nothing, why."""
    failed = next((one for one in members if one.flow.gbps is None), None)
    if failed is not None:
        return failed.flow.problem
    return f"at least {members[0].least:.1f} are needed ({members[0].why})"


def _evidence(one: Judged) -> Evidence:
    rate = f"{one.flow.gbps:.3f} Gbit/s" if one.flow.gbps is not None else one.flow.problem
    return Evidence(file=one.flow.leg.sender, text=f"{one.flow.leg.subject}: {rate}, least {one.least:.3f} Gbit/s")


def _ports_to_look_at(members: Sequence[Judged]) -> list[str]:
    lines: dict[str, None] = {}
    for one in members:
        leg = one.flow.leg
        if leg.ports[0]:
            lines[f"on {leg.sender}: {shlex.join(['tc', '-s', 'qdisc', 'show', 'dev', leg.ports[0]])}"] = None
            lines[f"on {leg.receiver}: {shlex.join(['ethtool', leg.ports[1]])}"] = None
    return list(lines)
