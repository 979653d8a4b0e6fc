"""Clocks for a series of collective calls: the host's for blocking calls, CUDA events for enqueued or captured ones.

A clock marks points between calls and afterwards gives the time between two marks, in µs. It calls no collective.
torch is imported inside functions only.
"""

from __future__ import annotations

import time
from typing import Any, Protocol


class Clock(Protocol):
    """Marks points in a series of calls and gives the time between two of them."""

    def begin(self) -> None:
        """A new series: earlier marks may be used again."""

    def mark(self) -> Any:
        """A point after all calls so far."""

    def settle(self) -> None:
        """Wait until every mark has been passed."""

    def between_us(self, earlier: Any, later: Any) -> float:
        """Microseconds from one mark to the other; after `settle`."""


class HostClock:
    """perf_counter_ns: right where a call blocks until it is done (gloo)."""

    def begin(self) -> None:
        """Nothing to prepare."""

    def mark(self) -> int:
        """Now, in nanoseconds."""
        return time.perf_counter_ns()

    def settle(self) -> None:
        """Blocking calls are already done."""

    def between_us(self, earlier: int, later: int) -> float:
        """Microseconds between two marks."""
        return (later - earlier) / 1000


class DeviceClock:
    """CUDA events on the current stream, used again from series to series so that none is made while measuring.

    `external` events become record nodes of a captured graph, passed at every replay; TypeError where torch has none.
    """

    def __init__(self, *, external: bool = False) -> None:
        self._options = {"enable_timing": True, **({"external": True} if external else {})}
        self._events: list[Any] = [self._event()]
        self._used = 0

    def _event(self) -> Any:
        import torch

        return torch.cuda.Event(**self._options)

    def begin(self) -> None:
        """A new series: every event may be recorded again."""
        self._used = 0

    def mark(self) -> Any:
        """Record the next event on the current stream."""
        if self._used == len(self._events):
            self._events.append(self._event())
        event = self._events[self._used]
        self._used += 1
        event.record()
        return event

    def settle(self) -> None:
        """Wait for the GPU."""
        import torch

        torch.cuda.synchronize()

    def between_us(self, earlier: Any, later: Any) -> float:
        """Microseconds between two recorded events (resolution about 0.5 µs)."""
        return float(earlier.elapsed_time(later)) * 1000


class NoClock(HostClock):
    """Marks nothing: for a graph whose replays are timed from outside."""

    def mark(self) -> int:
        """No point in time."""
        return 0


def external_clock() -> DeviceClock | None:
    """A clock for captured graphs, None where this torch can't make external events."""
    try:
        return DeviceClock(external=True)
    except TypeError:
        return None
