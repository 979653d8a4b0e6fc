"""The agents of a bench: one channel per node, one launch at a time, every wait with a deadline.

Turns the agent's events into one `Outcome` per launch. An agent that is lost (killed, node gone) ends that
launch, not the run: `restart` opens fresh ones. What the samples mean is `samples`' and `tuning`'s business.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from fabricdoc.bench.heard import check
from fabricdoc.errors import NodeError, ToolError
from fabricdoc.transport import Channels, NodeSpec, open_channels

HELLO_DEADLINE_S = 120.0
GRACE_S = 8.0
LEFTOVER_DEADLINE_S = 20.0
_STACK_LINES, _STACK_LINE_LENGTH = 60, 300


@dataclass
class RankEnd:
    """How one rank ended: status, the phase it was in, one line why, the tail of what it wrote, where it stood.

    `state` is the kernel's letter for it when its time was over (proc(5)), empty for one that ended by itself.
    """

    status: str
    phase: str = ""
    reason: str = ""
    log: str = ""
    stack: tuple[str, ...] = ()
    state: str = ""
    timings_s: dict[str, float] = field(default_factory=dict)


@dataclass
class Outcome:
    """Everything one launch sent back. `cells`, `skews`, `directs`, `soaks` are raw events; `ends` is keyed by rank.

    `states` are the raw facts of each node, `left` the pids of our processes on it that nothing ended; `pids`
    are those of all ranks on all nodes.
    """

    cells: list[dict[str, Any]] = field(default_factory=list)
    skews: list[dict[str, Any]] = field(default_factory=list)
    directs: list[dict[str, Any]] = field(default_factory=list)
    soaks: list[dict[str, Any]] = field(default_factory=list)
    ends: dict[int, RankEnd] = field(default_factory=dict)
    phases: dict[int, str] = field(default_factory=dict)
    lost: dict[str, str] = field(default_factory=dict)
    done: set[str] = field(default_factory=set)
    states: dict[str, dict[str, Any]] = field(default_factory=dict)
    left: dict[str, tuple[int, ...]] = field(default_factory=dict)
    pids: set[int] = field(default_factory=set)


@dataclass(frozen=True)
class LaunchOrder:
    """One launch as the agents need it. `environment` and `ranks` are keyed by node name."""

    number: int
    backend: str
    world: int
    ranks: Mapping[str, Sequence[Mapping[str, int]]]
    environment: Mapping[str, Mapping[str, str]]
    work: Mapping[str, object]
    deadline_s: float
    master: str
    memory: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    def message(self, node: str) -> dict[str, Any]:
        """The launch message for one node."""
        return {
            "do": "launch",
            "number": self.number,
            "backend": self.backend,
            "world": self.world,
            "ranks": [dict(rank) for rank in self.ranks[node]],
            "env": dict(self.environment[node]),
            "unset": [],
            "deadline_s": self.deadline_s,
            "work": dict(self.work),
            "memory": dict(self.memory.get(node, {})),
        }


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
        self.restart()
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def close(self) -> None:
        """End the agents; their ranks go with them."""
        if self._channels is not None:
            self._channels.close()
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
        self._channels = open_channels(specs, "agent")
        self._channels.broadcast({"do": "hello"})
        hellos = self._channels.gather("hello", self._hello_s, "the bench agent")
        _with_torch(hellos)
        _refuse_others(hellos)
        self.hello = hellos
        return self._end_leftovers()

    def _end_leftovers(self) -> dict[str, tuple[int, ...]]:
        """Known by pid and start time, so that no number given anew can pass for one of ours."""
        if not self._born:
            return {}
        for name in self.channels.names:
            self.channels.send(name, {"do": "leftover", "ranks": self._born.get(name, [])})
        answers = self.channels.gather("leftover", LEFTOVER_DEADLINE_S, "the bench agent")
        self._born = {}
        return {name: left for name, answer in answers.items() if (left := _pids(answer.get("alive")))}

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
        try:
            self._collect(order, outcome, time.monotonic() + order.deadline_s + GRACE_S)
        except NodeError as gone:
            self._give_up(outcome, gone.message)
        except KeyboardInterrupt:
            self.channels.broadcast({"do": "stop", "number": order.number})
            raise
        return outcome

    def _collect(self, order: LaunchOrder, outcome: Outcome, end: float) -> None:
        stopped = False
        while len(outcome.done | outcome.lost.keys()) < len(self.channels.names):
            got = self.channels.receive(max(0.0, end - time.monotonic()))
            if got is None:
                if stopped:
                    self._give_up(outcome, "the agent stopped answering")
                    return
                stopped, end = True, time.monotonic() + GRACE_S
                self.channels.broadcast({"do": "stop", "number": order.number})
                continue
            expired = self._take(order, outcome, *got)
            if (expired or self._failed(outcome)) and not stopped:
                stopped, end = True, time.monotonic() + GRACE_S
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


def keep(outcome: Outcome, event: str, name: str, message: dict[str, Any]) -> None:
    """Put a checked event of that node into the outcome."""
    lists = {"cell": outcome.cells, "skew": outcome.skews, "direct": outcome.directs, "soak": outcome.soaks}
    if event in lists:
        lists[event].append(message)
    elif event == "phase":
        outcome.phases[message["rank"]] = message["phase"]
    elif event == "rank_done":
        outcome.ends[message["rank"]] = _rank_end(message)
    elif event == "state":
        outcome.states[name] = message
    elif event == "launch_done":
        outcome.done.add(name)
        if left := _pids(message.get("alive")):
            outcome.left[name] = left


def _rank_end(message: dict[str, Any]) -> RankEnd:
    return RankEnd(
        status=str(message.get("status", "failed")),
        phase=str(message.get("phase", "")),
        reason=str(message.get("reason", "")),
        log=str(message.get("log", "")),
        stack=_lines(message.get("stack")),
        state=str(message.get("state", ""))[:1],
        timings_s={str(k): float(v) for k, v in dict(message.get("timings_s") or {}).items()},
    )


def _pids(said: object) -> tuple[int, ...]:
    return tuple(pid for pid in said[:_STACK_LINES] if isinstance(pid, int)) if isinstance(said, list) else ()


def _lines(said: object) -> tuple[str, ...]:
    """What a rank's stack is in the record: text, bounded, the innermost calls kept."""
    lines = said[-_STACK_LINES:] if isinstance(said, list) else []
    return tuple("".join(c if c.isprintable() else "?" for c in str(line))[:_STACK_LINE_LENGTH] for line in lines)


