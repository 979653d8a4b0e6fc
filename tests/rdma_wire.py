"""Verbs made up for tests: ends in one process that pass messages by hand, with the faults of real fabrics.

`Wires().library(node)` has the interface of `rdma_ping_pyverbs.Pyverbs` and `rdma_ping_native.Native`. A message is
lost when `is_lost(source, target, bytes)` says so (ends are named NODE/DEVICE); its sender gets status 12, as it does
when the acknowledgement is lost, or nothing at all where `hangs`. Verbs fail where `errnos` says so.
"""

from __future__ import annotations

import itertools
import os
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from fabricdoc.probes.rdma_ping import Ping, obey
from fabricdoc.probes.rdma_ping_end import (
    LARGEST,
    RECEIVED,
    SENT,
    WRITTEN_AT,
    WROTE,
    Done,
    Memory,
    Peer,
    Place,
    Refused,
)

RETRY_EXCEEDED = 12
FLUSHED = 5
# how long retries take
GIVE_UP_S = 0.05
ACKNOWLEDGEMENT = 0


class Wires:
    """All ends of all nodes. `left` counts the ends that are open: 0 when everything was destroyed."""

    def __init__(self) -> None:
        self.is_lost: Callable[[str, str, int], bool] = lambda source, target, size: False
        self.hangs = False
        self.spoilt: Callable[[bytes], bytes] = lambda data: data
        self.errnos: dict[tuple[str, str], int] = {}
        self.gids: dict[str, str] = {}
        self.ends: dict[int, FakeEnd] = {}
        self.left = 0
        self.passed = 0
        self.active_mtu = 4096
        self.numbers = itertools.count(0x100)

    def library(self, node: str) -> FakeVerbs:
        return FakeVerbs(self, node)


class FakeVerbs:
    """What a node's verbs library is."""

    name = "made up"

    def __init__(self, wires: Wires, node: str) -> None:
        self.wires, self.node = wires, node

    def open(self, place: Place, psn: int) -> FakeEnd:
        return FakeEnd(self.wires, f"{self.node}/{place.device}", place, psn)


class FakeEnd:
    """One end; `memory` as the real ones have it."""

    def __init__(self, wires: Wires, name: str, place: Place, psn: int) -> None:
        self.wires, self.name, self.psn = wires, name, psn
        self.gid = place.gid
        self.fail_if("open")
        if wires.gids.get(name, place.gid) != place.gid:
            raise Refused("gid", 0, f"GID index {place.gid_index} of {place.device} holds {wires.gids[name]}")
        self.memory = Memory()
        self.qpn = next(wires.numbers)
        self.done: deque[Done] = deque()
        self.slots: deque[int] = deque(range(4))
        self.peer: Peer | None = None
        self.broken = False
        self.gives_up: tuple[float, int] | None = None
        wires.ends[self.qpn] = self
        wires.left += 1

    def fail_if(self, phase: str) -> None:
        if errno := self.wires.errnos.get((self.name, phase)):
            raise Refused(phase, errno, f"made up, errno {errno}")

    def about(self) -> dict[str, Any]:
        own = {"qpn": self.qpn, "psn": self.psn, "rkey": 7, "address": self.memory.address + LARGEST}
        return {**own, "active_mtu": self.wires.active_mtu}

    def connect(self, peer: Peer, path_mtu: int) -> None:
        self.fail_if("rtr")
        self.peer = peer

    def receive(self, slot: int) -> None:
        self.slots.append(slot)

    def send(self, size: int) -> None:
        self._pass(SENT, size)

    def write(self, size: int, at: int = 0) -> None:
        self._pass(WROTE, size, at)

    def _pass(self, work: int, size: int, at: int = 0) -> None:
        self.fail_if("post")
        assert self.peer is not None
        self.wires.passed += 1
        target = self.wires.ends[self.peer.qpn]
        data = self.memory._pages[:size]
        if self.broken:
            self.done.append(Done(work, FLUSHED, 0))
            return
        arrives = not self.wires.is_lost(self.name, target.name, size) and not target.broken
        if arrives:
            target.take(work, self.wires.spoilt(data), at)
        if arrives and not self.wires.is_lost(target.name, self.name, ACKNOWLEDGEMENT):
            self.done.append(Done(work, 0, size))
        elif not self.wires.hangs:
            self.gives_up = (time.monotonic() + GIVE_UP_S, work)

    def take(self, work: int, data: bytes, at: int) -> None:
        if work == WROTE:
            start = WRITTEN_AT + at
            self.memory._pages[start : start + len(data)] = data
            return
        slot = self.slots.popleft()
        start = 2 * LARGEST + slot * LARGEST
        self.memory._pages[start : start + len(data)] = data
        self.done.append(Done(RECEIVED + slot, 0, len(data)))

    def poll(self) -> list[Done]:
        if self.gives_up and time.monotonic() >= self.gives_up[0]:
            self.broken = True
            self.done.append(Done(self.gives_up[1], RETRY_EXCEEDED, 0))
            self.gives_up = None
        return [self.done.popleft() for _ in range(len(self.done))]

    def close(self) -> None:
        self.broken = True
        self.wires.left -= 1
        self.memory.close()


