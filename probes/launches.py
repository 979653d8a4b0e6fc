"""The state of one launch on one node: which ranks live, what became of the others, when it must be over."""

from __future__ import annotations

import time
from typing import Any

from .ranks import RankProcess

_WORST_FIRST = (("failed", ("failed", "died", "garbage")), ("timeout", ("timeout",)), ("stopped", ("stopped",)))


class Launch:
    """One launch on this node: its ranks that live, what became of the others, and when it must be over."""

    def __init__(self, number: int, deadline_s: float) -> None:
        self.number = number
        self.deadline_s = deadline_s
        self.started_s = time.monotonic()
        self.ranks: list[RankProcess] = []
        self.statuses: list[str] = []

    def overdue(self) -> bool:
        """Whether its deadline has passed."""
        return time.monotonic() >= self.started_s + self.deadline_s

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
