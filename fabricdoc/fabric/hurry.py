"""One deadline over every wait of this room: inside `within`, no wait for a node goes beyond it.

Each step has its own limit, made for a scan; a gate has one for everything. Ends nothing: who waits gives up.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_until: ContextVar[float] = ContextVar("until", default=math.inf)


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Inside, waits end `seconds` from now; an outer block's end counts too."""
    token = _until.set(min(_until.get(), time.monotonic() + seconds))
    try:
        yield
    finally:
        _until.reset(token)


def at_most(seconds: float) -> float:
    """The seconds a wait may take that has `seconds` by itself; never below 0."""
    return max(0.0, min(seconds, _until.get() - time.monotonic()))
