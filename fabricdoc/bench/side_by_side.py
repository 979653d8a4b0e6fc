"""Several launches at the same time, each between nodes of its own: what a test of pairs is made of.

One agent per node as in a bench; messages are told apart by the launch's number. A launch that fails, hangs or loses a
node ends alone. Nothing is measured against anything here, and no node may take part in two launches at once.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from fabricdoc.bench.agents import Agents, grace
from fabricdoc.bench.heard import check
from fabricdoc.bench.launch import Place, describe, order_for
from fabricdoc.bench.order import LaunchOrder
from fabricdoc.bench.outcome import Outcome, keep
from fabricdoc.errors import NodeError, UsageError
from fabricdoc.fabric import at_most
from fabricdoc.model.documents import utc_now
from fabricdoc.model.run import Candidate, Launch, Plan
from fabricdoc.transport import Channels


@dataclass(frozen=True)
class Errand:
    """One launch to make: the plan names its ranks, and so its nodes; `master` is where these meet."""

    plan: Plan
    candidate: Candidate
    place: Place
    master: str
    extra: Mapping[str, Any] = field(default_factory=dict)


def run_side_by_side(agents: Agents, errands: Sequence[Errand]) -> list[Launch]:
    """Make all launches together and describe each, in the order given; a lost agent fails its own launch only.

    UsageError where a node, or a number, stands in two of them.
    """
    orders = [order_for(one.plan, one.candidate, one.place, one.master, one.extra) for one in errands]
    started, began = utc_now(), time.monotonic()
    lanes = _Lanes(agents.channels, orders)
    lanes.run()
    return [
        describe(one.plan, one.candidate, one.place, lane.outcome, started, lane.ended - began, order)
        for one, order, lane in zip(errands, orders, lanes.all, strict=True)
    ]


class _Lane:
    """One launch on its way: what came of it so far, and until when it may take."""

    def __init__(self, order: LaunchOrder) -> None:
        self.order = order
        self.outcome = Outcome()
        self.grace_s = grace()
        self.end = self.ended = time.monotonic() + at_most(order.deadline_s + self.grace_s)
        self.stopped = False

    @property
    def over(self) -> bool:
        """Whether every node of it is done or lost."""
        return self.order.ranks.keys() <= self.outcome.done | self.outcome.lost.keys()

    @property
    def failed(self) -> bool:
        """Whether there is nothing left to wait for but its end."""
        return bool(self.outcome.lost) or any(end.status != "ok" for end in self.outcome.ends.values())

    def give_up(self, why: str) -> None:
        """Every node that has not said it is done is lost."""
        for name in self.order.ranks.keys() - self.outcome.done:
            self.outcome.lost.setdefault(name, why)


class _Lanes:
    """All launches of one call over the same channels."""

    def __init__(self, channels: Channels, orders: Sequence[LaunchOrder]) -> None:
        self._channels = channels
        self.all = [_Lane(order) for order in orders]
        self._of = {name: lane for lane in self.all for name in lane.order.ranks}
        numbers = {order.number for order in orders}
        if len(numbers) < len(orders) or len(self._of) < sum(len(order.ranks) for order in orders):
            raise UsageError("a node, or a number, stands in two launches of the same time", id="launches-overlap")

    def run(self) -> None:
        """From the first message to the last answer; on KeyboardInterrupt all are stopped before it goes on up."""
        for name, lane in self._of.items():
            self._send(lane, name, lane.order.message(name))
        try:
            while waiting := [lane for lane in self.all if not lane.over]:
                self._turn(waiting)
        except NodeError as gone:
            for lane in self.all:
                lane.give_up(gone.message)
        except KeyboardInterrupt:
            for lane in self.all:
                self._tell(lane, {"do": "stop", "number": lane.order.number})
            raise

    def _turn(self, waiting: Sequence[_Lane]) -> None:
        got = self._channels.receive(max(0.0, min(lane.end for lane in waiting) - time.monotonic()))
        if got is not None and got[0] in self._of:
            self._take(self._of[got[0]], *got)
        for lane in waiting:
            if lane.over:
                lane.ended = time.monotonic()
            elif time.monotonic() >= lane.end:
                self._late(lane)

    def _late(self, lane: _Lane) -> None:
        if lane.stopped:
            lane.give_up("the agent stopped answering")
            lane.ended = time.monotonic()
        else:
            self._stop(lane, stacks=False)

    def _stop(self, lane: _Lane, *, stacks: bool) -> None:
        lane.stopped, lane.end = True, time.monotonic() + at_most(lane.grace_s)
        self._tell(lane, {"do": "stop", "number": lane.order.number, "stacks": stacks})

    def _take(self, lane: _Lane, name: str, message: Mapping[str, Any]) -> None:
        """Put one event where it belongs; an agent that says what is no event of its node's ranks is lost."""
        if message.get("event") == "closed":
            lane.outcome.lost[name] = str(message["message"])
        elif message.get("number") == lane.order.number:
            try:
                event = check(message, {rank["rank"] for rank in lane.order.ranks[name]})
            except ValueError as problem:
                lane.outcome.lost.setdefault(name, f"its agent said what is no event: {problem}")
            else:
                self._keep(lane, event, name, message)
        if lane.failed and not lane.stopped and not lane.over:
            self._stop(lane, stacks=message.get("event") == "expired")

    def _keep(self, lane: _Lane, event: str, name: str, message: Mapping[str, Any]) -> None:
        if event == "store":
            join = {"do": "join", "number": lane.order.number, "address": lane.order.master, "port": message["port"]}
            self._tell(lane, join)
        elif event == "forked":
            lane.outcome.pids.add(message["pid"])
        else:
            keep(lane.outcome, event, name, dict(message))
        if event == "expired" and not lane.stopped:
            self._stop(lane, stacks=True)

    def _tell(self, lane: _Lane, message: dict[str, Any]) -> None:
        """To every node of the launch that is still there; that one has gone is heard from its channel."""
        for name in lane.order.ranks:
            with suppress(NodeError):
                self._channels.send(name, message)

    def _send(self, lane: _Lane, name: str, message: dict[str, Any]) -> None:
        try:
            self._channels.send(name, message)
        except NodeError as gone:
            lane.outcome.lost[name] = gone.message
