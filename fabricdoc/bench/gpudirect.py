"""Whether the HCAs of a scanned fabric can reach GPU memory, as NCCL will decide it: by DMA-BUF or by nvidia_peermem.

From the CUDA attributes 116 and 124 and the loaded modules (NCCL transport/net_ib/gdr.cc). Tries nothing, registers
nothing; a fact that could not be read closes the way, with its reason.
"""

from __future__ import annotations

from collections.abc import Sequence

from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Gpu, Node

WAYS = ("any", "dmabuf", "peermem")
BY_DESIGN = "GB10 has none by design: every message is staged in host memory, and nothing is missing"


def gpu_direct_of(nodes: Sequence[Node], platforms: Sequence[str], *, with_hcas: bool) -> dict[str, str]:
    """For each way of GPUDirect RDMA the reason why it is not open on all nodes, "" where it is.

    `platforms` are those of the nodes ("gb10"), `with_hcas` says that every rail has an HCA.
    """
    if not with_hcas:
        return dict.fromkeys(WAYS, "the rails have no HCA")
    if "gb10" in platforms:
        return dict.fromkeys(WAYS, BY_DESIGN)
    no_gpu = next((reason for node in nodes if (reason := _closed_gpu(node))), "")
    dmabuf = no_gpu or next((reason for node in nodes if (reason := _no_dmabuf(node))), "")
    peermem = no_gpu or next((reason for node in nodes if (reason := _no_peermem(node))), "")
    either = no_gpu or next((_no_dmabuf(node) for node in nodes if _no_dmabuf(node) and _no_peermem(node)), "")
    return {"any": either, "dmabuf": dmabuf, "peermem": peermem}


def _gpus(node: Node) -> tuple[Gpu, ...]:
    return () if isinstance(node.gpus, Unknown) else node.gpus


def _closed_gpu(node: Node) -> str:
    if not _gpus(node):
        return f"{node.name}: no GPU was read"
    for gpu in _gpus(node):
        if gpu.gpudirect_rdma is False:
            return f"{node.name}: GPU {gpu.index} says that it has none (CUDA attribute 116 is 0)"
        if isinstance(gpu.gpudirect_rdma, Unknown):
            return f"{node.name}: whether GPU {gpu.index} has it is unknown: {gpu.gpudirect_rdma.unknown}"
    return ""


def _no_dmabuf(node: Node) -> str:
    for gpu in _gpus(node):
        if isinstance(gpu.dma_buf, Unknown):
            return f"{node.name}: whether GPU {gpu.index} has DMA-BUF is unknown: {gpu.dma_buf.unknown}"
        if gpu.dma_buf is False:
            return f"{node.name}: GPU {gpu.index} has no DMA-BUF (CUDA attribute 124 is 0)"
    return ""


def _no_peermem(node: Node) -> str:
    modules = node.host.modules
    if isinstance(modules, Unknown):
        return f"{node.name}: whether nvidia_peermem is loaded is unknown: {modules.unknown}"
    return "" if "nvidia_peermem" in modules else f"{node.name}: nvidia_peermem is not loaded"
