"""The state of one launch on one node: which ranks live, what became of the others, when it must be over."""

from __future__ import annotations

import time
from typing import Any

from .memory import available
from .ranks import RankProcess

_WORST_FIRST = (("failed", ("failed", "died", "garbage")), ("timeout", ("timeout",)), ("stopped", ("stopped",)))


class Launch:
    """One launch on this node: its ranks that live, what became of the others, and when it must be over.

    `least_memory` (bytes, 0 = no limit) is what the node must keep available while the launch runs.
    """

    def __init__(self, number: int, deadline_s: float, least_memory: int = 0) -> None:
        self.number = number
        self.deadline_s = deadline_s
        self.least_memory = least_memory
        self.started_s = time.monotonic()
        self.ranks: list[RankProcess] = []
        self.statuses: list[str] = []

    def overdue(self) -> bool:
        """Whether its deadline has passed."""
        return time.monotonic() >= self.started_s + self.deadline_s

    def starving(self) -> bool:
        """Whether the node has less memory left than it must keep."""
        free = available() if self.least_memory else None
        return free is not None and free < self.least_memory

    def status(self) -> str:
        """ok, or the worst of what became of its ranks: failed (also died, garbage), timeout, stopped."""
        for name, kinds in _WORST_FIRST:
            if any(status in kinds for status in self.statuses):
                return name
        return "ok"


def unstarted(rank: int, reason: str) -> dict[str, Any]:
    """The `rank_done` of a rank that never was a process."""
    ending = {"status": "failed", "phase": "fork", "reason": reason, "log": "", "timings_s": {}}
    return {"event": "rank_done", "rank": rank, **ending}
