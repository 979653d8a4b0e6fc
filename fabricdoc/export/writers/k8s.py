"""`env:` lists of a pod's container, for the leader's and the worker's template of a LeaderWorkerSet.

EnvVar.value is a string (quoted, so that YAML makes no number of it) in which `$(NAME)` is expanded and `$$` is a
dollar (k8s.io/kubernetes third_party/forked/golang/expansion). It beats envFrom. One node has one list.
"""

from __future__ import annotations

from fabricdoc.export.comments import comment, evidence, head
from fabricdoc.export.content import Content
from fabricdoc.export.formats import Format
from fabricdoc.export.quoting import yaml
from fabricdoc.export.roles import by_role
from fabricdoc.export.rules import not_one_line
from fabricdoc.model.preset import NodePreset

READERS = ("Kubernetes",)


def write(content: Content) -> str:
    """One `env:` list, or one below `leader:` and one below `worker:`."""
    lines = head(content, "env of the containers: leaderTemplate and workerTemplate both need theirs")
    roles = by_role(content, "a LeaderWorkerSet")
    for role, node in roles:
        if len(roles) > 1:
            lines += [f"{role}:", *(f"  {line}" for line in _list(node))]
        else:
            lines += _list(node)
    return "\n".join(lines) + "\n"


def _list(node: NodePreset) -> list[str]:
    lines = ["env:" if node.lines else "env: []"]
    for line in node.lines:
        lines += [f"  {text}" for text in comment(evidence(line))]
        lines += [f"  - name: {line.name}", f"    value: {yaml(line.value.replace('$', '$$'))}"]
    return lines


FORMAT = Format("k8s", READERS, "all", "nccl-k8s-env.yaml", not_one_line, write)
