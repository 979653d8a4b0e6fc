"""The NCCL variables a process started on the node would see: its environment first, then NCCL's settings files.

It is the probe's environment: a server's own may differ. No finding comes from here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Node

ENVIRONMENT = "environment"
SHOWN = 200
_WHOLE = re.compile(r"-?[0-9]{1,9}")


class Setting(NamedTuple):
    """The value that wins, and where it is from: `environment` or a file's path."""

    name: str
    value: str
    origin: str

    def text(self) -> str:
        """ "NCCL_IB_HCA=mlx5_1 (environment)" """
        return f"{self.name}={self.value[:SHOWN]} ({self.origin})"


def sources_of(node: Node) -> tuple[tuple[str, Mapping[str, str]], ...]:
    """(origin, variables) in the order in which they win: NCCL sets nothing from a file that is set already."""
    files = () if isinstance(node.host.nccl_conf, Unknown) else node.host.nccl_conf
    return ((ENVIRONMENT, node.host.environment), *((file.path, file.values) for file in files))


def setting(node: Node, name: str) -> Setting | None:
    """The variable as it would be seen, None where nothing sets it; "" counts as unset, as NCCL reads lists."""
    for origin, values in sources_of(node):
        if name in values:
            return Setting(name, values[name], origin) if values[name] else None
    return None


def number(node: Node, name: str) -> int | None:
    """A variable that is a whole number, None where it is unset or none."""
    found = setting(node, name)
    text = found.value.strip() if found else ""
    return int(text) if _WHOLE.fullmatch(text) else None
