"""One question to many nodes at once, each with its own deadline: what a scan is made of.

A node that is late, broken or unreachable costs only its own answer.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fabricdoc.errors import NodeError
from fabricdoc.transport.bytecode import packed_for, payload_for
from fabricdoc.transport.channel import Channel
from fabricdoc.transport.failures import too_late
from fabricdoc.transport.nodes import NodeSpec, check_unique
from fabricdoc.transport.poll import AT_ONCE, end_all, step

# how long a probe that has answered may take to end by itself
GRACE_S = 2.0


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


class _Question:
    """One node's part of an ask: running, then answered or failed, then over (its process gone or given up)."""

    def __init__(self, channel: Channel, request: dict[str, Any], deadline_s: float) -> None:
        self.channel = channel
        self.message: dict[str, Any] | None = None
        self.seconds = 0.0
        self._request = request
        self._deadline_s = deadline_s
        self._over_at: float | None = None

    @property
    def over(self) -> bool:
        return self.channel.ended or (self._over_at is not None and time.monotonic() >= self._over_at)

    def start(self) -> None:
        self.channel.start()
        if not self.channel.ended:
            self.channel.send(self._request)
        self.advance()

    def wait_s(self) -> float:
        """Seconds until this one's next deadline."""
        end = self._over_at if self._over_at is not None else self.channel.begun_at + self._deadline_s
        return end - time.monotonic()

    def advance(self) -> None:
        """Take what arrived and judge the time; after that it is answered, failed, or still running."""
        channel = self.channel
        if self._over_at is not None:
            return
        if channel.messages:
            self.message = channel.messages.popleft()
            channel.end_input()
        elif channel.ended:
            channel.explain()
        elif channel.error is None and self.wait_s() <= 0:
            channel.fail(too_late(channel.node, channel.module, channel.started, self._deadline_s))
        if self.message is not None or channel.error is not None:
            self.seconds = time.monotonic() - channel.begun_at
            self._over_at = time.monotonic() + GRACE_S

    def answer(self) -> Answer:
        error = None if self.message is not None else self.channel.explain()
        asked_at = time.time() - (time.monotonic() - self.channel.begun_at)
        return Answer(self.channel.node, self.message, error, self.channel.output(), self.seconds, asked_at)


def _payloads(node: NodeSpec, module: str, inside: Sequence[str]) -> tuple[bytes, bytes]:
    return payload_for(node, module, inside), packed_for(node, module, inside)


class Asking:
    """An ask under way: the probes run while the caller does something else, until `answers` collects them.

    Made, it has started the first 64; ended by `answers` alone, so always call it. Same arguments as `ask`.
    """

    def __init__(
        self,
        nodes: Sequence[NodeSpec],
        module: str,
        request: dict[str, Any],
        *,
        deadline_s: float,
        payload: bytes | None = None,
        inside: Sequence[str] = (),
    ) -> None:
        check_unique(nodes)
        sent = [(payload, b"") if payload else _payloads(node, module, inside) for node in nodes]
        self._questions = [
            _Question(Channel(node, module, zipped, inside, packed), request, deadline_s)
            for node, (zipped, packed) in zip(nodes, sent, strict=True)
        ]
        self._waiting, self._active = deque(self._questions), list[_Question]()
        try:
            self._fill()
            step([each.channel for each in self._active], 0.0)
        except BaseException:
            self._end()
            raise

    def answers(self) -> tuple[Answer, ...]:
        """Wait for every node, each within its deadline, and end what was started."""
        try:
            while self._waiting or self._active:
                self._fill()
                step([each.channel for each in self._active], min((e.wait_s() for e in self._active), default=0.0))
                for each in self._active:
                    each.advance()
                self._active = [each for each in self._active if not each.over]
        finally:
            self._end()
        return tuple(each.answer() for each in self._questions)

    def _fill(self) -> None:
        while self._waiting and len(self._active) < AT_ONCE:
            self._active.append(self._waiting.popleft())
            self._active[-1].start()

    def _end(self) -> None:
        end_all([each.channel for each in self._questions if each.channel.begun_at], 0.0)


def ask(
    nodes: Sequence[NodeSpec],
    module: str,
    request: dict[str, Any],
    *,
    deadline_s: float,
    payload: bytes | None = None,
    inside: Sequence[str] = (),
) -> tuple[Answer, ...]:
    """Run probe `module` on every node, send it `request`, take its first message; answers in the nodes' order.

    At most 64 nodes at a time, `deadline_s` (seconds) for each from its own start; a late one is killed here and there
    and answers with NodeError `node-timeout`. `payload` replaces the zip of the probes, `inside` the node's python: a
    command such as `docker run ... python3` whose python gets the arguments. Raises UsageError for nodes that can't be
    used at all; interrupted, it ends what it started before it raises.
    """
    return Asking(nodes, module, request, deadline_s=deadline_s, payload=payload, inside=inside).answers()
