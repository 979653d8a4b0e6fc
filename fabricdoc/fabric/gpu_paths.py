"""How far each GPU is from each HCA, in the words of `nvidia-smi topo -m`, from the bridges above both.

PIX: at most one PCIe switch between them. PXB: several, below one root port. PHB: one host bridge (a root bus).
NODE: several of one NUMA node. SYS: between NUMA nodes. These are NVML's levels of topology; NVLink and C2C are not
looked at, and how NCCL weighs a path is NCCL's.
"""

from __future__ import annotations

import re
from itertools import takewhile

from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import GpuPath, NodeReport, PcieFunction

BUS = re.compile(r"([0-9a-f]{4,8}:[0-9a-f]{2}):[0-9a-f]{2}\.[0-7]")
MOST_PATHS = 1 << 16
MOST_BRIDGES = 64


def gpu_paths(node: NodeReport) -> tuple[GpuPath, ...]:
    """A path for every GPU and HCA of which the PCIe functions and the bridges above them are known.

    () where nothing is known, and for more than 65536 pairs, which no node has.
    """
    functions = {one.address: one for one in (() if isinstance(node.pcie, Unknown) else node.pcie)}
    hcas = () if isinstance(node.hcas, Unknown) else node.hcas
    gpus = () if isinstance(node.gpus, Unknown) else node.gpus
    if len(hcas) * len(gpus) > MOST_PATHS:
        return ()
    is_split = any(isinstance(one.numa_node, int) and one.numa_node > 0 for one in functions.values())
    near = [(hca.name, functions[hca.pci]) for hca in hcas if isinstance(hca.pci, str) and hca.pci in functions]
    far = [(gpu.index, functions[gpu.pci]) for gpu in gpus if isinstance(gpu.pci, str) and gpu.pci in functions]
    pairs = ((index, name, _path(gpu, hca, is_split)) for index, gpu in far for name, hca in near)
    return tuple(GpuPath(gpu=index, hca=name, path=path) for index, name, path in pairs if path)


def _path(one: PcieFunction, other: PcieFunction, is_split: bool) -> str:
    """The word for two functions, "" where it can't be told; `is_split` says that there are several NUMA nodes.

    No bridge above a function is unknown rather than none; more than 64 are no chain.
    """
    if not all(0 < len(end.upstream) <= MOST_BRIDGES for end in (one, other)):
        return ""
    together = zip(one.upstream, other.upstream, strict=False)
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], together))
    if shared:
        below = max(len(one.upstream), len(other.upstream)) - shared
        return "PIX" if below <= 1 else "PXB"
    buses = BUS.fullmatch(one.upstream[0]), BUS.fullmatch(other.upstream[0])
    if buses[0] is None or buses[1] is None:
        return ""
    return "PHB" if buses[0][1] == buses[1][1] else _between_host_bridges(one, other, is_split)


def _between_host_bridges(one: PcieFunction, other: PcieFunction, is_split: bool) -> str:
    """NODE or SYS by NUMA node; two functions of no node (-1) share it where no function names a second one."""
    nodes = one.numa_node, other.numa_node
    if isinstance(nodes[0], Unknown) or isinstance(nodes[1], Unknown):
        return ""
    if nodes[0] == nodes[1]:
        return "NODE" if nodes[0] >= 0 or not is_split else ""
    return "SYS" if min(nodes[0], nodes[1]) >= 0 else ""
