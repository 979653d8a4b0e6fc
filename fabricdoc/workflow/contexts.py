"""What each node is while it is measured: the material of the fingerprint, and what a resumed run is held against."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fabricdoc.export import values_in
from fabricdoc.model.documents import Fact, Unknown
from fabricdoc.model.fabric import Fabric, Node
from fabricdoc.model.host import ServerImage
from fabricdoc.model.run import NodeContext
from fabricdoc.transport import NodeSpec
from fabricdoc.workflow.readiness import Hello


def contexts(specs: Sequence[NodeSpec], fabric: Fabric, hello: Hello) -> tuple[NodeContext, ...]:
    """What each node is now: the material of the fingerprint, and what a resumed run is held against."""
    pythons = {spec.name: spec.python for spec in specs}
    return tuple(_context(node, pythons[node.name], hello[node.name]) for node in fabric.nodes)


def _context(node: Node, python: str, hello: Mapping[str, Any]) -> NodeContext:
    gpus = () if isinstance(node.gpus, Unknown) else node.gpus
    nccl: Fact[str] = str(hello["nccl"]) if hello.get("nccl") else Unknown(unknown="this torch has no NCCL")
    return NodeContext(
        name=node.name,
        target=node.target,
        python=python,
        hostname=node.host.hostname,
        kernel=node.host.kernel,
        torch=str(hello["torch"]),
        nccl=nccl,
        nvidia_driver=node.host.nvidia_driver,
        gpus=tuple(gpu.name if isinstance(gpu.name, str) else "unknown" for gpu in gpus),
        environment=_environment(node, hello),
    )


def _environment(node: Node, hello: Mapping[str, Any]) -> dict[str, str]:
    """The agent's variables over those of NCCL's files, as NCCL reads them."""
    conf = node.image.nccl_conf if isinstance(node.image, ServerImage) else node.host.nccl_conf
    return values_in(conf) | {str(name): str(value) for name, value in (hello.get("environment") or {}).items()}
