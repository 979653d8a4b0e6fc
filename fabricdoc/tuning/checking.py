"""The drop-one check as a bench is handed it: which sets to launch after a winner, by the verdict on what was launched.

Only chooses; the bench launches, `pruning` reads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fabricdoc.model.profile import Profile, Stage
from fabricdoc.model.pruning import Pruning
from fabricdoc.model.run import Candidate, Objective, Run
from fabricdoc.tuning.aim import Aim
from fabricdoc.tuning.pruning import checked_lines, is_made, trimmed, without_each
from fabricdoc.tuning.verdict import base_of, judge


def pruning_for(
    profile: Profile,
    objective: Objective,
    *,
    batches: Sequence[Stage] = (),
    weights: Mapping[str, float] | None = None,
) -> Pruning:
    """The check under an objective; the rest as for `judge`."""
    aim = Aim(profile, objective, tuple(batches), weights)

    def winner_of(run: Run) -> Candidate | None:
        choice = judge(run, profile, objective, batches=batches, weights=weights).choice
        chosen = (one for one in run.plan.candidates if one.name == choice and one.role == "candidate")
        return next((one for one in chosen if not is_made(one)), None)

    def without(run: Run) -> tuple[Candidate, ...]:
        winner = winner_of(run)
        each = () if winner is None else without_each(winner, base_of(run))
        return (winner, *each) if winner is not None and each else ()

    def left(run: Run) -> Candidate | None:
        winner = winner_of(run)
        return None if winner is None else trimmed(winner, checked_lines(run, aim, winner, base_of(run)))

    return Pruning(without, left)
