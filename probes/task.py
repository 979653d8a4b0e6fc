"""What one rank of one launch is to do, as its agent hands it over at the fork."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Task:
    """One rank of one launch. `started_s` is time.monotonic() when the agent received it; `work` as in the protocol."""

    number: int
    backend: str
    world: int
    rank: int
    local_rank: int
    deadline_s: float
    started_s: float
    work: Mapping[str, Any]