class Probes:
    """The probes of some nodes with the interface of `transport.Channels`, each in a thread of its own.

    `greetings` replaces what a node says first, `edit(node, message)` what it says later (None: it keeps silent), and
    `dies` names nodes that end at the message of that kind.
    """

    def __init__(self, wires: Wires, names: Sequence[str]) -> None:
        self.wires, self.names = wires, tuple(names)
        self.greetings: dict[str, dict[str, Any]] = {}
        self.edit: Callable[[str, dict[str, Any]], dict[str, Any] | None] = lambda node, message: message
        self.dies: dict[str, str] = {}
        self.heard: queue.Queue[tuple[str, dict[str, Any]]] = queue.Queue()
        self.stdin = os.pipe()
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self._to: dict[str, queue.Queue[dict[str, Any]]] = {name: queue.Queue() for name in self.names}
        self._threads = [threading.Thread(target=self._serve, args=(name,), daemon=True) for name in self.names]

    def __enter__(self) -> Probes:
        for name in self.names:
            able = {"event": "able", "provider": "made up", "reasons": {}}
            self.heard.put((name, self.greetings.get(name, able)))
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_why: object) -> None:
        self.broadcast({"do": "end"})
        for thread in self._threads:
            thread.join(10)
        for descriptor in self.stdin:
            os.close(descriptor)

    def close(self) -> None:
        """Not used again."""

    def send(self, name: str, message: dict[str, Any]) -> None:
        self.asked.append((name, message))
        self._to[name].put(message)

    def broadcast(self, message: dict[str, Any]) -> None:
        for name in self.names:
            self._to[name].put(message)

    def receive(self, timeout_s: float) -> tuple[str, dict[str, Any]] | None:
        try:
            return self.heard.get(timeout=max(timeout_s, 0.001))
        except queue.Empty:
            return None

    def _serve(self, name: str) -> None:
        ping = Ping(self.wires.library(name))
        answers = _Answers(self, name)
        while (message := self._to[name].get())["do"] != "end":
            if self.dies.get(name) == message["do"]:
                self.heard.put((name, {"event": "closed", "message": f"{name}: its probe ended"}))
                break
            obey(answers, ping, message)  # type: ignore[arg-type]
        ping.close()


class _Answers:
    """The wire's end that a probe writes to."""

    def __init__(self, probes: Probes, name: str) -> None:
        self._probes, self._name = probes, name

    def write(self, message: dict[str, Any]) -> None:
        edited = self._probes.edit(self._name, message)
        if edited is not None:
            self._probes.heard.put((self._name, edited))

    def fileno(self) -> int:
        return self._probes.stdin[0]
