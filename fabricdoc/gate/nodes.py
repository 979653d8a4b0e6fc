"""What must still be true of a node as a whole: that it answers, its identity, software and GPUs.

The NCCL build is not among them: a scan starts no torch, so only torch's version stands for it here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from fabricdoc.gate.compared import Compared, compare
from fabricdoc.model.documents import Fact, Unknown
from fabricdoc.model.fabric import FailedNode, Gpu, Node
from fabricdoc.model.preset import NodePrint

NOT_ASKED = "not asked"
GONE = "its namespace is gone"


def node_comparison(name: str, nodes: Mapping[str, Node], failed: Mapping[str, FailedNode]) -> Compared:
    """Whether the node was read; a node that failed or was not asked is unknown, with the reason.

    `note` is GONE for a node of this machine whose namespace has ended: such a one never answers again.
    """
    if name in nodes:
        return Compared("node", name, "", "answers", "answers", "ok")
    reason = failed[name].message if name in failed else NOT_ASKED
    note = GONE if name in failed and failed[name].id == "netns-gone" else ""
    return Compared("node", name, "", "answers", f"unknown: {reason}", "unknown", note)


def fact_comparisons(printed: NodePrint, node: Node) -> list[Compared]:
    """Hostname, kernel, torch, NVIDIA driver and GPUs of one node."""
    name, host = printed.name, node.host
    return [
        compare("hostname", name, "", printed.hostname, host.hostname),
        compare("kernel", name, "", printed.kernel, host.kernel),
        compare("torch", name, "", printed.torch, host.torch, same=same_version),
        compare("nvidia-driver", name, "", printed.nvidia_driver, host.nvidia_driver),
        _gpus(printed, node.gpus),
    ]


def same_version(then: str, now: str) -> bool:
    """Whether two versions are the same build; package metadata may lack the local part (`+cu130`) torch reports."""
    if "+" in then and "+" in now:
        return then == now
    return then.partition("+")[0] == now.partition("+")[0]


def _gpus(printed: NodePrint, gpus: Fact[tuple[Gpu, ...]]) -> Compared:
    """GPUs by UUID where the fingerprint holds UUIDs, else by name; in any order, with their number."""
    if isinstance(gpus, Unknown):
        if not printed.gpus:
            return Compared("gpus", printed.name, "", "none", "none", "ok", f"none seen then; now {gpus.unknown}")
        return compare("gpus", printed.name, "", _counted(printed.gpus), gpus)
    if gpus and not printed.gpus:
        seen = _counted(tuple(fact for fact in (gpu.name for gpu in gpus) if isinstance(fact, str)))
        return Compared("gpus", printed.name, "", "none", seen, "unknown", "none were recorded when measured")
    by_uuid = bool(printed.gpus) and all(text.startswith("GPU-") for text in printed.gpus)
    facts = [gpu.uuid if by_uuid else gpu.name for gpu in gpus]
    unread = [fact for fact in facts if isinstance(fact, Unknown)]
    now: Fact[str] = unread[0] if unread else _counted(tuple(fact for fact in facts if isinstance(fact, str)))
    return compare("gpus", printed.name, "", _counted(printed.gpus), now)


def _counted(names: tuple[str, ...]) -> str:
    counts = sorted(Counter(names).items())
    return ", ".join(f"{count} x {name}" for name, count in counts) or "none"
