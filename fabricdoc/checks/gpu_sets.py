"""How many GPUs of which model each node has, held against one another. How a GPU does is judged elsewhere."""

from __future__ import annotations

from collections import Counter

from fabricdoc.checks.differences import Told, difference
from fabricdoc.checks.majority import split
from fabricdoc.model.documents import Fact, Unknown
from fabricdoc.model.fabric import Fabric, Node
from fabricdoc.model.findings import Finding

Models = tuple[tuple[str, int], ...]


def check_gpu_sets(fabric: Fabric) -> tuple[Finding, ...]:
    """gpu-sets-differ-between-nodes: a GPU less than on the others has fallen off its bus, or was never seen.

    Nodes without any GPU (a head node) have no vote.
    """
    found = split((node.name, models(node)) for node in fabric.nodes)
    return () if found is None else (difference(_TOLD, found),)


def models(node: Node) -> Fact[Models]:
    """The node's GPUs by model; unknown without one, or where a name was not read."""
    if isinstance(node.gpus, Unknown):
        return node.gpus
    names = [gpu.name for gpu in node.gpus if isinstance(gpu.name, str)]
    if not names or len(names) < len(node.gpus):
        return Unknown(unknown="no GPU, or one without a name")
    return tuple(sorted(Counter(names).items()))


def _show(found: Models) -> str:
    return ", ".join(f"{count} x {name}" for name, count in found)


_TOLD = Told(
    "gpu-sets-differ-between-nodes",
    "warning",
    "GPUs",
    "The nodes have different GPUs. Where one has fewer than the others, a GPU fell off its bus or the driver did not "
    "take it; a job of equal ranks per node then fails there, or runs at the pace of the slowest model.",
    lambda one: (f"on {one.key}:", "nvidia-smi -L", "sudo dmesg | grep -i -e xid -e nvrm"),
    ("compare on both nodes: nvidia-smi -L", "and look for lost GPUs: sudo dmesg | grep -i -e xid -e nvrm"),
    show=_show,
)
