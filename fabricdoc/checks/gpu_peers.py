"""What on the PCIe side breaks peer access between the GPUs of one node, where they have no NVLink.

GPUs with NVLink exchange over it, and PCIe does not matter between them. Where NVML does not say, nothing is judged.
HCAs and GPUs are `gpudirect`'s.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from fabricdoc.checks.gpudirect import acs_off, direct_gpus, gpus_of, iommu_passthrough
from fabricdoc.checks.platforms import functions_by_address
from fabricdoc.checks.ports import hcas_of
from fabricdoc.checks.wording import of_nodes, seen
from fabricdoc.model.fabric import Fabric, Gpu, Node
from fabricdoc.model.findings import Finding


def check_gpu_peers(fabric: Fabric) -> tuple[Finding, ...]:
    """ACS between GPUs below one switch, and an IOMMU that translates, on nodes with HCAs."""
    return of_nodes(fabric, acs, iommu)


def pcie_gpus(node: Node) -> list[Gpu]:
    """The GPUs that reach one another over PCIe only, where there are several."""
    found = [gpu for gpu in gpus_of(node) if gpu.nvlinks == 0] if hcas_of(node) else []
    return found if len(found) > 1 else []


def acs(node: Node) -> Iterator[Finding]:
    """ACS redirect on a bridge between two GPUs and the switch that both are below."""
    functions = functions_by_address(node)
    paths = {gpu.index: functions[str(gpu.pci)].upstream for gpu in pcie_gpus(node) if str(gpu.pci) in functions}
    hit: dict[str, tuple[int, int]] = {}
    for (one, path), (other, way) in combinations(paths.items(), 2):
        for bridge in set(path) ^ set(way) if set(path) & set(way) else ():
            if bridge in functions and functions[bridge].acs is True:
                hit.setdefault(bridge, (one, other))
    if hit:
        yield Finding(
            id="acs-breaks-p2p",
            severity="warning",
            subject=node.name,
            evidence=seen(
                node,
                *(f"{at}: ACS redirect on, between GPU {hit[at][0]} and GPU {hit[at][1]}" for at in sorted(hit)[:14]),
                f"no NVLink: GPU {', '.join(map(str, paths))}",
            ),
            cause="GPUs without NVLink share a PCIe switch, but ACS on the bridges below it sends their traffic up to "
            "the CPU: peer access becomes slow, hangs or corrupts data, and NCCL inside the node with it.",
            fix=acs_off(node, sorted(hit)[:16]),
            confidence="likely",
        )


def iommu(node: Node) -> Iterator[Finding]:
    """An IOMMU that translates between GPUs; with GPUDirect RDMA `gpudirect` tells it already."""
    gpus = pcie_gpus(node)
    if node.host.iommu == "translated" and gpus and not direct_gpus(node):
        yield Finding(
            id="iommu-breaks-p2p",
            severity="warning",
            subject=node.name,
            evidence=seen(
                node, "IOMMU mode: translated", f"no NVLink: GPU {', '.join(str(one.index) for one in gpus)}"
            ),
            cause="The IOMMU translates every address of a device, so what GPUs without NVLink send one another goes "
            "up to the CPU and back: peer access is slow, hangs or fails.",
            fix=(
                *iommu_passthrough(node),
                "or, where that can't be: export NCCL_P2P_DISABLE=1 on all ranks of this node",
            ),
            confidence="possible",
        )
