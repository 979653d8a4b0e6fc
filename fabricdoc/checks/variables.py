"""NCCL's variables as a process started on a node would get them: its environment first, then nccl.conf files.

NCCL, src/misc/param.cc: files are applied without overwriting, in the order they were read, so the first setter wins.
A server started in another way may have others; what a value means is not read here but for whole numbers.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Node

NUMBER = re.compile(r"\s*([+-]?)(0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)")
NUMBER_LENGTH = 20


class Variable(NamedTuple):
    """A variable that is set; `source` is `environment` or the file that sets it."""

    name: str
    value: str
    source: str

    def text(self) -> str:
        """ "NCCL_IB_TC=106 (environment)" """
        return f"{self.name}={self.value} ({self.source})"


def variable(node: Node, name: str) -> Variable | None:
    """The variable on that node; None where it is set nowhere, or to nothing (which NCCL takes as not set)."""
    value = node.host.environment.get(name)
    if value:
        return Variable(name, value, "environment")
    for conf in () if isinstance(node.host.nccl_conf, Unknown) else node.host.nccl_conf:
        if name in conf.values:
            return Variable(name, conf.values[name], conf.path) if conf.values[name] else None
    return None


def variables(node: Node) -> dict[str, Variable]:
    """Every NCCL variable on that node."""
    confs = () if isinstance(node.host.nccl_conf, Unknown) else node.host.nccl_conf
    names = [*node.host.environment, *(name for conf in confs for name in conf.values)]
    found = {name: variable(node, name) for name in names if name.startswith("NCCL_")}
    return {name: one for name, one in found.items() if one is not None}


def whole_number(value: str) -> int:
    """A value as C's strtoll with base 0 reads it: 0x and leading 0 are understood, what is no number is 0."""
    match = NUMBER.match(value[: NUMBER_LENGTH * 2])
    if match is None:
        return 0
    text = match[2][:NUMBER_LENGTH].lower()
    base = 16 if text.startswith("0x") else 8 if text.startswith("0") and len(text) > 1 else 10
    return int(text, base) * (-1 if match[1] == "-" else 1)
