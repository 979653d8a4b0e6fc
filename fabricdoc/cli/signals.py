"""Ctrl-C, SIGTERM and a closed terminal, all as one KeyboardInterrupt that clearing up is not disturbed by.

Only the command's own process is meant; what it started has ends of its own (pipes, the kernel).
"""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

CLEARING_S = 15.0
"""Longer than clearing up takes (agents 3 s, what ssh left 3 s, the lab 3 s): until then signals say nothing."""
STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class _Ear:
    """Interrupts once; later signals count only when clearing up has taken longer than it may, none when done."""

    def __init__(self) -> None:
        self.done = False
        self._taken_at: float | None = None

    def __call__(self, _number: int, _frame: FrameType | None) -> None:
        now = time.monotonic()
        if not self.done and (self._taken_at is None or now - self._taken_at > CLEARING_S):
            self._taken_at = now
            raise KeyboardInterrupt


@contextmanager
def stopping(*, for_good: bool) -> Iterator[None]:
    """Take the stopping signals inside the block, except those a caller chose to ignore (nohup, a shell's `&`).

    After it the old handlers are back; `for_good` leaves the process deaf instead, for its last milliseconds.
    """
    ear = _Ear()
    before = {number: signal.getsignal(number) for number in STOPPING}
    taken = {number: old for number, old in before.items() if old not in (signal.SIG_IGN, None)}
    try:
        for number in taken:
            signal.signal(number, ear)
        yield
    finally:
        ear.done = True
        for number, old in () if for_good else taken.items():
            signal.signal(number, old)