def _refuse_others(hellos: Mapping[str, Mapping[str, Any]]) -> None:
    """A node where another bench's agent runs: both would measure the other's load. Our own second agent is none."""
    own = {int(hello.get("pid") or 0) for hello in hellos.values()}
    for name, hello in hellos.items():
        other = int(hello.get("other_agent") or 0)
        if other and other not in own:
            who = f"pid {other}" if other > 0 else "its process can't be seen from there"
            raise NodeError(
                f"{name}: another bench runs there now ({who}): each would measure the other's load",
                fix="wait for its end, or end it, then run this again",
                id="node-busy",
            )


def _with_torch(hellos: Mapping[str, Mapping[str, Any]]) -> None:
    """Raise NodeError (torch-missing) naming every node without torch, its python's path and why."""
    without = {name: hello for name, hello in sorted(hellos.items()) if not hello.get("torch")}
    if not without:
        return
    nodes: dict[str, list[str]] = {}
    for name, hello in without.items():
        python = f"{hello.get('executable') or 'its python'} ({hello.get('python', 'version unknown')})"
        nodes.setdefault(f"{python}: {hello.get('torch_error', '')}", []).append(name)
    raise NodeError(
        "; ".join(f"{' and '.join(names)}: torch can't be imported by {why}" for why, names in nodes.items()),
        fix="name a python that has torch with --python or python= in fabric.toml, or install torch for that one",
        id="torch-missing",
    )
