"""Nodes that answered the scan and failed while their links were proven: named in the document, and asked no more.

What was proven before stands, and so does all that concerns other nodes. Why a probe failed is the transport's to say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fabricdoc.errors import NodeError
from fabricdoc.model.fabric import Fabric, FailedNode
from fabricdoc.transport import NodeSpec


def standing(specs: Sequence[NodeSpec], fabric: Fabric) -> list[NodeSpec]:
    """Those of `specs` that were read and have not failed since, in their order."""
    names = {node.name for node in fabric.nodes} - {one.name for one in fabric.failed}
    return [spec for spec in specs if spec.name in names]


def with_failed(fabric: Fabric, errors: Mapping[str, NodeError]) -> Fabric:
    """The fabric with these nodes among `failed` too, in the nodes' order; one that is there keeps its first error."""
    known = {one.name for one in fabric.failed}
    new = tuple(
        FailedNode(name=node.name, target=node.target, id=error.id, message=error.message, fix=error.fix)
        for node in fabric.nodes
        if (error := errors.get(node.name)) is not None and node.name not in known
    )
    return fabric.model_copy(update={"failed": (*fabric.failed, *new)}) if new else fabric
