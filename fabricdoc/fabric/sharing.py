"""One python a node for the probes that prove its cables one after another, instead of a login and a start for each.

`open_some` is the transport's, but inside `sharing` the probes of `SHARED` are begun in the one that runs there already
(`probes.several`). Probes that need other rights or stand in a container are started by themselves as ever.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from types import TracebackType
from typing import Any, Protocol

from fabricdoc.errors import NodeError
from fabricdoc.fabric.crew import closed_node, silent_node
from fabricdoc.fabric.hurry import at_most
from fabricdoc.transport import Channels, NodeSpec
from fabricdoc.transport import open_some as start_some

SHARED = ("scan", "beacon", "rdma_ping", "reach")
HOST = "several"
END_S = 3.0
START_S = 20.0
Message = dict[str, Any]


class Conversation(Protocol):
    """What a step needs of running probes: `transport.Channels` has it."""

    @property
    def names(self) -> tuple[str, ...]:
        """The nodes."""

    def send(self, node_name: str, message: Message) -> None:
        """Send one message to one node."""

    def receive(self, timeout_s: float) -> tuple[str, Message] | None:
        """The next message of any node."""

    def close(self) -> None:
        """End it."""

    def __enter__(self) -> Conversation:
        """Itself."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End it."""


class Host:
    """The pythons of some nodes, started with the first probe that is begun in them; `failed` says why others ended."""

    def __init__(self) -> None:
        self._channels: Channels | None = None
        self._specs: dict[str, NodeSpec] = {}
        self.failed: dict[str, NodeError] = {}

    def takes(self, specs: Sequence[NodeSpec]) -> bool:
        """Whether these nodes' probes can run in there: the first ones can, then those of nodes named alike."""
        return self._channels is None or all(self._specs.get(spec.name) == spec for spec in specs)

    def begin(
        self, specs: Sequence[NodeSpec], module: str, start_deadline_s: float = START_S
    ) -> tuple[Turn, dict[str, NodeError]]:
        """Begin a probe on these nodes; those that run, and why others don't."""
        if self._channels is None:
            self._specs = {spec.name: spec for spec in specs}
            self._channels, self.failed = start_some(specs, HOST, start_deadline_s=at_most(start_deadline_s))
        for spec in specs:
            self.send(spec.name, {"do": "begin", "probe": module})
        names = tuple(spec.name for spec in specs if spec.name not in self.failed)
        return Turn(self, names, module), {s.name: self.failed[s.name] for s in specs if s.name in self.failed}

    def send(self, name: str, message: Message) -> None:
        """Send to a node that still takes part; one that is gone is noted."""
        if self._channels is not None and name not in self.failed:
            try:
                self._channels.send(name, message)
            except NodeError as error:
                self.failed[name] = error

    def receive(self, timeout_s: float) -> tuple[str, Message] | None:
        """The next message; the end of a node's python is noted. NodeError when all have ended."""
        got = self._channels.receive(timeout_s) if self._channels is not None else None
        if got is not None and got[1].get("event") == "closed":
            self.failed.setdefault(got[0], closed_node(got[1]))
        return got

    def close(self) -> None:
        """End them all."""
        if self._channels is not None:
            self._channels.close()


class Turn:
    """One probe's conversation in the pythons of a host: `transport.Channels` for who talks to it."""

    def __init__(self, host: Host, names: tuple[str, ...], module: str) -> None:
        self.names = names
        self._host, self._module = host, module
        self._running = set(names)

    def send(self, node_name: str, message: Message) -> None:
        """Send one message to one node's probe; raises NodeError when it is gone."""
        self._host.send(node_name, message)
        if node_name in self._host.failed:
            raise self._host.failed[node_name]
        if node_name not in self._running:
            raise NodeError(f"{node_name}: its {self._module} probe has ended", id="node-closed")

    def receive(self, timeout_s: float) -> tuple[str, Message] | None:
        """The next message of this probe on any node, None after the time; NodeError when all have ended."""
        end = time.monotonic() + timeout_s
        while True:
            got = self._next(max(0.0, end - time.monotonic()))
            if got is None or got[1].get("event") != "ended":
                return got

    def _next(self, timeout_s: float) -> tuple[str, Message] | None:
        """As `receive`, and also that a probe has ended: who waits for that must not wait longer."""
        end = time.monotonic() + timeout_s
        while True:
            got = self._host.receive(max(0.0, end - time.monotonic()))
            if got is None:
                return None
            if got[0] in self._running:
                if got[1].get("event") in ("closed", "ended"):
                    self._running.discard(got[0])
                return got

    def drop(self, name: str, error: NodeError) -> None:
        """Give a node up: it takes part in nothing any more, and nobody waits for its probe to end."""
        self._host.failed.setdefault(name, error)
        self._running.discard(name)

    def close(self) -> None:
        """Have the probe end everywhere and wait for it, so that the next finds nothing of it; late ones are noted."""
        for name in tuple(self._running):
            self._host.send(name, {"do": "end"})
        end = time.monotonic() + at_most(END_S)
        try:
            while self._running - set(self._host.failed) and (left := end - time.monotonic()) > 0:
                self._next(left)
        except NodeError:  # all have ended
            return
        for name in self._running - set(self._host.failed):
            self._host.failed[name] = silent_node(name, f"the {self._module} probe", END_S)

    def __enter__(self) -> Turn:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


_host: ContextVar[Host | None] = ContextVar("host", default=None)


@contextmanager
def sharing() -> Iterator[None]:
    """Inside, probes of SHARED that are opened on the same nodes run in one python a node; it ends with the block.

    A block inside another one shares its pythons.
    """
    if _host.get() is not None:
        yield
        return
    host = Host()
    token = _host.set(host)
    try:
        yield
    finally:
        _host.reset(token)
        host.close()


def open_shared(
    nodes: Sequence[NodeSpec], module: str, *, start_deadline_s: float
) -> tuple[Turn, dict[str, NodeError]]:
    """Begin a probe of SHARED in the pythons of the block around it; RuntimeError where there is none."""
    host = _host.get()
    if host is None or module not in SHARED:
        raise RuntimeError(f"{module} is begun inside `sharing`")
    return host.begin(nodes, module, start_deadline_s)


def open_some(
    nodes: Sequence[NodeSpec], module: str, *, start_deadline_s: float = START_S, raised: bool = False
) -> tuple[Conversation, dict[str, NodeError]]:
    """As the transport's: the probes that run, and why others don't."""
    host = _host.get()
    if host is not None and not raised and module in SHARED and host.takes(nodes):
        return host.begin(nodes, module)
    return start_some(nodes, module, start_deadline_s=at_most(start_deadline_s), raised=raised)
