"""`CONTAINER_NAME=value` lines for the `.env` of eugr/spark-vllm-docker (launch-cluster.sh): what all nodes share.

They go to every node after the flags the script finds itself, so one value replaces each node's own; the head splits
words anew and the worker's pass an ssh shell, so only letters that neither touches are carried (launch-cluster.sh of
November 2026: `IFS='=' read`, which loses a lone `=` at a value's end; shlex.quote; an unquoted list of arguments).
CONTAINER_NAME is the container's own name there.
"""

from __future__ import annotations

import re

from fabricdoc.export.comments import comment, evidence, head
from fabricdoc.export.content import Content
from fabricdoc.export.formats import Format
from fabricdoc.export.rules import not_for_shells

READERS = ("spark-vllm-docker launch-cluster.sh",)
KEPT = re.compile(r"[A-Za-z0-9@%+=:,./_-]+\Z")


def refuse(name: str, value: str) -> str:
    """What arrives differently on head and worker, or not at all."""
    if name == "NAME":
        return "goes to a name that is the container's own"
    reason = not_for_shells(name, value)
    if reason or (KEPT.match(value) and not value.endswith("=")):
        return reason
    if value.endswith("="):
        return "ends with `=`, which is lost"
    return "is empty, which is lost" if not value else "holds a letter that reaches head and worker differently"


def write(content: Content) -> str:
    """CONTAINER_ lines, each under its evidence."""
    lines = head(content, "into the .env beside launch-cluster.sh: the same on every node")
    if content.differing:
        lines += comment(f"{', '.join(content.differing)}: differ per node; launch-cluster.sh finds its own")
    for line in content.common:
        lines += [*comment(evidence(line)), f"CONTAINER_{line.name}={line.value}"]
    return "\n".join(lines) + "\n"


FORMAT = Format(
    "eugr",
    READERS,
    "common",
    "eugr.env",
    refuse,
    write,
    left_out=lambda content: content.differing,
    elsewhere="one value would go to all nodes; launch-cluster.sh finds each node's own",
)
