"""ConfigMaps for `envFrom`: one for the leader and one for the workers of a LeaderWorkerSet.

Values of envFrom are taken as they are, nothing is expanded in them (kubelet makeEnvironmentVariables); `env` beats
them, and a changed ConfigMap needs a restart of the pods.
"""

from __future__ import annotations

from fabricdoc.export.comments import comment, evidence, head
from fabricdoc.export.content import Content
from fabricdoc.export.formats import Format
from fabricdoc.export.quoting import yaml
from fabricdoc.export.roles import by_role
from fabricdoc.export.rules import not_one_line
from fabricdoc.model.preset import NodePreset

READERS = ("Kubernetes envFrom",)


def write(content: Content) -> str:
    """One ConfigMap document, or two."""
    lines = head(content, "envFrom: [{configMapRef: {name: nccl-env-leader}}] and nccl-env-worker")
    for role, node in by_role(content, "a LeaderWorkerSet"):
        lines += ["---", "apiVersion: v1", "kind: ConfigMap", "metadata:", f"  name: nccl-env-{role}", *_data(node)]
    return "\n".join(lines) + "\n"


def _data(node: NodePreset) -> list[str]:
    lines = ["data:" if node.lines else "data: {}"]
    for line in node.lines:
        lines += [f"  {text}" for text in comment(evidence(line))]
        lines.append(f"  {line.name}: {yaml(line.value)}")
    return lines


FORMAT = Format("k8s-configmap", READERS, "all", "nccl-k8s-configmap.yaml", not_one_line, write)
