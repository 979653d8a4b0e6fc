"""One question to many nodes at once, each with its own deadline: what a scan is made of.

A node that is late, broken or unreachable costs only its own answer. Nodes that have gateways are asked by those.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fabricdoc.transport.answer import Answer, Question
from fabricdoc.transport.bytecode import packed_for, payload_for
from fabricdoc.transport.channel import Channel
from fabricdoc.transport.failures import too_late
from fabricdoc.transport.nodes import NodeSpec, check_unique
from fabricdoc.transport.poll import AT_ONCE, end_all, step

if TYPE_CHECKING:
    from fabricdoc.transport.branch import Branch

# how long a probe that has answered may take to end by itself
GRACE_S = 2.0


class _Single:
    """One node's part of an ask: running, then answered or failed, then over (its process gone or given up)."""

    relayed, grace_s = False, 0.0

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

    def answers(self) -> list[Answer]:
        """The one answer, once this is over."""
        error = None if self.message is not None else self.channel.explain()
        asked_at = time.time() - (time.monotonic() - self.channel.begun_at)
        return [Answer(self.channel.node, self.message, error, self.channel.output(), self.seconds, asked_at)]

    def followers(self) -> tuple[list[Branch], list[Answer]]:
        """Nobody takes a single node over."""
        return [], []


class Asking:
    """An ask under way: the probes run while the caller does something else, until `answers` collects them.

    Made, it has started the first 64; ended by `answers` or `end` alone, so always call one. Same arguments as `ask`.
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
        self._begin(nodes, Question(module, request, deadline_s, inside, payload or b""))

    @classmethod
    def of(cls, nodes: Sequence[NodeSpec], question: Question) -> Asking:
        """The same for a question that is made already."""
        made = cls.__new__(cls)
        made._begin(nodes, question)
        return made

    def _begin(self, nodes: Sequence[NodeSpec], question: Question) -> None:
        check_unique(nodes)
        self._nodes = tuple(nodes)
        direct = [_single(node, question) for node in nodes if not node.via]
        self._all: list[_Single | Branch] = [*_branches([node for node in nodes if node.via], question), *direct]
        self._waiting = deque(self._all)
        self._active: list[_Single | Branch] = []
        self._lost: list[Answer] = []
        try:
            self._fill()
            step([each.channel for each in self._active], 0.0)
        except BaseException:
            self.end()
            raise

    @property
    def busy(self) -> bool:
        """Whether answers are still to come."""
        return bool(self._waiting or self._active or self._lost)

    def turn(self) -> list[Answer]:
        """Wait until something happens, 0.2 s at most, and return the answers that are new."""
        self._fill()
        step([each.channel for each in self._active], min((e.wait_s() for e in self._active), default=0.0))
        new, self._lost = self._lost, []
        for each in self._active:
            each.advance()
        over, self._active = [e for e in self._active if e.over], [e for e in self._active if not e.over]
        for each in (*over, *(e for e in self._active if e.relayed)):
            new += each.answers()
        for each in over:
            self._follow(each)
        return new

    def answers(self) -> tuple[Answer, ...]:
        """Wait for every node, each within its deadline, and end what was started."""
        found: dict[str, Answer] = {}
        try:
            while self.busy:
                found.update((answer.node.name, answer) for answer in self.turn())
        finally:
            self.end()
        return tuple(found[node.name] for node in self._nodes)

    def end(self) -> None:
        """End what still runs: on gateways they end what they started themselves, where they can."""
        begun = [each for each in self._all if each.channel.begun_at]
        for each in begun:
            each.channel.end_input()
        for relayed in (False, True):
            these = [each for each in begun if each.relayed is relayed]
            end_all([each.channel for each in these], max((each.grace_s for each in these), default=0.0))

    def _fill(self) -> None:
        while self._waiting and len(self._active) < AT_ONCE:
            self._active.append(self._waiting.popleft())
            self._active[-1].start()

    def _follow(self, over: _Single | Branch) -> None:
        """What a branch leaves open goes on by other gateways, or is lost."""
        branches, lost = over.followers()
        self._all += branches
        self._waiting.extendleft(branches)
        self._lost += lost


def _single(node: NodeSpec, question: Question) -> _Single:
    module, inside = question.module, question.inside
    payload, packed = question.payload, question.packed
    if not payload:
        payload, packed = payload_for(node, module, inside), packed_for(node, module, inside)
    return _Single(Channel(node, module, payload, inside, packed), question.request, question.deadline_s)


def _branches(nodes: Sequence[NodeSpec], question: Question) -> list[Branch]:
    """The branches of a tree; what its gateways send on is made once for all of them."""
    if not nodes:
        return []
    from fabricdoc.transport.branch import branches_for
    from fabricdoc.transport.carrier import build_carrier

    module, inside = question.module, question.inside
    if not question.payload:
        payload, packed = payload_for(nodes[0], module, inside), packed_for(nodes[0], module, inside)
        question = replace(question, payload=payload, packed=packed)
    if not question.carrier:
        question = replace(question, carrier=build_carrier(question))
    return branches_for(nodes, question)


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
