"""One gateway's share of an ask: the nodes behind it, answered one by one as the gateway says.

A gateway that can't be used costs none of its nodes: another one of the same level takes them over, and only where
there is none do they answer with its failure. Which gateways lead to a node is `topology`'s matter.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from fabricdoc.errors import NodeError
from fabricdoc.transport.answer import Answer, Question
from fabricdoc.transport.channel import Channel
from fabricdoc.transport.failures import garbage, too_late
from fabricdoc.transport.nodes import NodeSpec
from fabricdoc.transport.relaying import order_for, read_answer

# the name under which errors speak of what runs on a gateway
MODULE = "relay"
# how long a gateway may take until its relay runs
START_S = 20.0
# how much longer than a node's own deadline a gateway may be silent, for each level behind it
LEAD_S = 15.0
# how long a relay may take to end what it started
GRACE_S = 6.0
# fewer nodes than these are not worth another gateway's login
LEAST_SHARE = 8


class Branch:
    """The nodes behind one gateway: running, then answered or given up, then over. `dead` is shared by all of an ask.

    `dead` holds the gateways that could not be used, by name, and why.
    """

    relayed, grace_s = True, GRACE_S

    def __init__(
        self, gateway: NodeSpec, nodes: Sequence[NodeSpec], question: Question, dead: dict[str, NodeError]
    ) -> None:
        self.channel = Channel(gateway, MODULE, question.carrier)
        self._gateway, self._question, self._dead = gateway, question, dead
        self._nodes = tuple(nodes)
        self._pending = {node.name: node for node in nodes}
        self._levels = max(len(node.via) for node in nodes)
        self._said: list[Answer] = []
        self._runs, self._heard_at = False, 0.0
        self._over_at: float | None = None

    @property
    def over(self) -> bool:
        """Whether nothing more is to be waited for."""
        return self.channel.ended or (self._over_at is not None and time.monotonic() >= self._over_at)

    def start(self) -> None:
        """Start the relay on the gateway and give it its order."""
        self._heard_at = time.monotonic()
        self.channel.start()
        if not self.channel.ended:
            rests = {id(node.via): node.via[1:] for node in self._nodes}
            behind = [replace(node, via=rests[id(node.via)]) for node in self._nodes]
            self.channel.send(order_for(self._question, behind))
        self.advance()

    def wait_s(self) -> float:
        """Seconds until this one's next deadline."""
        end = self._over_at if self._over_at is not None else self._heard_at + self._silence_s()
        return end - time.monotonic()

    def _silence_s(self) -> float:
        return self._question.deadline_s + LEAD_S * self._levels if self.channel.started else START_S

    def advance(self) -> None:
        """Take what arrived and judge the time; after that all have answered, the gateway failed, or it goes on."""
        channel = self.channel
        if self._over_at is not None:
            return
        if channel.started and not self._runs:
            self._runs, self._heard_at = True, time.monotonic()
        while channel.messages and channel.error is None:
            self._hear(channel.messages.popleft())
        if not self._pending:
            channel.end_input()
        elif channel.ended:
            channel.explain()
        elif channel.error is None and self.wait_s() <= 0:
            channel.fail(too_late(self._gateway, MODULE, channel.started, self._silence_s()))
        if not self._pending or channel.error is not None:
            self._over_at = time.monotonic() + GRACE_S

    def _hear(self, said: dict[str, object]) -> None:
        """One line of the gateway: the answer of a node that it was given and that has not answered."""
        name = said.get("name")
        node = self._pending.get(name) if isinstance(name, str) else None
        try:
            if node is None or said.get("event") != "answer":
                raise ValueError("an answer of no node that it was asked for")
            self._said.append(read_answer(self._gateway, node, self._question.module, said))
        except ValueError as reason:
            self.channel.fail(garbage(self._gateway, MODULE, str(reason)))
            return
        self._heard_at = time.monotonic()
        del self._pending[str(name)]

    def answers(self) -> list[Answer]:
        """What was answered since this was last called."""
        said, self._said = self._said, []
        return said

    def followers(self) -> tuple[list[Branch], list[Answer]]:
        """Of a branch that is over: who takes its open nodes, else their answers, which say why there is none."""
        open_nodes = tuple(self._pending.values())
        if not open_nodes:
            return [], []
        self._pending = {}
        self._dead[self._gateway.name] = self.channel.explain()
        branches, left = _shared(open_nodes, self._question, self._dead)
        begun = self.channel.begun_at
        return branches, [_without_way(node, self._dead, time.monotonic() - begun) for node in left]


def branches_for(nodes: Sequence[NodeSpec], question: Question) -> list[Branch]:
    """The branches that ask these nodes, all of which have a way: each gateway with about as many of them."""
    return _shared(nodes, question, {})[0]


def _shared(
    nodes: Sequence[NodeSpec], question: Question, dead: dict[str, NodeError]
) -> tuple[list[Branch], list[NodeSpec]]:
    """Branches for these nodes, and the nodes none of whose gateways is left."""
    branches: list[Branch] = []
    left: list[NodeSpec] = []
    for behind in _by_level(nodes):
        gateways = [gateway for gateway in behind[0].via[0] if gateway.name not in dead]
        if not gateways:
            left += behind
        for gateway, part in _parts(gateways, behind):
            branches.append(Branch(gateway, part, question, dead))
    return branches, left


def _by_level(nodes: Sequence[NodeSpec]) -> list[list[NodeSpec]]:
    """The nodes that have the same gateways, together; in one ask most of them share one tuple of gateways."""
    names: dict[int, tuple[str, ...]] = {}
    groups: dict[tuple[str, ...], list[NodeSpec]] = {}
    for node in nodes:
        level = node.via[0]
        key = names.get(id(level)) or names.setdefault(id(level), tuple(gateway.name for gateway in level))
        groups.setdefault(key, []).append(node)
    return list(groups.values())


def _parts(gateways: Sequence[NodeSpec], nodes: Sequence[NodeSpec]) -> Iterator[tuple[NodeSpec, Sequence[NodeSpec]]]:
    """The nodes in even, adjoining parts, for no more gateways than are worth their login."""
    count = min(len(gateways), -(-len(nodes) // LEAST_SHARE))
    for at in range(count):
        yield gateways[at], nodes[at * len(nodes) // count : (at + 1) * len(nodes) // count]


def _without_way(node: NodeSpec, dead: dict[str, NodeError], seconds: float) -> Answer:
    """The answer of a node none of whose gateways could be used."""
    failed = [dead[gateway.name] for gateway in node.via[0] if gateway.name in dead]
    more = f"; and {len(failed) - 1} more" if len(failed) > 1 else ""
    message = f"{node.name}: no gateway leads to it: {failed[0].message}{more}"
    error = NodeError(message, fix=failed[0].fix, id="gateway-failed")
    return Answer(node, None, error, "", seconds, time.time() - seconds)
