"""A node for people: what it runs, its GPUs, its HCAs, its ports; unknown facts as `?` with the reason below.

Shows what the scan reported. Judges nothing: what is wrong comes from findings.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from fabricdoc.model.documents import Fact, Unknown
from fabricdoc.model.fabric import FailedNode, Gid, Gpu, Hca, Netdev, Node, Port
from fabricdoc.report.cells import BAD, BOLD, DIM, GOOD, WARN, Column, Name, Words, indent, line, table
from fabricdoc.report.findings import render_fix
from fabricdoc.report.text import UNKNOWN, counted, fact_text, rate_text, size_text

if TYPE_CHECKING:
    from rich.console import RenderableType

NO_HCA = "no RDMA device (that is a fact, not an error)"
VIRTUAL = frozenset({"bridge", "bond", "dummy", "tun", "vxlan", "wireguard", "ipvlan", "macvlan", "ifb", "vrf"})


def render_node(node: Node, linked: Collection[str] = ()) -> list[RenderableType]:
    """One node; `linked` names netdevs that take part in a link and are always shown."""
    reasons = Reasons()
    head = line((node.name, BOLD), *((f"  {node.target}", DIM),) if node.target != node.name else ())
    body: list[RenderableType] = [line(*_host(node, reasons)), line(*_gpus(node.gpus))]
    return [
        head,
        *(indent(part) for part in body),
        *_hcas(node.hcas, reasons),
        *_ports(node, linked, reasons),
        *reasons.lines(),
    ]


def render_failed(node: FailedNode) -> list[RenderableType]:
    """A node that could not be read: why, and what to do."""
    head = line((node.name, BOLD), (f"  {node.target}", DIM), "  ", (f"could not be read: {node.message}", BAD))
    return [head, *render_fix([node.fix] if node.fix else [], by=2)]


class Reasons:
    """Collects why facts shown as `?` are unknown, so that each reason is told once."""

    def __init__(self) -> None:
        self._told: dict[str, list[str]] = {}

    def note(self, fact: object, what: str) -> None:
        """Remember the reason if `fact` is unknown; `what` names the fact."""
        if isinstance(fact, Unknown):
            self._told.setdefault(fact.unknown, []).append(what)

    def lines(self) -> list[RenderableType]:
        """One dim line per reason: the facts it hides."""
        return [
            indent(line((f"{UNKNOWN} {', '.join(dict.fromkeys(whats))}: {why}", DIM)))
            for why, whats in self._told.items()
        ]


def _host(node: Node, reasons: Reasons) -> list[Words]:
    """The host line; unknown versions are left to the reasons."""
    host = node.host
    facts = (("", host.os), ("kernel ", host.kernel), ("", host.arch), ("python ", host.python), ("torch ", host.torch))
    for label, fact in facts:
        reasons.note(fact, label.strip() or "os")
    known = [f"{label}{fact}" for label, fact in facts if not isinstance(fact, Unknown)]
    inside = node.container.kind
    if isinstance(inside, str) and inside != "none":
        known.append(f"inside {inside}")
    return [("host  ", DIM), ", ".join(known) or UNKNOWN]


def _gpus(gpus: Fact[tuple[Gpu, ...]]) -> list[Words]:
    if isinstance(gpus, Unknown):
        return [("GPU   ", DIM), (f"unknown: {gpus.unknown}", WARN)]
    groups: dict[str, int] = {}
    for gpu in gpus:
        memory = f" {size_text(gpu.memory_bytes)}" if isinstance(gpu.memory_bytes, int) else ""
        words = f"{fact_text(gpu.name)}{memory}"
        groups[words] = groups.get(words, 0) + 1
    driven = ", ".join(f"{count} x {words}" for words, count in groups.items())
    return [("GPU   ", DIM), driven or "none"]


def _hcas(hcas: Fact[tuple[Hca, ...]], reasons: Reasons) -> list[RenderableType]:
    if isinstance(hcas, Unknown):
        return [indent(line(("RDMA  ", DIM), (f"unknown: {hcas.unknown}", WARN)))]
    if not hcas:
        return [indent(line(("RDMA  ", DIM), NO_HCA))]
    columns = [
        Column("HCA", flex=True),
        Column("port", flex=True),
        Column("state"),
        Column("rate"),
        Column("MTU", right=True),
        Column("GID", flex=True),
    ]
    rows = [_hca_row(hca, port, reasons) for hca in hcas for port in hca.ports]
    return [table(columns, rows)]


def _hca_row(hca: Hca, port: Port, reasons: Reasons) -> list[Words | RenderableType]:
    facts = {"state": port.state, "rate": port.rate_gbps, "active MTU": port.active_mtu, "GIDs": port.gids}
    for what, fact in facts.items():
        reasons.note(fact, f"{what} of {hca.name}")
    state = fact_text(port.state)
    gids = UNKNOWN if isinstance(port.gids, Unknown) else _gid_text(port.gids)
    return [
        Name(hca.name if len(hca.ports) == 1 else f"{hca.name}:{port.number}"),
        Name(fact_text(port.netdev)),
        (state, _state_style(state == "ACTIVE", state)),
        fact_text(port.rate_gbps, lambda gbps: rate_text(gbps * 1000)),
        fact_text(port.active_mtu),
        Name(gids),
    ]


def _gid_text(gids: tuple[Gid, ...]) -> str:
    """The GID NCCL would look for first: a RoCE v2 entry with an IPv4 address, else a routable one, else any."""
    if not gids:
        return "none"
    best = max(
        gids, key=lambda gid: ("v2" in fact_text(gid.type), gid.ipv4 is not None, not gid.link_local, -gid.index)
    )
    kind = fact_text(best.type)
    return f"{best.index}: {best.ipv4 or best.gid}" + ("" if kind == UNKNOWN else f" ({kind.removeprefix('RoCE ')})")


def _ports(node: Node, linked: Collection[str], reasons: Reasons) -> list[RenderableType]:
    if isinstance(node.netdevs, Unknown):
        return [indent(line(("port  ", DIM), (f"unknown: {node.netdevs.unknown}", WARN)))]
    rdma = _rdma_netdevs(node.hcas)
    shown = [netdev for netdev in node.netdevs if netdev.name in linked or netdev.name in rdma or _is_port(netdev)]
    hidden = [netdev.name for netdev in node.netdevs if netdev not in shown]
    columns = [
        Column("port", flex=True),
        Column("state"),
        Column("MTU", right=True),
        Column("speed"),
        Column("address", flex=True),
        Column("driver"),
    ]
    parts = [table(columns, [_port_row(netdev, reasons) for netdev in shown])] if shown else [indent(line("no port"))]
    more = counted(len(hidden), "virtual interface")
    return [*parts, indent(line((f"and {more}: {', '.join(hidden)}", DIM)))] if hidden else parts


def _rdma_netdevs(hcas: Fact[tuple[Hca, ...]]) -> set[str]:
    if isinstance(hcas, Unknown):
        return set()
    return {port.netdev for hca in hcas for port in hca.ports if isinstance(port.netdev, str)}


def _is_port(netdev: Netdev) -> bool:
    """Whether a netdev could carry traffic between nodes: not the loopback, not virtual, not enslaved."""
    return netdev.name != "lo" and netdev.master is None and netdev.kind not in VIRTUAL


def _port_row(netdev: Netdev, reasons: Reasons) -> list[Words | RenderableType]:
    for what, fact in (("MTU", netdev.mtu), ("speed", netdev.speed_mbps), ("driver", netdev.driver)):
        reasons.note(fact, f"{what} of {netdev.name}")
    state = "up" if netdev.carrier is True else "down" if netdev.carrier is False else fact_text(netdev.operstate)
    addresses = [
        f"{address.ip}/{address.prefix}" for address in sorted(netdev.addresses, key=lambda a: a.scope != "global")
    ]
    more = f" +{len(addresses) - 1}" if len(addresses) > 1 else ""
    return [
        Name(netdev.name),
        (state, _state_style(state == "up", state)),
        fact_text(netdev.mtu),
        fact_text(netdev.speed_mbps, rate_text),
        Name(f"{addresses[0]}{more}" if addresses else "-"),
        fact_text(netdev.driver),
    ]


def _state_style(good: bool, state: str) -> str:
    return GOOD if good else DIM if state == UNKNOWN else WARN
