"""A node for people: what it runs, its GPUs, its HCAs, its ports; unknown facts as `?` with the reason below.

Shows what the scan reported. Judges nothing: what is wrong comes from findings.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from fabricdoc.model.documents import NOT_READ, Fact, Unknown
from fabricdoc.model.fabric import FailedNode, Gpu, Node, ServerImage
from fabricdoc.report.cells import BAD, BOLD, DIM, WARN, Words, indent, line
from fabricdoc.report.counters import render_grown
from fabricdoc.report.findings import render_fix
from fabricdoc.report.hcas import render_hcas
from fabricdoc.report.ports import render_ports
from fabricdoc.report.qos import render_qos
from fabricdoc.report.reasons import Reasons
from fabricdoc.report.text import UNKNOWN, counted, fact_text, size_text

if TYPE_CHECKING:
    from rich.console import RenderableType


def render_node(node: Node, linked: Collection[str] = ()) -> list[RenderableType]:
    """One node; `linked` names netdevs that take part in a link and are always shown."""
    reasons = Reasons()
    head = line((node.name, BOLD), *((f"  {node.target}", DIM),) if node.target != node.name else ())
    body: list[RenderableType] = [line(*_host(node, reasons)), *_image(node), line(*_gpus(node.gpus))]
    return [
        head,
        *(indent(part) for part in body),
        *render_hcas(node, reasons),
        *render_ports(node, linked, reasons),
        *render_qos(node),
        *render_grown(node),
        *reasons.lines(),
    ]


def render_failed(node: FailedNode, *, was_read: bool = False) -> list[RenderableType]:
    """A node that could not be read, or that was and failed while cables were proven: why, and what to do."""
    why = node.message.removeprefix(f"{node.name}: ")
    what = "failed while cables were proven" if was_read else "could not be read"
    head = line((node.name, BOLD), (f"  {node.target}", DIM), "  ", (f"{what}: {why}", BAD))
    return [head, *render_fix([node.fix] if node.fix else [], by=2)]


def _host(node: Node, reasons: Reasons) -> list[Words]:
    """The host line; unknown versions are left to the reasons."""
    host = node.host
    facts = (("", host.os), ("kernel ", host.kernel), ("", host.arch), ("python ", host.python), ("torch ", host.torch))
    for label, fact in facts:
        reasons.note(fact, label.strip() or "os")
    known = [f"{label}{fact}" for label, fact in facts if not isinstance(fact, Unknown)]
    known += [f"NCCL {version}" for version in nccl_versions(node)]
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
        words = f"{fact_text(gpu.name)}{memory}{_direct(gpu)}"
        groups[words] = groups.get(words, 0) + 1
    driven = ", ".join(f"{count} x {words}" for words, count in groups.items())
    users = {pid for gpu in gpus if not isinstance(gpu.processes, Unknown) for pid in gpu.processes}
    return [
        ("GPU   ", DIM),
        driven or "none",
        *([(f", in use by {counted(len(users), 'process', 'processes')}", WARN)] if users else []),
    ]


def _image(node: Node) -> list[RenderableType]:
    """The image the node's server runs from, with what is inside; no line where none is named."""
    if node.image == NOT_READ:
        return []
    if isinstance(node.image, Unknown):
        return [line(("image ", DIM), (f"unknown: {node.image.unknown}", WARN))]
    found = () if isinstance(node.image.libnccl, Unknown) else node.image.libnccl
    parts = [f"NCCL {one.version}" for one in found if isinstance(one.version, str)]
    parts += [f"{label} {fact}" for label, fact in _inside(node.image) if isinstance(fact, str)]
    parts += ["no libibverbs: NCCL would use TCP"] if isinstance(node.image.libibverbs, Unknown) else []
    return [line(("image ", DIM), ", ".join([node.image.name, *parts]))]


def _inside(image: ServerImage) -> tuple[tuple[str, Fact[str]], ...]:
    return (("torch", image.torch), ("python", image.python))


def _direct(gpu: Gpu) -> str:
    """How RDMA reaches its memory, where the CUDA driver says; a part without GPUDirect is host-staged, no failure."""
    if gpu.gpudirect_rdma is False and gpu.dma_buf is not True:
        return ", no GPUDirect: host-staged"
    return ", GPUDirect" if gpu.gpudirect_rdma is True or gpu.dma_buf is True else ""


def nccl_versions(node: Node) -> list[str]:
    """The versions of the NCCL libraries a process started here would find, each once, in that order."""
    found = () if isinstance(node.host.libnccl, Unknown) else node.host.libnccl
    return list(dict.fromkeys(one.version for one in found if isinstance(one.version, str)))
