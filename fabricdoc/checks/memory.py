"""Whether a node has the memory that NCCL needs: free memory and /dev/shm. Locked memory is `access`'s.

Only nodes with HCAs are judged, and free memory only where GPUs are: a laptop or a CI machine is no node of a fabric.
"""

from __future__ import annotations

from collections.abc import Iterator

from fabricdoc.checks.gpudirect import gpus_of
from fabricdoc.checks.limits import limit, preset
from fabricdoc.checks.platforms import is_gb10
from fabricdoc.checks.ports import hcas_of
from fabricdoc.checks.wording import commands, of_nodes, seen
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Node
from fabricdoc.model.findings import Finding, Severity

MIB = 1 << 20
GIB = 1 << 30


def check_memory(fabric: Fabric) -> tuple[Finding, ...]:
    """Little free memory and a small /dev/shm."""
    return of_nodes(fabric, small_shm, little_memory)


def small_shm(node: Node) -> Iterator[Finding]:
    """A /dev/shm below what the ranks of a server need; Docker's default is 64 MiB."""
    size, needed = node.host.shm_bytes, limit("memory", "shm_mib") * MIB
    if isinstance(size, Unknown) or size >= needed or not hcas_of(node):
        return
    inside = node.container.kind != "none"
    yield Finding(
        id="dev-shm-too-small",
        severity="warning",
        subject=node.name,
        evidence=seen(node, f"/dev/shm {size / MIB:.0f} MiB, wanted {needed / MIB:.0f} MiB"),
        cause="NCCL keeps buffers between a node's processes in /dev/shm. Where it is full, ranks fail at start with "
        "'No space left on device' or die later with a bus error.",
        fix=("start the container with --ipc=host, or with --shm-size=8g (emptyDir with medium: Memory in Kubernetes)",)
        if inside
        else commands(node, ["sudo", "mount", "-o", "remount,size=8G", "/dev/shm"]),
    )


def little_memory(node: Node) -> Iterator[Finding]:
    """Less free memory than a launch has to leave; information where processes on the GPU explain it."""
    free = node.host.memory_available
    if isinstance(free, Unknown) or not hcas_of(node) or not gpus_of(node):
        return
    shared = is_gb10(node) or any(gpu.integrated is True for gpu in gpus_of(node))
    kept = float(preset("platforms", "memory")["unified" if shared else "separate"]["after_launch"])
    needed = kept + (limit("memory", "group_gib") if shared else 0)
    if free / GIB >= needed:
        return
    used = any(not isinstance(gpu.processes, Unknown) and gpu.processes for gpu in gpus_of(node))
    severity: Severity = "info" if used else "warning"
    yield Finding(
        id="memory-available-low",
        severity=severity,
        subject=node.name,
        evidence=seen(node, f"MemAvailable {free / GIB:.1f} GiB, wanted {needed:.1f} GiB"),
        cause="The GPU takes its memory from the same pool, and page cache counts against it: loading a model or "
        "measuring now may freeze the node."
        if shared
        else "A rank that starts now may be ended by the kernel for want of memory.",
        fix=(
            f"on {node.name}: end what is not needed, then see free -h",
            *(("sync; echo 3 | sudo tee /proc/sys/vm/drop_caches",) if shared else ()),
        ),
    )
