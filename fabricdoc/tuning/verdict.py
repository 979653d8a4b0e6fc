"""The verdict on a run: every candidate judged against base, and which set to use.

Made from stored launches and a profile alone, so a run can be judged again under another objective or profile without
measuring. A search round finds candidates that win; one that wins again in fresh blocks is chosen; then each of its
lines has to pay for itself, and what is left is confirmed once more. Measures nothing, writes no preset.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fabricdoc.bench.statistics import interval_half_width, smallest_effect
from fabricdoc.errors import InputError
from fabricdoc.model.profile import Profile, Stage
from fabricdoc.model.run import Candidate, Launch, Objective, Round, Run
from fabricdoc.model.verdict import LineVerdict, Verdict
from fabricdoc.tuning.aim import Aim, Phase
from fabricdoc.tuning.between import Choices
from fabricdoc.tuning.blocks import CONFIRMED, SEARCHED, Block, blocks_of, quarantined
from fabricdoc.tuning.choosing import best_of, choice_reason, outsiders, told_trade, waiting_of
from fabricdoc.tuning.comparing import BLOCKS_TO_SPEAK
from fabricdoc.tuning.deciding import Judged, Weighing, judge_candidate, judge_left, launches_of, weigh_round
from fabricdoc.tuning.doubts import advice_of, drift_of
from fabricdoc.tuning.filling import fill_text
from fabricdoc.tuning.objective import due_phases, main_phase
from fabricdoc.tuning.obstacles import doubt_of, hidden, obstacle_of, unseen_of
from fabricdoc.tuning.pruning import Checked, checked_lines, is_made, kept_together, split_blocks, trimmed
from fabricdoc.tuning.settled import merged_proof, settle
from fabricdoc.tuning.steps import communication_ms
from fabricdoc.tuning.weighing import Scales


def judge(
    run: Run,
    profile: Profile,
    objective: Objective = "mix",
    *,
    batches: Sequence[Stage] = (),
    weights: Mapping[str, float] | None = None,
    named: str = "",
) -> Verdict:
    """Judge a run under an objective with the traffic of a profile.

    `batches` are the decode steps to ask (default: the profile's own alone), `weights` what decode and prefill count
    under mix, `named` the profile as a command line names it. `conclusive` is False when base failed, fewer than 5
    blocks are complete, or the stages of the objective were not measured. A winner that still lacks its confirmation
    leaves base the choice, and the reason says so. `floor` and `smallest_effect` are ratios minus 1 of the objective's
    first stage (0.0 when nothing could have been called).
    Raises InputError for a run without base.
    """
    aim = Aim(profile, objective, tuple(batches), weights, named or profile.name)
    base = base_of(run)
    base_launches = launches_of(run, base.name)
    tried = [one for one in run.plan.candidates if one.name != base.name and not is_made(one)]
    settled = {one.name: settle(one, launches_of(run, one.name), base_launches) for one in tried}
    live = [name for name, verdict in settled.items() if verdict is None]
    current = next((one.name for one in tried if one.role == "current" and one.name in live), None)
    grounds = _Grounds.of(run, aim, base, live)
    scales = grounds.scales(SEARCHED)
    search = weigh_round(scales, live, current, due=len(due_phases(objective, scales.recipes)) or 1)
    confirm = weigh_round(grounds.scales(CONFIRMED), live, current, due=1)
    judged = [judge_candidate(one, run, settled[one.name], search, confirm, aim) for one in tried]
    return _verdict(grounds, base_launches, search, judged)


def base_of(run: Run) -> Candidate:
    """The run's base; InputError without one."""
    for one in run.plan.candidates:
        if one.role == "base":
            return one
    raise InputError(f"run {run.id} has no base to judge against", fix="measure again: fabricdoc bench")


@dataclass(frozen=True)
class _Grounds:
    """What every round is weighed with: the run, the aim, base, and what NCCL chose under each candidate."""

    run: Run
    aim: Aim
    base: Candidate
    choices: Mapping[str, Choices]

    @classmethod
    def of(cls, run: Run, aim: Aim, base: Candidate, live: Sequence[str]) -> _Grounds:
        return cls(run, aim, base, {name: _choices(launches_of(run, name)) for name in (base.name, *live)})

    def scales(self, rounds: Sequence[Round], *, last: bool = False) -> Scales:
        """The scales of these rounds; `last`: the blocks that confirm what a drop-one check left, else all others."""
        blocks, tails = self._blocks(rounds, last=last)
        return Scales.of(blocks, self.aim, tails, self.choices, self.base.name)

    def _blocks(self, rounds: Sequence[Round], *, last: bool) -> tuple[Sequence[Block], Sequence[Block]]:
        medians = blocks_of(self.run, rounds, self.base.name)
        slowest = blocks_of(self.run, rounds, self.base.name, "p99_us")
        return split_blocks(self.run, medians)[last], split_blocks(self.run, slowest)[last]


def _choices(launches: Sequence[Launch]) -> dict[tuple[str, int], str]:
    """What NCCL chose by op and size, as its log shows: "ring/ll"."""
    proof = merged_proof(launches)
    return {} if proof is None else {
        (one.op, one.size): f"{one.algorithm}/{one.protocol}".lower() for one in proof.choices
    }  # fmt: skip


def _verdict(grounds: _Grounds, base_launches: Sequence[Launch], search: Weighing, judged: Sequence[Judged]) -> Verdict:
    run, aim, scales = grounds.run, grounds.aim, search.scales
    phase = main_phase(aim.objective, scales.recipes)
    drift = None if phase is None else drift_of(scales.stages[phase])
    verdicts = [one.verdict for one in judged]
    obstacle = obstacle_of(run, aim.objective, base_launches, search, verdicts) or doubt_of(judged, drift)
    winner = None if obstacle else best_of(judged)
    best, lines = (None, ()) if winner is None else _pruned(grounds, winner)
    waiting = [] if obstacle or best else waiting_of(judged)
    shown = judged if best is winner or best is None else [*judged, best]
    effect = _smallest(search, phase)
    left_out = quarantined(run)
    blocks = [one.verdict.blocks_needed for one in judged if one.decision and one.decision.verdict == "inconclusive"]
    worth = max((one for one in blocks if one), default=None)
    noisy, per_block = best is None and bool(hidden(judged)), len(judged) + 2
    advice = advice_of(drift, left_out, run.plan.blocks, noisy=noisy, blocks=worth, per_block=per_block)
    due = due_phases(aim.objective, scales.recipes)
    spent = communication_ms(scales, aim.profile)
    step = aim.profile.step
    return Verdict(
        run=run.id,
        objective=aim.objective,
        profile=aim.profile.name,
        backend=run.plan.backend,
        choice=best.candidate.name if best else "base",
        reason=obstacle or choice_reason(best, waiting, judged, effect, nothing=phase is None),
        conclusive=not obstacle,
        blocks=len(scales.blocks),
        floor=0.0 if phase is None else scales.stages[phase].floor,
        smallest_effect=effect,
        candidates=tuple(one.verdict for one in shown),
        trade=told_trade(best, judged, aim.objective, search, base_launches) + outsiders(judged),
        drift=drift,
        quarantined=left_out,
        advice=(*unseen_of(best), *advice, *fill_text(run, scales.recipes, aim.named, due)),
        weights=dict(aim.weighted or {}),
        communication_ms=spent,
        ceiling=step.ceiling_text(spent) if step is not None and spent is not None else "",
        lines=lines,
    )


def _smallest(search: Weighing, phase: Phase | None) -> float:
    """The effect of that stage that would just have been called, as a ratio minus 1; 0.0 where none could."""
    if phase is None:
        return 0.0
    halves = [
        interval_half_width(one.stages[phase].interval)
        for one in search.weighed.values()
        if phase in one.stages and one.blocks >= BLOCKS_TO_SPEAK
    ]
    return smallest_effect(halves, search.scales.stages[phase].floor) if halves else 0.0


def _pruned(grounds: _Grounds, winner: Judged) -> tuple[Judged, tuple[LineVerdict, ...]]:
    """The winner, or what the drop-one check left of it where that was confirmed; with the verdict on every line."""
    checked = checked_lines(grounds.run, grounds.aim, winner.candidate, grounds.base)
    left = trimmed(winner.candidate, checked)
    if left is None:
        return winner, _told(checked, winner)
    again = judge_left(left, winner.candidate, grounds.scales(CONFIRMED, last=True), grounds.aim, grounds.run)
    return (winner, _told(checked, winner)) if again is None else (again, _told(checked, again))


def _told(checked: Sequence[Checked], chosen: Judged) -> tuple[LineVerdict, ...]:
    """Every line's verdict; one that does not pay alone and stays all the same says why."""
    stays = kept_together(checked) if not is_made(chosen.candidate) else {}
    return tuple(
        one.line.model_copy(update={"reason": f"{one.line.reason}; {stays[one.line.name]}"})
        if one.line.name in stays
        else one.line
        for one in checked
    )
