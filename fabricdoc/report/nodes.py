"""A node for people: what it runs, its GPUs, its HCAs, its ports; unknown facts as `?` with the reason below.

Shows what the scan reported. Judges nothing: what is wrong comes from findings.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from fabricdoc.model.documents import Fact, Unknown
from fabricdoc.model.fabric import FailedNode, Gpu, Node
from fabricdoc.report.cells import BAD, BOLD, DIM, WARN, Words, indent, line
from fabricdoc.report.findings import render_fix
from fabricdoc.report.hcas import render_hcas
from fabricdoc.report.ports import render_ports
from fabricdoc.report.reasons import Reasons
from fabricdoc.report.text import UNKNOWN, fact_text, size_text

if TYPE_CHECKING:
    from rich.console import RenderableType


def render_node(node: Node, linked: Collection[str] = ()) -> list[RenderableType]:
    """One node; `linked` names netdevs that take part in a link and are always shown."""
    reasons = Reasons()
    head = line((node.name, BOLD), *((f"  {node.target}", DIM),) if node.target != node.name else ())
    body: list[RenderableType] = [line(*_host(node, reasons)), line(*_gpus(node.gpus))]
    return [
        head,
        *(indent(part) for part in body),
        *render_hcas(node.hcas, reasons),
        *render_ports(node, linked, reasons),
        *reasons.lines(),
    ]


def render_failed(node: FailedNode) -> list[RenderableType]:
    """A node that could not be read: why, and what to do."""
    why = node.message.removeprefix(f"{node.name}: ")
    head = line((node.name, BOLD), (f"  {node.target}", DIM), "  ", (f"could not be read: {why}", BAD))
    return [head, *render_fix([node.fix] if node.fix else [], by=2)]


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
