"""The state of one launch on one node: which ranks live, what became of the others, when it must be over."""

from __future__ import annotations

import time
from typing import Any

from . import child, states
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
        self.born: list[tuple[int, int]] = []
        self.expired = False
        self.looked_at = 0
        self.looks: list[child.Child] = []
        self._seen: list[tuple[dict[str, Any], str]] = []

    def overdue(self) -> bool:
        """Whether its deadline has passed."""
        return time.monotonic() >= self.started_s + self.deadline_s

    def starving(self) -> bool:
        """Whether the node has less memory left than it must keep."""
        free = available() if self.least_memory else None
        return free is not None and free < self.least_memory

    def look(self) -> None:
        """Begin a look at what could disturb: the first before its ranks are forked, the second when they are done."""
        self.looked_at += 1
        try:
            self.looks.append(child.start(states.look, states.LIMIT_S))
        except OSError as problem:  # then there is no state, and the launch goes on
            self._seen.append(({}, f"could not fork: {problem.strerror}"))

    def measured(self) -> bool:
        """Whether no rank here measures any more."""
        return all(rank.phase == "done" or rank.reaped for rank in self.ranks)

    def looked(self) -> bool:
        """Whether what was begun to be looked at has answered, or will not; waits for nothing."""
        while self.looks and self.looks[0].poll():
            self._seen.append(self.looks.pop(0).finish(0.0))
        return not self.looks

    def state(self) -> dict[str, Any]:
        """model.run.NodeState but for the node's name, from the looks that are over."""
        before, after = (self._seen[index][0] if index < len(self._seen) else {} for index in (0, 1))
        reason = "; ".join(dict.fromkeys(problem for _, problem in self._seen if problem))
        return states.between(before, after, [pid for pid, _ in self.born], reason)

    def ends_others(self) -> str:
        """Why all ranks of the launch must end, "" while they need not; said once."""
        late = [rank for rank in self.ranks if rank.overdue_s()]
        if self.expired or not late:
            return ""
        self.expired = True
        return f"rank {late[0].rank} was overdue in {late[0].where()}"

    def status(self) -> str:
        """ok, or the worst of what became of its ranks: failed (also died, garbage), timeout, stopped."""
        for name, kinds in _WORST_FIRST:
            if any(status in kinds for status in self.statuses):
                return name
        return "ok"


def unstarted(rank: int, reason: str) -> dict[str, Any]:
    """The `rank_done` of a rank that never was a process."""
    ending = {
        "status": "failed",
        "phase": "fork",
        "reason": reason,
        "stack": [],
        "state": "",
        "log": "",
        "timings_s": {},
    }
    return {"event": "rank_done", "rank": rank, **ending}
