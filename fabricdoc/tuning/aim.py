"""What a run is judged for: the objective, the stages of the served model that count, and their weights.

`batches` are the decode steps that are asked (one for every batch the server captures); who knows them hands them in.
Holds no measurement and judges nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from fabricdoc.model.profile import Profile, Stage
from fabricdoc.model.run import Objective

Phase = Literal["decode", "prefill", "weighted"]
PHASES: tuple[Phase, ...] = ("decode", "prefill")
PER = {"decode": "per decode step", "prefill": "per prefill chunk", "weighted": "by weight of decode and prefill"}


@dataclass(frozen=True)
class Aim:
    """A profile and an objective; `weights` (decode and prefill, positive) make one number of both stages under mix.

    `named` is the profile as a command line names it.
    """

    profile: Profile
    objective: Objective = "mix"
    batches: tuple[Stage, ...] = ()
    weights: Mapping[str, float] | None = None
    named: str = ""

    def stages(self, phase: Phase) -> tuple[Stage, ...]:
        """The stages of a phase: every decode step that is asked, ascending in rows, or the one prefill chunk."""
        if phase == "prefill":
            return (self.profile.prefill,)
        return tuple(sorted(self.batches, key=lambda stage: stage.rows)) or (self.profile.decode,)

    @property
    def weighted(self) -> Mapping[str, float] | None:
        """The weights where they count: under mix."""
        return self.weights if self.objective == "mix" and self.weights else None
