"""A pod's container as a node: the kubectl argv that runs one program in it, with the user's own context.

Nothing is made, scheduled or changed in the cluster: only `exec` into what runs.
"""

from __future__ import annotations

from collections.abc import Sequence

from fabricdoc.transport.nodes import NodeSpec

# kubectl would wait a minute for a pod that doesn't run
RUNNING_S = 5


def kubectl_argv(node: NodeSpec, argv: Sequence[str]) -> list[str]:
    """The argv that runs `argv` (with `node.env`) in the pod's container, its first one where none is named."""
    where = node.where
    words = ["kubectl", "exec", "-i", f"--pod-running-timeout={RUNNING_S}s"]
    words += [f"--namespace={where.namespace}"] if where.namespace else []
    words += [f"--container={where.container}"] if where.container else []
    env = ["env", *(f"{key}={value}" for key, value in sorted(node.env.items()))] if node.env else []
    return [*words, where.pod, "--", *env, *argv]
