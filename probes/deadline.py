"""The time limit of a whole scan: what was read by then is reported, the rest is unknown.

One SIGALRM at a time ends the read that overran, also inside a blocking system call. A read that hangs in
the kernel (uninterruptible sleep) can't be ended this way: such work belongs in a forked child (`child`).
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from types import FrameType
from typing import Any, TypeVar

from .facts import attempt, unknown

T = TypeVar("T")
TIME_LIMIT = "time limit"


class TimeUp(BaseException):
    """Raised by the alarm; not an Exception, so that no section takes it for a read that failed."""


def _raise(_number: int, _frame: FrameType | None) -> None:
    raise TimeUp


class Deadline:
    """The end of a scan on the monotonic clock, and how long each section took in milliseconds."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds
        self.timings_ms: dict[str, float] = {}

    def left(self) -> float:
        """Seconds until the end, never negative."""
        return max(0.0, self._end - time.monotonic())

    def read(self, name: str, read: Callable[[], Any]) -> Any:
        """What `read` returns, why it failed, or unknown("time limit"); its time goes under `name`."""
        return self.timed(name, lambda: self._within(lambda: attempt(read)))

    def timed(self, name: str, read: Callable[[], T]) -> T:
        """What `read` returns, which keeps to the end by itself; its time goes under `name`."""
        begun = time.monotonic()
        try:
            return read()
        finally:
            self.timings_ms[name] = round((time.monotonic() - begun) * 1000, 3)

    def _within(self, read: Callable[[], Any]) -> Any:
        left = self.left()
        if left <= 0:
            return unknown(TIME_LIMIT)
        before = signal.signal(signal.SIGALRM, _raise)
        try:
            try:
                signal.setitimer(signal.ITIMER_REAL, left)
                return read()
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
        except TimeUp:
            return unknown(TIME_LIMIT)
        finally:
            signal.signal(signal.SIGALRM, before)
