"""A scan by the pythons that prove the cables afterwards: one login a node where there would be two.

For a gate, which must answer in a second. Inside `one_python` (`sharing`) only. A node that hangs costs the others the
time it takes to give it up, so a plain scan asks each node by itself (`asking`).
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from fabricdoc.errors import NodeError
from fabricdoc.fabric.asking import scan_request
from fabricdoc.fabric.crew import closed_node, silent_node
from fabricdoc.fabric.sharing import Message, open_shared
from fabricdoc.fabric.sharing import sharing as one_python
from fabricdoc.transport import Answer, NodeSpec

__all__ = ["SharedScan", "one_python"]

START_SHARE = 0.6
"""Of the deadline: how long a node may take to be reached and to start its python."""
PROBE = "the scan probe"


class SharedScan:
    """A scan under way on all nodes at once; `answers` collects it, as `transport.Asking` does."""

    def __init__(
        self, nodes: Sequence[NodeSpec], *, deadline_s: float, cuda: bool = True, hashed: bool = False
    ) -> None:
        """Each node has `deadline_s` seconds, of which 60 % to start. Its probes stay for the cables."""
        self._nodes = tuple(nodes)
        self._begun = time.monotonic()
        self._deadline_s = deadline_s
        self._turn, self._failed = open_shared(nodes, "scan", start_deadline_s=deadline_s * START_SHARE)
        self._asked_at, self._sent = time.time(), time.monotonic()
        left = max(0.1, deadline_s - (self._sent - self._begun))
        for name in self._turn.names:
            try:
                self._turn.send(name, scan_request(left, cuda=cuda, hashed=hashed))
            except NodeError as error:
                self._failed[name] = error

    def answers(self) -> tuple[Answer, ...]:
        """One for each node in their order, by the deadline."""
        said: dict[str, tuple[Message, float]] = {}
        end = self._begun + self._deadline_s
        with self._turn:
            while waiting := [n for n in self._turn.names if n not in said and n not in self._failed]:
                if not self._take(said, end - time.monotonic()):
                    for name in waiting:
                        self._failed[name] = silent_node(name, PROBE, self._deadline_s)
                        self._turn.drop(name, self._failed[name])
        return tuple(self._answer(node, said) for node in self._nodes)

    def _take(self, said: dict[str, tuple[Message, float]], left_s: float) -> bool:
        """Take one message; false when the time is over or nobody is left to speak."""
        try:
            got = self._turn.receive(max(0.0, left_s)) if left_s > 0 else None
        except NodeError:
            return False
        if got is None:
            return False
        name, message = got
        if message.get("event") == "closed":
            self._failed.setdefault(name, closed_node(message))
        else:
            said[name] = (message, time.monotonic() - self._sent)
        return True

    def _answer(self, node: NodeSpec, said: dict[str, tuple[Message, float]]) -> Answer:
        if node.name in said:
            message, seconds = said[node.name]
            return Answer(node, message, None, "", seconds, self._asked_at)
        error = self._failed.get(node.name) or silent_node(node.name, PROBE, self._deadline_s)
        return Answer(node, None, error, "", self._deadline_s, self._asked_at)
