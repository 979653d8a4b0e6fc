"""The time a user gave, while a run goes on: whether the next block fits, and what must be left for later.

Pure arithmetic on counts and seconds; the clock is read elsewhere. Whether the whole plan fits is `fitting`'s business,
before anything starts.
"""

from __future__ import annotations

from dataclasses import dataclass

from fabricdoc.bench.plan import DECIDING_BLOCKS

SLACK = 1.1  # a launch may take longer than the usual one by so much


def confirm_launches() -> int:
    """The launches that confirm one winner: base twice and the winner, in fresh blocks."""
    return 3 * DECIDING_BLOCKS


@dataclass(frozen=True)
class Purse:
    """What is left: `limit` in seconds (None: no limit), `spent` so far, and the usual `launch`, all in seconds."""

    limit: float | None
    spent: float
    launch: float

    def holds(self, launches: int, reserve: int = 0) -> bool:
        """Whether so many launches fit, and after them the reserved ones."""
        return self.limit is None or self.spent + (launches + reserve) * self.launch * SLACK <= self.limit
