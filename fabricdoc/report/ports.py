"""The ports of a node as a table: state, MTU, speed, address; what can't join nodes is only counted."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from fabricdoc.model.documents import Fact, Unknown
from fabricdoc.model.fabric import Hca, Netdev, Node
from fabricdoc.report.cells import DIM, WARN, Column, Name, Words, indent, line, table
from fabricdoc.report.reasons import Reasons, state_style
from fabricdoc.report.text import counted, fact_text, rate_text

if TYPE_CHECKING:
    from rich.console import RenderableType

VIRTUAL = frozenset({"bridge", "dummy", "tun", "vxlan", "wireguard", "ipvlan", "macvlan", "ifb", "vrf"})


def render_ports(node: Node, linked: Collection[str], reasons: Reasons) -> list[RenderableType]:
    """A row per port; `linked` names netdevs that take part in a link and are always shown."""
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
        Column("address"),
        Column("driver", drop=1),
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
        (state, state_style(state == "up", state)),
        fact_text(netdev.mtu),
        fact_text(netdev.speed_mbps, rate_text),
        f"{addresses[0]}{more}" if addresses else "-",
        fact_text(netdev.driver),
    ]
