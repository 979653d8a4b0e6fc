"""The patch panel: Ethernet frames between the guests' ports, by a table that is changed while they run.

One datagram is one frame (QEMU's dgram netdev over AF_UNIX); the sender is known by its socket's path. Runs in a
thread, so it ends with the process. It never looks deeper into a frame than its EtherType.
"""

from __future__ import annotations

import contextlib
import select
import socket
import threading
from collections import deque
from collections.abc import Mapping
from pathlib import Path

BEACON = b"\x88\xb5"
KEPT = 64
LARGEST = 1 << 17
NO_LIMIT = 1 << 16
Table = Mapping[str, Mapping[str, int]]


def cable(first: str, second: str, largest: int = NO_LIMIT) -> dict[str, dict[str, int]]:
    """A table entry that joins two ports both ways; frames above `largest` bytes are lost."""
    return {first: {second: largest}, second: {first: largest}}


def one_way(source: str, target: str) -> dict[str, dict[str, int]]:
    """A table entry that carries frames in one direction only."""
    return {source: {target: NO_LIMIT}}


def switch(*ports: str) -> dict[str, dict[str, int]]:
    """A table in which every port hears every other."""
    return {one: {other: NO_LIMIT for other in ports if other != one} for one in ports}


class Panel:
    """Forwards between `ports` (name -> the path QEMU's socket is bound to) as `wire` last said; starts unwired."""

    def __init__(self, path: Path, ports: Mapping[str, Path]) -> None:
        self.path = path
        self._paths = {name: str(port) for name, port in ports.items()}
        self._names = {port: name for name, port in self._paths.items()}
        self._table: Table = {}
        self.beacons: deque[bytes] = deque(maxlen=KEPT)
        self.lost = 0
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(path))
        self._socket.setblocking(False)
        self._stop, self._stopped = socket.socketpair()
        self._thread = threading.Thread(target=self._forward, name="patch panel", daemon=True)
        self._thread.start()

    def wire(self, *entries: Table) -> bool:
        """From now on these cables and no other; entries naming one port add up. Whether that is another wiring."""
        table: dict[str, dict[str, int]] = {}
        for entry in entries:
            for source, targets in entry.items():
                table.setdefault(source, {}).update(targets)
        before, self._table = self._table, table
        return before != table

    def inject(self, target: str, frame: bytes) -> None:
        """A frame from a port that belongs to no guest."""
        self._send(target, frame)

    def close(self) -> None:
        """Stop forwarding and let the sockets go."""
        self._stop.close()
        self._thread.join(5)
        self._socket.close()
        self._stopped.close()
        self.path.unlink(missing_ok=True)

    def _forward(self) -> None:
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        poll.register(self._stopped, select.POLLIN | select.POLLHUP)
        while True:
            ready = {descriptor for descriptor, _ in poll.poll()}
            if self._stopped.fileno() in ready:
                return
            with contextlib.suppress(BlockingIOError):
                while True:
                    self._pass(*self._socket.recvfrom(LARGEST))

    def _pass(self, frame: bytes, source: str) -> None:
        if frame[12:14] == BEACON:
            self.beacons.append(frame)
        for target, largest in self._table.get(self._names.get(source, ""), {}).items():
            if len(frame) <= largest:
                self._send(target, frame)
            else:
                self.lost += 1

    def _send(self, target: str, frame: bytes) -> None:
        """Hand a frame over; a guest that does not take it loses it, as on a wire."""
        try:
            self._socket.sendto(frame, self._paths[target])
        except OSError:
            self.lost += 1
