"""Open conversations with one probe per node, merged into one stream: what cables and bench are made of.

Use from one thread. Everything started is ended by `close`, and by the end of this process however it comes: the
probes end when their stdin does.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from types import TracebackType
from typing import Any

from fabricdoc.errors import NodeError
from fabricdoc.transport.bytecode import packed_for, payload_for
from fabricdoc.transport.channel import Channel
from fabricdoc.transport.failures import too_late
from fabricdoc.transport.limits import allow_files
from fabricdoc.transport.nodes import NodeSpec, check_unique
from fabricdoc.transport.poll import AT_ONCE, end_all, step
from fabricdoc.transport.targets import raised_as

CLOSE_S = 3.0
# stdin, stdout and stderr of every node's program stay open for the whole conversation
FILES_EACH = 3


class Channels:
    """One running probe per node; made by `open_channels`, ended by `close` or the end of its `with` block."""

    def __init__(self, channels: Sequence[Channel]) -> None:
        self._channels = {channel.node.name: channel for channel in channels}
        self._arrived: deque[tuple[str, dict[str, Any]]] = deque()
        self._farewells: set[str] = set()
        self._closed = False

    @property
    def names(self) -> tuple[str, ...]:
        """The nodes' names in the order given."""
        return tuple(self._channels)

    def send(self, node_name: str, message: dict[str, Any]) -> None:
        """Send one message to one node, never blocking; raises NodeError `node-closed` when its probe is gone."""
        self._channels[node_name].send(message)

    def broadcast(self, message: dict[str, Any]) -> None:
        """Send one message to every node whose probe still runs."""
        for channel in self._channels.values():
            if not channel.ended and channel.error is None:
                channel.send(message)

    def receive(self, timeout_s: float) -> tuple[str, dict[str, Any]] | None:
        """The next message of any node with its name, or None after `timeout_s` seconds (0: what is there now).

        A node whose process ended yields once (name, {"event":"closed","status","stderr","id","message","fix"}), after
        its last message. Raises NodeError `node-closed` when all have ended and nothing more can come.
        """
        end = time.monotonic() + timeout_s
        looked = False
        while True:
            self._collect()
            if self._arrived:
                return self._arrived.popleft()
            if self._closed or len(self._farewells) == len(self._channels):
                raise NodeError("the probes of all nodes have ended", id="node-closed")
            left = end - time.monotonic()
            if left <= 0 and looked:
                return None
            step(tuple(self._channels.values()), left)
            looked = True

    def gather(self, event: str, timeout_s: float, what: str) -> dict[str, dict[str, Any]]:
        """One message of `event` from every node within `timeout_s` seconds, by node name; others are passed over.

        A node whose process ends once it has answered is no failure: nodes need not be equally fast. Raises NodeError:
        that of a node whose process ended before, or `node-timeout` naming the silent ones and `what` runs there.
        """
        answers: dict[str, dict[str, Any]] = {}
        end = time.monotonic() + timeout_s
        while len(answers) < len(self._channels):
            got = self.receive(max(0.0, end - time.monotonic()))
            if got is None:
                silent = ", ".join(name for name in self._channels if name not in answers)
                message = f"{what} on {silent} did not answer in {timeout_s:.0f} s"
                raise NodeError(message, fix="run `fabricdoc scan` to see why", id="node-timeout")
            name, said = got
            if said.get("event") == "closed" and name not in answers:
                raise NodeError(str(said["message"]), fix=said["fix"], id=said["id"])
            if said.get("event") == event:
                answers[name] = said
        return answers

    def close(self, grace_s: float | None = None) -> None:
        """End every stdin, wait up to `grace_s` (None: 3 s), then kill what is left; closing again does nothing."""
        if not self._closed:
            self._closed = True
            end_all(tuple(self._channels.values()), CLOSE_S if grace_s is None else grace_s)

    def __enter__(self) -> Channels:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _collect(self) -> None:
        for name, channel in self._channels.items():
            while channel.messages:
                self._arrived.append((name, channel.messages.popleft()))
            if channel.ended and name not in self._farewells:
                self._farewells.add(name)
                self._arrived.append((name, _farewell(channel)))


def _farewell(channel: Channel) -> dict[str, Any]:
    error = channel.explain()
    return {
        "event": "closed",
        "status": channel.status,
        "stderr": channel.output(),
        "id": error.id,
        "message": error.message,
        "fix": error.fix,
    }


def open_channels(
    nodes: Sequence[NodeSpec], module: str, *, start_deadline_s: float = 20, payload: bytes | None = None
) -> Channels:
    """Start probe `module` on every node and return when all of them run, 64 being started at a time.

    `payload` replaces the zip of the probes. Raises NodeError naming every node that did not start within
    `start_deadline_s` seconds of its own start (nothing is left running then), UsageError for nodes that can't be used.
    """
    check_unique(nodes)
    allow_files(FILES_EACH * len(nodes))
    channels = [_channel(node, module, payload) for node in nodes]
    try:
        _start(channels, start_deadline_s)
        failed = [channel.explain() for channel in channels if not channel.started]
        if failed:
            raise _joined(failed)
    except BaseException:
        end_all([channel for channel in channels if channel.begun_at], 0.0)
        raise
    return Channels(channels)


def open_some(
    nodes: Sequence[NodeSpec], module: str, *, start_deadline_s: float = 20, raised: bool = False
) -> tuple[Channels, dict[str, NodeError]]:
    """As `open_channels`, but a node that does not start costs only itself: the running ones, and why others don't.

    `raised` starts the probe with the right to open raw sockets, by what the node has for that (see `raised`).
    """
    check_unique(nodes)
    allow_files(FILES_EACH * len(nodes))
    channels = [_raised_channel(node, module) if raised else _channel(node, module) for node in nodes]
    try:
        _start(channels, start_deadline_s)
        failed = [channel for channel in channels if not channel.started]
        end_all(failed, 0.0)
    except BaseException:
        end_all([channel for channel in channels if channel.begun_at], 0.0)
        raise
    running = [channel for channel in channels if channel.started]
    return Channels(running), {channel.node.name: channel.explain() for channel in failed}


def _channel(node: NodeSpec, module: str, payload: bytes | None = None) -> Channel:
    if payload:
        return Channel(node, module, payload)
    return Channel(node, module, payload_for(node, module, ()), packed=packed_for(node, module, ()))


def _raised_channel(node: NodeSpec, module: str) -> Channel:
    inside, ending = raised_as(node)
    packed = packed_for(node, module, inside)
    return Channel(node, module, payload_for(node, module, inside), inside, packed, ending)


def _start(channels: Sequence[Channel], deadline_s: float) -> None:
    waiting = deque(channels)
    running: list[Channel] = []
    while waiting or any(_starting(channel) for channel in running):
        while waiting and sum(_starting(channel) for channel in running) < AT_ONCE:
            running.append(waiting.popleft())
            running[-1].start()
        starting = [channel for channel in running if _starting(channel)]
        left = min((channel.begun_at + deadline_s - time.monotonic() for channel in starting), default=0.0)
        step(running, left)
        for channel in starting:
            if _starting(channel) and time.monotonic() >= channel.begun_at + deadline_s:
                channel.fail(too_late(channel.node, channel.module, False, deadline_s))


def _starting(channel: Channel) -> bool:
    return not (channel.started or channel.ended or channel.error)


def _joined(errors: Sequence[NodeError]) -> NodeError:
    return NodeError("; ".join(error.message for error in errors), fix=errors[0].fix, id=errors[0].id)
