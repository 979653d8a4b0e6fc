"""How a node's RDMA ports sort traffic, in one line for ports that do it alike: trust, PFC, ECN.

Shows only what was read: a port whose driver has no such settings gets no line. Judges nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricdoc.model.documents import Fact, Unknown
from fabricdoc.model.fabric import Node, Qos
from fabricdoc.report.cells import DIM, indent, line

if TYPE_CHECKING:
    from rich.console import RenderableType


def render_qos(node: Node) -> list[RenderableType]:
    """`QoS   trust dscp, PFC on 3, ECN on 3` per group of equal ports; the ports are named when groups differ."""
    groups: dict[str, list[str]] = {}
    for netdev in () if isinstance(node.netdevs, Unknown) else node.netdevs:
        words = "" if isinstance(netdev.qos, Unknown) else qos_text(netdev.qos)
        if words:
            groups.setdefault(words, []).append(netdev.name)
    return [
        indent(line(("QoS   ", DIM), words, (f"  on {', '.join(names)}" if len(groups) > 1 else "", DIM)))
        for words, names in groups.items()
    ]


def qos_text(qos: Qos) -> str:
    """The settings in words; empty where none was read."""
    parts = [f"trust {qos.trust}"] if isinstance(qos.trust, str) else []
    parts += _by_priority("PFC", qos.pfc)
    parts += _by_priority("ECN", qos.ecn_np)
    if qos.pause_rx is True or qos.pause_tx is True:
        parts.append("global pause")
    return ", ".join(parts)


def _by_priority(name: str, fact: Fact[tuple[bool, ...]]) -> list[str]:
    """`PFC on 3`, `PFC off`, or nothing where it was not read."""
    if isinstance(fact, Unknown):
        return []
    on = [str(priority) for priority, enabled in enumerate(fact) if enabled]
    return [f"{name} on {','.join(on)}" if on else f"{name} off"]
