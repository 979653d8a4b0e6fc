"""The drop-one check of a winner, as a bench is handed it by who judges. Never stored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fabricdoc.model.run import Candidate, Run

DROP_ONE = "drop-one"
"""The set_name of candidates made for the check: the winner without one line, and the winner with what is left."""


@dataclass(frozen=True)
class Pruning:
    """`without`: the confirmed winner of a run, then the winner without each line that has to pay for itself; empty
    where there is nothing to check. `left`: the set that the check leaves, None where that is the winner itself."""

    without: Callable[[Run], tuple[Candidate, ...]]
    left: Callable[[Run], Candidate | None]
