"""A run judged for a profile: the stages that the profile asks, handed to the verdict, which knows no engines.

The one place where serving's batches and tuning's verdicts meet. Judges nothing itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fabricdoc.errors import UsageError
from fabricdoc.model.profile import Profile, StepTime
from fabricdoc.model.pruning import Pruning
from fabricdoc.model.run import Objective, Run
from fabricdoc.model.standing import Standings
from fabricdoc.model.verdict import Verdict
from fabricdoc.serving import decode_stages
from fabricdoc.tuning import judge, pruning_for, standings


@dataclass(frozen=True)
class Judge:
    """How runs of one request are judged; `named` is the profile as the user named it, `weights` count under mix."""

    profile: Profile
    objective: Objective
    named: str = ""
    weights: Mapping[str, float] | None = None

    def verdict(self, run: Run, objective: Objective | None = None) -> Verdict:
        """The verdict on the run, under another objective where one is named."""
        return judge(
            run,
            self.profile,
            objective or self.objective,
            batches=decode_stages(self.profile),
            weights=self.weights,
            named=self.named,
        )

    def pruning(self) -> Pruning:
        """The drop-one check of its winner."""
        batches = decode_stages(self.profile)
        return pruning_for(self.profile, self.objective, batches=batches, weights=self.weights)

    def standings(self, run: Run) -> Standings:
        """How its candidates do so far."""
        batches = decode_stages(self.profile)
        return standings(run, self.profile, self.objective, batches=batches, weights=self.weights)


def with_step(profile: Profile, step: StepTime | None) -> Profile:
    """The profile with what the user says of its step in place of its own, tokens too (None: as it is)."""
    return profile if step is None else profile.model_copy(update={"step": step})


def check_weights(weights: Mapping[str, float] | None, objective: Objective) -> None:
    """UsageError for weights under an objective that has none."""
    if weights and objective != "mix":
        raise UsageError(
            f"--weights makes one number of decode and prefill, and objective {objective} asks for {objective} alone",
            fix="leave out one of --weights and --objective",
        )
