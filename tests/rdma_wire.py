"""Verbs made up for tests: ends in one process that pass messages by hand, with the faults of real fabrics.

`Wires().library(node)` has the interface of `rdma_ping_pyverbs.Pyverbs` and `rdma_ping_native.Native`. A message is
lost when `is_lost(source, target, bytes)` says so (ends are named NODE/DEVICE); its sender gets status 12, as it does
when the acknowledgement is lost, or nothing at all where `hangs`. Verbs fail where `errnos` says so.
"""

from __future__ import annotations

import itertools
import time
from collections import deque
from collections.abc import Callable
from typing import Any

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
        self.spoils = False
        self.errnos: dict[tuple[str, str], int] = {}
        self.gids: dict[str, str] = {}
        self.ends: dict[int, FakeEnd] = {}
        self.left = 0
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

    def write(self, size: int) -> None:
        self._pass(WROTE, size)

    def _pass(self, work: int, size: int) -> None:
        self.fail_if("post")
        assert self.peer is not None
        target = self.wires.ends[self.peer.qpn]
        data = self.memory._pages[:size]
        if self.broken:
            self.done.append(Done(work, FLUSHED, 0))
            return
        arrives = not self.wires.is_lost(self.name, target.name, size) and not target.broken
        if arrives:
            target.take(work, bytes(data[:-1]) + b"?" if self.wires.spoils else data)
        if arrives and not self.wires.is_lost(target.name, self.name, ACKNOWLEDGEMENT):
            self.done.append(Done(work, 0, size))
        elif not self.wires.hangs:
            self.gives_up = (time.monotonic() + GIVE_UP_S, work)

    def take(self, work: int, data: bytes) -> None:
        if work == WROTE:
            self.memory._pages[WRITTEN_AT : WRITTEN_AT + len(data)] = data
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
        self.wires.left -= 1
        self.memory.close()
