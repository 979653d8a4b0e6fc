"""The software of the nodes held against one another: NCCL, its plugins, driver, kernel, system, BIOS, governor.

The odd one out is named (`majority`). What is good or bad in itself is judged elsewhere. A probe sees the libraries
of its own place: those of the host, or of the image where it ran in a container.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from fabricdoc.checks.differences import Told, difference
from fabricdoc.checks.majority import Odd, split
from fabricdoc.model.documents import Fact, Unknown
from fabricdoc.model.fabric import Fabric, Library, Node
from fabricdoc.model.findings import Finding, Severity

NO_NCCL = Unknown(unknown="no libnccl with a version")
SHOWN_HASH = 12


def check_builds(fabric: Fabric) -> tuple[Finding, ...]:
    """One finding for each kind of software in which the nodes are not alike."""
    return (*nccl_versions(fabric), *nccl_files(fabric), *plugins(fabric), *host_facts(fabric))


def nccl_versions(fabric: Fabric) -> Iterator[Finding]:
    """nccl-version-mismatch: an error inside images (the server's own library), a warning on hosts.

    Since 2.23.4 NCCL refuses ranks of different versions, before that they hang or read truncated messages.
    """
    found = split((node.name, nccl_version(node)) for node in fabric.nodes)
    if found is not None:
        inside = all(_in_container(node) for node in fabric.nodes)
        yield difference(_nccl_told(fabric, "error" if inside else "warning"), found)


def nccl_version(node: Node) -> Fact[tuple[str, ...]]:
    """Every version of libnccl that is on the node, in the loader's order and once each."""
    versions = tuple(dict.fromkeys(one.version for one in _libraries(node) if isinstance(one.version, str)))
    return versions or NO_NCCL


def _libraries(node: Node) -> tuple[Library, ...]:
    return () if isinstance(node.host.libnccl, Unknown) else node.host.libnccl


def _in_container(node: Node) -> bool:
    return isinstance(node.container.kind, str) and node.container.kind != "none"


def _nccl_told(fabric: Fabric, severity: Severity) -> Told:
    paths = {node.name: [one.path for one in _libraries(node)] for node in fabric.nodes}
    return Told(
        "nccl-version-mismatch",
        severity,
        "NCCL (libnccl.so.2)",
        "Ranks of one job must load one version of NCCL: with two, 2.23.4 and newer refuse to start, older ones hang "
        "or report truncated messages. What counts is the library in the server's own place, an image or a python.",
        lambda one: (
            f"on {one.key}: install NCCL {' and '.join(one.usual)} in place of {', '.join(paths[one.key][:4])}",
            f"or start the server on {one.key} from the image that the other nodes use",
        ),
        ("install one version of NCCL on all nodes, or start the server from one image everywhere",),
        "certain" if severity == "error" else "likely",
        " and ".join,
    )


def nccl_files(fabric: Fabric) -> Iterator[Finding]:
    """nccl-build-differs: one version, yet other files, among nodes of one architecture."""
    alike: dict[Hashable, list[Node]] = defaultdict(list)
    for node in fabric.nodes:
        version = nccl_version(node)
        if not isinstance(version, Unknown) and isinstance(node.host.arch, str):
            alike[node.host.arch, version].append(node)
    for nodes in alike.values():
        found = split((node.name, _hashes(node)) for node in nodes)
        if found is not None:
            yield difference(_FILES, found)


def _hashes(node: Node) -> Fact[tuple[str, ...]]:
    hashes = tuple(one.sha256[:SHOWN_HASH] for one in _libraries(node) if isinstance(one.sha256, str))
    return hashes if hashes and len(hashes) == len(_libraries(node)) else Unknown(unknown="a libnccl was not hashed")


_FILES = Told(
    "nccl-build-differs",
    "warning",
    "SHA-256 of libnccl.so.2",
    "The nodes have one version of NCCL in different builds. Builds of one number do behave differently: a wheel and "
    "a package of 2.28.9 did (vLLM issues 41725, 42354), and a development build ran at 3 instead of 24 GB/s.",
    lambda one: (f"on {one.key}: take the libnccl.so.2 of {one.like}, or one image for all nodes",),
    ("install NCCL from one source on all nodes, or use one image",),
    "possible",
    " and ".join,
)


def plugins(fabric: Fabric) -> Iterator[Finding]:
    """net-plugin-mismatch-between-nodes: a network plugin NCCL would load on some of the nodes only."""
    found = split((node.name, net_plugins(node)) for node in fabric.nodes)
    if found is not None:
        inside = all(_in_container(node) for node in fabric.nodes)
        yield difference(_PLUGINS._replace(severity="error" if inside else "warning"), found)


def net_plugins(node: Node) -> Fact[tuple[str, ...]]:
    """File names of the network plugins on the loader's way, sorted; no vote where NCCL_NET_PLUGIN is set."""
    if isinstance(node.host.nccl_plugins, Unknown):
        return node.host.nccl_plugins
    if "NCCL_NET_PLUGIN" in node.host.environment:
        return Unknown(unknown="NCCL_NET_PLUGIN decides")
    names = (PurePosixPath(one.path).name for one in node.host.nccl_plugins)
    return tuple(sorted({name for name in names if name.startswith("libnccl-net")}))


_PLUGINS = Told(
    "net-plugin-mismatch-between-nodes",
    "warning",
    "network plugins of NCCL",
    "NCCL loads libnccl-net.so by itself where it finds one. A plugin and NCCL's own transport (or two plugins) speak "
    "different protocols: pairs of ranks with different ones hang without an error.",
    lambda one: (
        f"put on {one.key} what the others have ({', '.join(one.usual) or 'no plugin'})",
        "or on every rank: export NCCL_NET_PLUGIN=none",
    ),
    ("on every rank: export NCCL_NET_PLUGIN=none", "or install the same plugin on all nodes"),
    "likely",
    lambda names: ", ".join(names) or "none",
)


class HostFact(NamedTuple):
    """A fact of `Host` that nodes of one group are expected to share; `group` is the field that makes the group."""

    field: str
    told: Told
    group: str = ""


def host_facts(fabric: Fabric) -> Iterator[Finding]:
    """Driver, kernel, operating system, BIOS, governor and the peer-memory module, each among comparable nodes."""
    for fact in HOST_FACTS:
        for nodes in _grouped(fabric, fact.group):
            found = split((node.name, _host_fact(node, fact.field)) for node in nodes)
            if found is not None:
                yield difference(fact.told, found)


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
