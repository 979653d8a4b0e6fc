"""Head and workers of a preset, for readers that have one template for all workers.

The first node is the head (rank 0). Quotes nothing.
"""

from __future__ import annotations

from fabricdoc.errors import UsageError
from fabricdoc.export.content import Content, settings
from fabricdoc.model.preset import NodePreset


def by_role(content: Content, what: str) -> list[tuple[str, NodePreset]]:
    """("leader", node) and, where there are workers, ("worker", node) whose lines hold for every worker.

    UsageError where workers differ from one another: `what` has one template for all of them.
    """
    if len(content.nodes) == 1:
        return [(role_of(content, content.nodes[0]), content.nodes[0])]
    head, *workers = content.nodes
    for other in workers[1:]:
        if settings(other) != settings(workers[0]):
            raise UsageError(
                f"{what} has one template for all workers, but {workers[0].name} and {other.name} differ",
                fix=f"give each node its own: --node {workers[0].name}, --node {other.name}",
                id="workers-differ",
            )
    return [("leader", head), ("worker", workers[0])]


def role_of(content: Content, node: NodePreset) -> str:
    """leader or worker."""
    return "leader" if content.rank(node) == 0 else "worker"
