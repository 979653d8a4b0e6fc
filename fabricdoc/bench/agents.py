"""The agents of a bench: one channel per node, one launch at a time, every wait with a deadline.

Turns the agent's events into one `Outcome` per launch. An agent that is lost (killed, node gone) ends that
launch, not the run: `restart` opens fresh ones. What the samples mean is `samples`' and `tuning`'s business.
Inside `fabric.within` no wait goes beyond that deadline.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import Any

from fabricdoc.bench.greeting import refuse_others, refuse_without_torch
from fabricdoc.bench.heard import check
from fabricdoc.bench.order import LaunchOrder
from fabricdoc.bench.outcome import Outcome, keep, pids
from fabricdoc.errors import NodeError, ToolError
from fabricdoc.fabric import at_most
from fabricdoc.transport import Channels, NodeSpec, open_channels

HELLO_DEADLINE_S = 120.0
START_DEADLINE_S = 20.0
GRACE_S = 8.0
LEFTOVER_DEADLINE_S = 20.0
CLOSE_S, LEAST_CLOSE_S = 3.0, 1.5
"""What an agent may take to end its ranks; at the least as long as it takes over that itself (probes/agent.py)."""


def grace() -> float:
    """Seconds an agent may take beyond a launch's limit, and again to end it: less where all must be over soon."""
    return min(GRACE_S, at_most(inf) / 5)


class Agents:
    """The live agents of a bench. Use as a context manager: leaving it ends every process it started.

    `hello_s` is how long an agent may take until it has imported torch.
    """

    def __init__(self, specs: Sequence[NodeSpec], hello_s: float = HELLO_DEADLINE_S) -> None:
        self._specs = specs
        self._hello_s = hello_s
        self._channels: Channels | None = None
        self._born: dict[str, list[tuple[int, int]]] = {}
        self.hello: dict[str, dict[str, Any]] = {}

    def __enter__(self) -> Agents:
        try:
            self.restart()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def close(self) -> None:
        """End the agents; their ranks go with them."""
        if self._channels is not None:
            self._channels.close(max(LEAST_CLOSE_S, at_most(CLOSE_S)))
            self._channels = None

    def restart(self, environment: Mapping[str, Mapping[str, str]] | None = None) -> dict[str, tuple[int, ...]]:
        """Open fresh agents on every node and wait until each has imported torch.

        `environment` (by node) is added to the agents' own: for what is read when torch is loaded, before a rank is
        forked (LD_PRELOAD, OMP_*). NodeError when an agent does not start.
        What the ranks of the last launch left on a node is ended there; the pids that nothing ends come back.
        """
        self.close()
        added = environment or {}
        specs = [replace(one, env={**one.env, **added.get(one.name, {})}) for one in self._specs]
        self._channels = open_channels(specs, "agent", start_deadline_s=at_most(START_DEADLINE_S))
        self._channels.broadcast({"do": "hello"})
        hellos = self._channels.gather("hello", at_most(self._hello_s), "the bench agent")
        refuse_without_torch(hellos)
        refuse_others(hellos)
        self.hello = hellos
        return self._end_leftovers()

    def _end_leftovers(self) -> dict[str, tuple[int, ...]]:
        """Known by pid and start time, so that no number given anew can pass for one of ours."""
        if not self._born:
            return {}
        for name in self.channels.names:
            self.channels.send(name, {"do": "leftover", "ranks": self._born.get(name, [])})
        answers = self.channels.gather("leftover", at_most(LEFTOVER_DEADLINE_S), "the bench agent")
        self._born = {}
        return {name: left for name, answer in answers.items() if (left := pids(answer.get("alive")))}

    @property
    def channels(self) -> Channels:
        """The open channels; ToolError once closed."""
        if self._channels is None:
            raise ToolError("the bench agents are closed")
        return self._channels

    def launch(self, order: LaunchOrder) -> Outcome:
        """Run one launch to its end. On KeyboardInterrupt the ranks are stopped before it goes on up."""
        outcome = Outcome()
        self._born = {}
        for name in self.channels.names:
            self._send(name, order.message(name), outcome)
        grace_s = grace()
        try:
            self._collect(order, outcome, time.monotonic() + at_most(order.deadline_s + grace_s), grace_s)
        except NodeError as gone:
            self._give_up(outcome, gone.message)
        except KeyboardInterrupt:
            self.channels.broadcast({"do": "stop", "number": order.number})
            raise
        return outcome

    def _collect(self, order: LaunchOrder, outcome: Outcome, end: float, grace_s: float) -> None:
        stopped = False
        while len(outcome.done | outcome.lost.keys()) < len(self.channels.names):
            got = self.channels.receive(max(0.0, end - time.monotonic()))
            if got is None:
                if stopped:
                    self._give_up(outcome, "the agent stopped answering")
                    return
                stopped, end = True, time.monotonic() + at_most(grace_s)
                self.channels.broadcast({"do": "stop", "number": order.number})
                continue
            expired = self._take(order, outcome, *got)
            if (expired or self._failed(outcome)) and not stopped:
                stopped, end = True, time.monotonic() + at_most(grace_s)
                self.channels.broadcast({"do": "stop", "number": order.number, "stacks": expired})

    def _send(self, name: str, message: dict[str, Any], outcome: Outcome) -> None:
        try:
            self.channels.send(name, message)
        except NodeError as gone:
            outcome.lost[name] = gone.message

    def _give_up(self, outcome: Outcome, why: str) -> None:
        for name in set(self.channels.names) - outcome.done:
            outcome.lost.setdefault(name, why)

    @staticmethod
    def _failed(outcome: Outcome) -> bool:
        return bool(outcome.lost) or any(end.status != "ok" for end in outcome.ends.values())

    def _take(self, order: LaunchOrder, outcome: Outcome, name: str, message: dict[str, Any]) -> bool:
        """Put one event where it belongs; True when a rank is overdue, so that all must tell where they stand.

        An agent that says what is no event of its node's ranks is lost to this launch.
        """
        if message.get("event") == "closed":
            outcome.lost[name] = str(message["message"])
            return False
        if message.get("number") != order.number:
            return False
        try:
            event = check(message, {rank["rank"] for rank in order.ranks[name]})
        except ValueError as problem:
            outcome.lost.setdefault(name, f"its agent said what is no event: {problem}")
            return False
        if event == "store":
            join = {"do": "join", "number": order.number, "address": order.master, "port": message["port"]}
            self.channels.broadcast(join)
        elif event == "forked":
            self._born.setdefault(name, []).append((message["pid"], message["start"]))
            outcome.pids.add(message["pid"])
        else:
            keep(outcome, event, name, message)
        return event == "expired"
