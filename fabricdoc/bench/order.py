"""One launch as the agents are told it: who takes part, with which environment, to do what, for how long."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class LaunchOrder:
    """One launch as the agents need it. `environment` and `ranks` are keyed by node name."""

    number: int
    backend: str
    world: int
    ranks: Mapping[str, Sequence[Mapping[str, int]]]
    environment: Mapping[str, Mapping[str, str]]
    work: Mapping[str, object]
    deadline_s: float
    master: str
    memory: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    def message(self, node: str) -> dict[str, Any]:
        """The launch message for one node."""
        return {
            "do": "launch",
            "number": self.number,
            "backend": self.backend,
            "world": self.world,
            "ranks": [dict(rank) for rank in self.ranks[node]],
            "env": dict(self.environment[node]),
            "unset": [],
            "deadline_s": self.deadline_s,
            "work": dict(self.work),
            "memory": dict(self.memory.get(node, {})),
        }
