"""What is asked of many nodes at once, and what one node answers: the two records that asking by ssh and by tree share.

Data only: nothing here starts or waits for anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from fabricdoc.errors import NodeError
from fabricdoc.transport.nodes import NodeSpec


@dataclass(frozen=True)
class Answer:
    """What one node said: exactly one of `message` and `error`, what it printed besides, and the seconds it took.

    `asked_at` is when its probe was begun, by this machine's clock (Unix seconds).
    """

    node: NodeSpec
    message: dict[str, Any] | None
    error: NodeError | None
    stderr: str
    seconds: float
    asked_at: float


@dataclass(frozen=True)
class Question:
    """One request to probe `module`, `deadline_s` (seconds) for each node from its own start.

    `payload` replaces the zip of the probes (and `packed` its bytecode), `inside` the node's python. `carrier` is what
    a gateway gets, where it is made already: on a gateway.
    """

    module: str
    request: dict[str, Any]
    deadline_s: float
    inside: Sequence[str] = ()
    payload: bytes = field(default=b"", repr=False)
    packed: bytes = field(default=b"", repr=False)
    carrier: bytes = field(default=b"", repr=False)
