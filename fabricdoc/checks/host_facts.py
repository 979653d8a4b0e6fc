"""Driver, kernel, operating system, BIOS, governor and peer-memory module of the nodes, held against one another.

The odd one out is named (`majority`), among nodes that can be compared: of one architecture, of one product. Which
builds are known to be bad is judged elsewhere.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any, NamedTuple

from fabricdoc.checks.differences import Told, difference
from fabricdoc.checks.majority import Odd, split
from fabricdoc.model.documents import Fact, Unknown
from fabricdoc.model.fabric import Fabric, Node
from fabricdoc.model.findings import Finding


class HostFact(NamedTuple):
    """A fact of `Host` that nodes of one group are expected to share; `group` is the field that makes the group."""

    field: str
    told: Told
    group: str = ""


def check_host_facts(fabric: Fabric) -> tuple[Finding, ...]:
    """Driver, kernel, operating system, BIOS, governor and the peer-memory module, each among comparable nodes."""
    return tuple(
        difference(fact.told, found)
        for fact in HOST_FACTS
        for nodes in _grouped(fabric, fact.group)
        if (found := split((node.name, _host_fact(node, fact.field)) for node in nodes)) is not None
    )


def _grouped(fabric: Fabric, group: str) -> list[list[Node]]:
    if not group:
        return [list(fabric.nodes)]
    groups: dict[str, list[Node]] = defaultdict(list)
    for node in fabric.nodes:
        value = getattr(node.host, group)
        if isinstance(value, str):
            groups[value].append(node)
    return list(groups.values())


def _host_fact(node: Node, field: str) -> Any:
    return _peer_memory(node) if field == "modules" else getattr(node.host, field)


def _peer_memory(node: Node) -> Fact[str]:
    """Whether nvidia_peermem is loaded; no vote without discrete GPUs, and where DMA-BUF does the same."""
    gpus = () if isinstance(node.gpus, Unknown) else node.gpus
    if not gpus or isinstance(node.host.modules, Unknown):
        return Unknown(unknown="no GPU, or modules not read")
    if any(gpu.integrated is True or gpu.dma_buf is True for gpu in gpus):
        return Unknown(unknown="not needed here")
    return "loaded" if "nvidia_peermem" in node.host.modules else "not loaded"


def _same(what: str, why: str) -> Any:
    def lines(one: Odd[Any, Any]) -> tuple[str, ...]:
        return (f"on {one.key}: change {what} from {one.value} to {one.usual}, as on {one.like}{why}",)

    return lines


HOST_FACTS = (
    HostFact(
        "nvidia_driver",
        Told(
            "driver-differs-between-nodes",
            "warning",
            "NVIDIA driver (/sys/module/nvidia/version)",
            "Nodes of one job run different NVIDIA drivers: CUDA, NVML and the kernel side of GPUDirect then differ, "
            "and so may speed. Driver and kernel are released as a pair on GB10.",
            _same("the NVIDIA driver", ", and reboot"),
            ("install one NVIDIA driver on all nodes, and reboot those that changed",),
        ),
    ),
    HostFact(
        "kernel",
        Told(
            "kernel-differs-between-nodes",
            "warning",
            "kernel (uname -r)",
            "Nodes of one job run different kernels, so their RDMA stack and NIC driver differ too. Single builds have "
            "halved RoCE or lost the NIC, which shows as one slow or dead node.",
            _same("the kernel", ", and reboot"),
            ("boot one kernel on all nodes",),
        ),
        group="arch",
    ),
    HostFact(
        "os",
        Told(
            "os-differs-between-nodes",
            "info",
            "operating system (/etc/os-release)",
            "The nodes run different operating systems or releases. That is allowed; libraries and defaults differ.",
            _same("the release", " when it is convenient"),
            ("nothing has to be done; compare the libraries first when one node behaves differently",),
        ),
    ),
    HostFact(
        "bios",
        Told(
            "bios-differs-between-nodes",
            "info",
            "BIOS (DMI)",
            "Nodes of one product have different BIOS versions. BIOS decides PCIe widths and power: one before 2026-04 "
            "wired half of a GB10's network at x2.",
            _same("the BIOS", ""),
            ("bring the BIOS of the older node to the newer version",),
        ),
        group="product",
    ),
    HostFact(
        "governor",
        Told(
            "governor-differs-between-nodes",
            "info",
            "CPU frequency governor",
            "CPU clocks are governed differently. NCCL's proxy thread runs on the CPU, so the node that clocks down "
            "answers later and all ranks wait for it.",
            lambda one: (f"on {one.key}:", f"sudo cpupower frequency-set -g {one.usual}"),
            ("on both: sudo cpupower frequency-set -g performance",),
        ),
        group="arch",
    ),
    HostFact(
        "modules",
        Told(
            "peermem-differs-between-nodes",
            "warning",
            "nvidia_peermem (lsmod)",
            "GPUDirect RDMA needs nvidia_peermem where DMA-BUF is not used, and not all nodes have it: those without "
            "stage every message through host memory, and all ranks wait for them.",
            lambda one: (
                f"on {one.key}:",
                "sudo modprobe nvidia-peermem" if one.usual == "loaded" else "sudo modprobe -r nvidia-peermem",
            ),
            ("load nvidia_peermem on all nodes or on none",),
            "likely",
        ),
    ),
)
