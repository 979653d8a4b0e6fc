"""Whether GPUDirect RDMA can work on a node, and what on its PCIe side breaks it. On GB10 there is none, by design.

Read from attributes, modules and bridges; nothing is registered or tried. Between GPUs alone nothing is judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fabricdoc.checks.platforms import functions_by_address, is_gb10
from fabricdoc.checks.ports import hcas_of, roce_ports
from fabricdoc.checks.wording import commands, of_nodes, plain, seen
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Gpu, Node
from fabricdoc.model.findings import Finding

NEAR = frozenset({"PIX", "PXB", "P2C", "C2C"})
"""Distances within NCCL_NET_GDR_LEVEL's default (PXB, P2C with C2C; graph/paths.cc)."""


def check_gpudirect(fabric: Fabric) -> tuple[Finding, ...]:
    """Host staging as a fact of GB10; elsewhere a missing module, ACS, IOMMU and far GPUs."""
    return of_nodes(fabric, host_staged, no_path, acs, iommu, far_gpus)


def gpus_of(node: Node) -> tuple[Gpu, ...]:
    """The GPUs that were read; none where they are unknown."""
    return () if isinstance(node.gpus, Unknown) else node.gpus


def direct_gpus(node: Node) -> list[Gpu]:
    """GPUs whose driver says that GPUDirect RDMA is supported, on a node with active HCAs that is no GB10."""
    if is_gb10(node) or not any(port.state == "ACTIVE" for hca in hcas_of(node) for port in hca.ports):
        return []
    return [gpu for gpu in gpus_of(node) if gpu.gpudirect_rdma is True]


def host_staged(node: Node) -> Iterator[Finding]:
    """GB10 with active ports, or another GPU that says no: information, never a fault."""
    none = [gpu for gpu in gpus_of(node) if gpu.gpudirect_rdma is False]
    if roce_ports(node) and none:
        yield Finding(
            id="gpudirect-not-available",
            severity="info",
            subject=node.name,
            evidence=seen(node, *(f"GPU {gpu.index} {plain(gpu.name)}: no GPUDirect RDMA" for gpu in none[:16])),
            cause="This GPU has no GPUDirect RDMA, so NCCL stages every message in host memory (host-staged): latency "
            "depends on the proxy thread and the CPU's clock, not on the wire alone.",
            fix=("nothing is wrong and nothing can be loaded: nvidia_peermem does not work here",),
        )


def no_path(node: Node) -> Iterator[Finding]:
    """GPUs that support GPUDirect, but neither DMA-BUF nor nvidia_peermem leads there."""
    modules = node.host.modules
    gpus = [gpu for gpu in direct_gpus(node) if gpu.dma_buf is False]
    if isinstance(modules, Unknown) or not gpus or "nvidia_peermem" in modules:
        return
    yield Finding(
        id="gpudirect-path-missing",
        severity="warning",
        subject=node.name,
        evidence=seen(
            node,
            *(f"GPU {gpu.index}: GPUDirect RDMA supported, DMA-BUF not" for gpu in gpus[:16]),
            "modules: no nvidia_peermem",
        ),
        cause="The GPUs support GPUDirect RDMA, but neither DMA-BUF nor nvidia_peermem gives the HCA their memory: "
        "NCCL says GPU Direct RDMA Disabled and stages through the host.",
        fix=(
            *commands(node, ["sudo", "modprobe", "nvidia_peermem"]),
            "or use the driver's open kernel modules, which bring DMA-BUF",
        ),
    )


def acs(node: Node) -> Iterator[Finding]:
    """ACS redirect on a bridge below a switch that a GPU and an HCA share: their traffic takes the way by the CPU."""
    functions = functions_by_address(node)
    gpus = [functions[str(gpu.pci)].upstream for gpu in direct_gpus(node) if str(gpu.pci) in functions]
    hit: dict[str, str] = {}
    for hca in hcas_of(node):
        path = functions[str(hca.pci)].upstream if str(hca.pci) in functions else ()
        for other in gpus:
            shared = set(path) & set(other)
            for bridge in set(path) ^ set(other) if shared else ():
                if bridge in functions and functions[bridge].acs is True:
                    hit.setdefault(bridge, hca.name)
    if hit:
        yield Finding(
            id="acs-breaks-gpudirect",
            severity="warning",
            subject=node.name,
            evidence=seen(node, *(f"{one}: ACS redirect on ({hit[one]} or its GPU)" for one in sorted(hit)[:16])),
            cause="GPU and HCA share a PCIe switch, but ACS on the bridges below it sends their traffic up to the CPU: "
            "GPUDirect RDMA becomes slow or fails with local protection errors (status 4).",
            fix=acs_off(node, sorted(hit)[:16]),
            confidence="likely",
        )


def acs_off(node: Node, bridges: Sequence[str]) -> tuple[str, ...]:
    """What ends ACS on the bridges."""
    return (
        f"on {node.name}: disable ACS in the BIOS, or on the bridges until the next boot:",
        *(f"sudo setpci -s {one} ECAP_ACS+0x6.w=0000" for one in bridges),
        "not inside a virtual machine, where ACS and ATS belong together",
    )


def iommu_passthrough(node: Node) -> tuple[str, str]:
    """What makes the IOMMU pass addresses of the host's own devices through."""
    return (
        f"on {node.name}: add iommu=pt to GRUB_CMDLINE_LINUX in /etc/default/grub",
        "sudo update-grub && sudo reboot",
    )


def iommu(node: Node) -> Iterator[Finding]:
    """An IOMMU that translates, on a node whose GPUs support GPUDirect."""
    if node.host.iommu == "translated" and (gpus := direct_gpus(node)):
        yield Finding(
            id="iommu-breaks-p2p",
            severity="warning",
            subject=node.name,
            evidence=seen(node, "IOMMU mode: translated", f"{len(gpus)} GPUs with GPUDirect RDMA"),
            cause="The IOMMU translates every address of a device, so traffic between HCA and GPU goes up to the CPU "
            "and back: GPUDirect RDMA is slow or fails.",
            fix=iommu_passthrough(node),
            confidence="likely",
        )


def far_gpus(node: Node) -> Iterator[Finding]:
    """Some GPUs have no HCA near enough for GPUDirect while others have one; where none has, it is how it is built."""
    near: dict[int, list[str]] = {gpu.index: [] for gpu in direct_gpus(node)}
    best: dict[int, str] = {}
    for path in node.gpu_paths:
        if path.gpu in near and path.path in NEAR:
            near[path.gpu].append(path.hca)
        best.setdefault(path.gpu, f"{path.hca} {path.path}")
    far = [gpu for gpu, hcas in near.items() if not hcas and gpu in best]
    if far and len(far) < len(near):
        yield Finding(
            id="gpu-far-from-hcas",
            severity="warning",
            subject=node.name,
            evidence=seen(node, *(f"GPU {gpu}: no HCA within PXB ({best[gpu]})" for gpu in far[:16])),
            cause="NCCL uses GPUDirect only up to distance PXB. These GPUs have no HCA that near, others on this node "
            "have: a NIC is missing or sits in the wrong slot, and these GPUs send through the host.",
            fix=(f"on {node.name}: nvidia-smi topo -m shows the paths; compare with a node that is right",),
            confidence="likely",
        )
