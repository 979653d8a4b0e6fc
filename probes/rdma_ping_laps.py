"""Round trips of the sizes that decode sends, by RDMA WRITE: what a message of 8 and 20 KiB takes through the verbs.

They come after the messages of a ping have passed, in the same memory, so that no more of it need be locked. Each end
has its bytes ready; per lap only the last eight change, and the peer waits for those (a NIC writes them last). Python
posts and looks, so a time is what verbs take at most. What it means is not judged here.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from .rdma_ping_end import BYTES, HEAD, Memory, message

SIZES = (8192, 20480)
LAPS = 8
FIRST = 128
"""The number of the first lap in its message: above those of the tests and of the small laps."""
TARGET_AT = BYTES - SIZES[-1]
"""Where the peer writes: the end of the memory, where slots to receive in lie that no message is sent to any more."""


class WriteLaps:
    """The laps of one end; `write` posts an RDMA WRITE of so many bytes to TARGET_AT. Side 0 leads.

    `over` when bytes arrived that were not sent.
    """

    def __init__(self, memory: Memory, write: Callable[[int], None], token: int, side: int) -> None:
        self.over = False
        self._memory, self._post, self._token, self._side = memory, write, token, side
        self._lap, self._began = 0, 0.0
        self._times: dict[int, list[float]] = {size: [] for size in SIZES}

    def begin(self) -> None:
        """Lay the bytes ready; side 0 writes the first lap."""
        self._memory.put(message(self._token, self._side, FIRST, SIZES[-1]))
        if self._side == 0:
            self._write()

    @property
    def done(self) -> bool:
        """Whether the last lap was answered, or at side 1: the answer to it is posted."""
        return self._lap == LAPS * len(SIZES)

    def step(self) -> bool:
        """Look whether the peer's lap is here, and answer it; true when it was."""
        if self.done:
            return False
        size = SIZES[self._lap // LAPS]
        if self._memory.at(TARGET_AT + size - HEAD.size, HEAD.size) != self._mark(1 - self._side, size):
            return False
        self._times[size].append(time.monotonic() - self._began)
        self.over = not self._is_whole(size)
        if self._side == 1 and not self.over:
            self._write()
        self._lap += 1
        if self._side == 0 and not self.done and not self.over:
            self._write()
        return True

    def report(self) -> dict[str, list[float]]:
        """Microseconds of every lap by size; side 1's are those from its answer to the next lap."""
        return {str(size): [round(lap * 1e6, 1) for lap in laps] for size, laps in self._times.items() if laps}

    def _mark(self, side: int, size: int) -> bytes:
        return HEAD.pack(self._token, side, FIRST + self._lap, size & 0xFFFF)

    def _write(self) -> None:
        size = SIZES[self._lap // LAPS]
        self._memory.put(self._mark(self._side, size), size - HEAD.size)
        self._began = time.monotonic()
        self._post(size)

    def _is_whole(self, size: int) -> bool:
        """Whether the peer's bytes before the mark are those it had ready (looked at in the first lap of a size)."""
        if self._lap % LAPS:
            return True
        start = 0 if size == SIZES[0] else SIZES[0]  # the marks of smaller laps lie before
        sent = message(self._token, 1 - self._side, FIRST, SIZES[-1])[start : size - HEAD.size]
        return self._memory.at(TARGET_AT + start, len(sent)) == sent
