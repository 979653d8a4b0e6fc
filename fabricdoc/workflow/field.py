"""Where a bench stands: the backend, the rails, what candidates are chosen for, the rendezvous.

From a looked-at fabric and agents that said hello; asks nobody.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fabricdoc.bench import Ground, best_first, gpu_direct_of
from fabricdoc.checks import is_gb10
from fabricdoc.errors import InconclusiveError, NodeError
from fabricdoc.fabric import Rail, rails_of
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Node
from fabricdoc.model.run import Backend
from fabricdoc.workflow.readiness import Hello, refuse_few_gpus, refuse_mixed_nccl
from fabricdoc.workflow.requests import Request, refuse_without_nccl


@dataclass(frozen=True)
class Field:
    """What candidates are chosen from: the backend, the rails (base's first), the ground, the nodes by name."""

    backend: Backend
    rails: tuple[Rail, ...]
    ground: Ground
    names: tuple[str, ...]


def field_of(request: Request, fabric: Fabric, hello: Hello) -> Field:
    """Where the bench stands. Raises NodeError for mixed NCCL builds and for fewer GPUs than ranks."""
    backend = choose_backend(request.backend, hello)
    if backend == "gloo":
        refuse_without_nccl(request)
    rails = rails_of(fabric)
    rails = best_first(rails, fabric) if request.weighs_rails else rails
    names = tuple(node.name for node in fabric.nodes)
    with_hcas = bool(rails) and all(port.hca for rail in rails for port in rail.ports)
    platforms = ("gb10",) if fabric.nodes and all(is_gb10(node) for node in fabric.nodes) else ()
    if backend == "gloo":
        return Field(backend, rails, Ground(nodes=names, rails=len(rails), platforms=platforms), names)
    refuse_mixed_nccl(hello)
    refuse_few_gpus(hello, request.ranks_per_node)
    ground = Ground(
        nodes=names,
        nccl=tuple(dict.fromkeys(str(said.get("nccl") or "") for said in hello.values())),
        rails=len(rails),
        network="ib" if with_hcas else "socket",
        platforms=platforms,
        gpu_direct=gpu_direct_of(fabric.nodes, platforms, with_hcas=with_hcas),
    )
    return Field(backend, rails, ground, names)


def choose_backend(wanted: str, hello: Hello) -> Backend:
    """nccl where every node has a GPU and an NCCL torch, else gloo; a wanted nccl that can't run is an error."""
    without = [n for n, h in hello.items() if int(h.get("gpus") or 0) < 1 or "nccl" not in h.get("backends", ())]
    if wanted == "nccl" and without:
        told = "; ".join(f"{name}: {_why_no_nccl(hello[name])}" for name in without)
        raise NodeError(
            f"no NCCL on {', '.join(without)} ({told})",
            fix="name a python whose torch has CUDA with --python, or measure with --backend gloo",
            id="nccl-unavailable",
        )
    if wanted == "gloo" or (wanted == "auto" and without):
        return "gloo"
    return "nccl"


def _why_no_nccl(said: Mapping[str, Any]) -> str:
    if "nccl" not in said.get("backends", ()):
        return f"torch {said.get('torch')} has no NCCL (backends: {', '.join(said.get('backends', ())) or 'none'})"
    return "the NVIDIA driver shows no GPU"


def master_of(rails: Sequence[Rail], first: str) -> str:
    """Where the ranks meet: the first node's address on its first rail; InconclusiveError where it has none."""
    ip = rails[0].port(first).ip if rails else None
    if ip is None:
        raise InconclusiveError(
            f"{first} has no IPv4 address on its first proven link", fix="name one with --master-addr", id="no-master"
        )
    return ip


def has_unified_memory(node: Node) -> bool:
    """Whether a GPU of the node has no memory of its own (GB10: NVML then knows no memory size)."""
    gpus = () if isinstance(node.gpus, Unknown) else node.gpus
    return any(isinstance(gpu.memory_bytes, Unknown) for gpu in gpus)
