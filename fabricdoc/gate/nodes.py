"""What must still be true of a node as a whole: that it answers, its identity, software and GPUs.

Torch and NCCL are those of the image that will serve where one is named and known, else of the node's python. Nothing
is loaded: a version is read from files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from fabricdoc.gate.compared import Compared, Outcome, compare
from fabricdoc.model.documents import Fact, Unknown
from fabricdoc.model.fabric import FailedNode, Gpu, Library, Node, ServerImage
from fabricdoc.model.preset import NodePrint

NOT_ASKED = "not asked"
GONE = "its namespace is gone"
NO_NCCL = "no libnccl.so.2 where a server started there would look"


def node_comparison(name: str, nodes: Mapping[str, Node], failed: Mapping[str, FailedNode]) -> Compared:
    """Whether the node was read, with the reason where not: it failed, or (unknown) was not asked.

    `note` is GONE for a node of this machine whose namespace has ended: such a one never answers again.
    """
    if name in nodes:
        return Compared("node", name, "", "answers", "answers", "ok")
    reason = failed[name].message if name in failed else NOT_ASKED
    note = GONE if name in failed and failed[name].id == "netns-gone" else ""
    outcome: Outcome = "failed" if name in failed else "unknown"
    return Compared("node", name, "", "answers", f"unknown: {reason}", outcome, note)


def fact_comparisons(printed: NodePrint, node: Node) -> list[Compared]:
    """Hostname, kernel, torch, NVIDIA driver and GPUs of one node; image and NCCL where they are recorded."""
    name, host = printed.name, node.host
    torch = node.image.torch if isinstance(node.image, ServerImage) else host.torch
    found = [
        compare("hostname", name, "", printed.hostname, host.hostname),
        compare("kernel", name, "", printed.kernel, host.kernel),
        compare("torch", name, "", printed.torch, torch, same=same_version),
        compare("nvidia-driver", name, "", printed.nvidia_driver, host.nvidia_driver),
        _gpus(printed, node.gpus),
    ]
    if isinstance(printed.image, str):
        now = node.image.id if isinstance(node.image, ServerImage) else node.image
        found.append(compare("image", name, "", printed.image, now, show=lambda id: id[:12]))
    if isinstance(printed.nccl, str):
        found.append(_nccl(printed, node))
    return found


def _nccl(printed: NodePrint, node: Node) -> Compared:
    """The version measured with must be among the builds that a server started here could load, as the same file.

    Files are only held together where both were hashed.
    """
    libraries = node.image.libnccl if isinstance(node.image, ServerImage) else node.host.libnccl
    now = _versions(libraries)
    found = compare("nccl-build", node.name, "", printed.nccl, now, same=_has_build)
    if found.outcome == "ok" and (other := _another_file(printed, libraries)):
        shown = f"{printed.nccl} ({str(printed.nccl_sha256)[:12]})"
        return replace(found, expected=shown, seen=other, outcome="differs", note="the same version, another file")
    others = found.outcome == "ok" and found.seen != found.expected
    return replace(found, note="there are others too") if others else found


def _another_file(printed: NodePrint, libraries: Fact[tuple[Library, ...]]) -> str:
    """The file now of the version measured with, where its hash is known to be another one; else empty."""
    if not isinstance(printed.nccl_sha256, str) or isinstance(libraries, Unknown):
        return ""
    builds = [one for one in libraries if isinstance(one.version, str) and _has_build(str(printed.nccl), one.version)]
    hashes = [one.sha256 for one in builds]
    if printed.nccl_sha256 in hashes or not hashes or not all(isinstance(one, str) for one in hashes):
        return ""
    return ", ".join(f"{one.version} ({str(one.sha256)[:12]})" for one in builds)


def _has_build(then: str, seen: str) -> bool:
    """NCCL's own text may name the CUDA it was built with (`2.30.7+cuda13.3`), torch's version does not."""
    return any(same_version(then, one) for one in seen.split(", "))


def _versions(libraries: Fact[tuple[Library, ...]]) -> Fact[str]:
    """The versions of every build that was found, the one found first first."""
    if isinstance(libraries, Unknown):
        return libraries
    versions = [one.version for one in libraries if not isinstance(one.version, Unknown)]
    unread = [one.version for one in libraries if isinstance(one.version, Unknown)]
    if versions:
        return ", ".join(dict.fromkeys(versions))
    return unread[0] if unread else Unknown(unknown=NO_NCCL)


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
