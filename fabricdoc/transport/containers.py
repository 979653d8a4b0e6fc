"""A running container as a node: the docker or podman argv that runs one program in it.

Of the container's machine, this one or one reached by ssh, only the runtime's client is used. Starting a container is
`box`'s work, and only for the bench agent.
"""

from __future__ import annotations

from collections.abc import Sequence

from fabricdoc.transport.nodes import NodeSpec


def exec_argv(node: NodeSpec, argv: Sequence[str]) -> list[str]:
    """The argv, on the container's machine, that runs `argv` in it.

    Variables are named only: the client takes their values from its own environment, where no process list shows them.
    """
    where = node.where
    env = [f"--env={key}" for key in sorted(node.env)]
    return [where.kind, "exec", "-i", *env, where.container, *argv]
