"""One candidate of a run, judged against base: settled without a number, or decided by what it weighs, then confirmed.

Which set to use is `verdict`'s business. Measures nothing, prints nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fabricdoc.model.run import Candidate, Launch, Objective, Run
from fabricdoc.model.verdict import CandidateVerdict, Interval, StepEffect
from fabricdoc.tuning.aim import Aim
from fabricdoc.tuning.comparing import BLOCKS_TO_CALL, BLOCKS_TO_SPEAK, Reading, compare_to
from fabricdoc.tuning.doubts import needed, noise_text, too_noisy
from fabricdoc.tuning.objective import Decision, decide
from fabricdoc.tuning.settled import Settled, failed, grade_of, incorrect
from fabricdoc.tuning.steps import own_step, step_effect, step_text
from fabricdoc.tuning.weighing import Scales, Weighed, weigh
from fabricdoc.tuning.wording import counted, interval_text


@dataclass(frozen=True)
class Weighing:
    """One round's scales, what each of its live candidates weighs, and how many readings may be called at once."""

    scales: Scales
    weighed: Mapping[str, Weighed]
    comparisons: int


@dataclass(frozen=True)
class Judged:
    """A candidate with its verdict, what it weighed in the search, and what that meant under the objective."""

    candidate: Candidate
    verdict: CandidateVerdict
    search: Weighed | None = None
    decision: Decision | None = None


def launches_of(run: Run, name: str) -> tuple[Launch, ...]:
    """Every launch of a candidate, in order."""
    return tuple(launch for launch in run.launches if launch.candidate == name)


def weigh_round(scales: Scales, live: Sequence[str], current: str | None, *, due: int) -> Weighing:
    """Weigh every live candidate that the round has; the intervals are corrected for all of them, dropped ones too.

    `due` is the number of stages in which each of them may win: to be confirmed, it is the one that it won in.
    """
    tried = [name for name in live if scales.paired(name)]
    weighed = {name: weigh(name, scales, len(tried), due=due, current=current) for name in tried}
    return Weighing(scales, weighed, due * (len(tried) or 1))


def judge_candidate(
    one: Candidate, run: Run, settled: Settled | None, search: Weighing, confirm: Weighing, aim: Aim
) -> Judged:
    """The verdict on one candidate: what its launches settle, else what it weighs in the search, then confirmed."""
    proof = grade_of(launches_of(run, one.name))
    if settled is not None:
        reason = sentence(settled.reason)
        return Judged(one, CandidateVerdict(name=one.name, verdict=settled.verdict, reason=reason, proof=proof))
    weighed = search.weighed.get(one.name)
    if weighed is None or _dropped(run, weighed):
        reason = "It was not launched in a complete block." if weighed is None else _dropped_reason(weighed)
        return Judged(one, CandidateVerdict(name=one.name, verdict="inconclusive", reason=reason, proof=proof))
    decision = _unless_hidden(decide(weighed, aim.objective, search.scales.recipes), search, weighed)
    confirmed, again = _confirmation(one, decision, confirm, aim.objective)
    reading, against = _main(weighed, decision), weighed.against_current.get(decision.phase or "decode")
    step = step_effect(own_step(weighed, aim.profile), aim.profile.step)
    verdict = CandidateVerdict(
        name=one.name,
        verdict="same" if confirmed is False else decision.verdict,
        reason=_with_step(_reason(one, decision, confirmed, again, against), step),
        score=None if reading is None else reading.interval,
        confirmed=confirmed,
        confirmation=again,
        cells=weighed.cells,
        proof=proof,
        against_current=None if against is None else against.interval,
        current_verdict=None if against is None else against.verdict,
        smallest_effect=None if reading is None else reading.smallest_effect,
        blocks_needed=_needed(search, weighed, decision),
        step=step,
    )
    return Judged(one, verdict, weighed, decision)


def judge_left(left: Candidate, winner: Candidate, last: Scales, aim: Aim, run: Run) -> Judged | None:
    """The set that a drop-one check left, judged in its own fresh blocks against base, and held against the winner.

    None where it is not better than base in blocks enough, or worse there than the winner it was made from, or where a
    launch of it failed or gave a wrong result.
    """
    own = launches_of(run, left.name)
    if failed(own) or incorrect(own):
        return None
    weighed = weigh(left.name, last, 1)
    decision = decide(weighed, aim.objective, last.recipes)
    if decision.verdict != "better" or decision.phase is None or weighed.blocks < BLOCKS_TO_CALL:
        return None
    beside = compare_to(last.stages[decision.phase], left.name, winner.name, 1)
    if beside is None or beside.verdict not in ("same", "better"):
        return None
    reading = weighed.stages[decision.phase]
    step = step_effect(own_step(weighed, aim.profile), aim.profile.step)
    reason = sentence(f"{winner.name} without the lines that do not pay, in fresh blocks: {decision.reason}")
    verdict = CandidateVerdict(
        name=left.name, verdict="better", reason=_with_step(reason, step), score=reading.interval, confirmed=True,
        confirmation=reading.interval, cells=weighed.cells, smallest_effect=reading.smallest_effect, step=step,
        proof=grade_of(own),
    )  # fmt: skip
    return Judged(left, verdict, weighed, decision)


def _with_step(reason: str, step: StepEffect | None) -> str:
    told = step_text(step)
    return f"{reason[:-1]}; {told}." if told else reason


def _dropped(run: Run, weighed: Weighed) -> bool:
    """Whether an adaptive search let the candidate go before there were blocks enough to say anything."""
    return run.plan.search == "adaptive" and weighed.blocks < BLOCKS_TO_SPEAK and run.status == "complete"


def _dropped_reason(weighed: Weighed) -> str:
    readings = list(weighed.stages.values())
    seen = f" ({interval_text(readings[0].interval)})" if readings else ""
    return f"Left by the search after {counted(weighed.blocks, 'block')}{seen}: others were faster."


def _unless_hidden(decision: Decision, search: Weighing, weighed: Weighed) -> Decision:
    """The decision, or inconclusive where "same" only means that noise would have hidden a large effect."""
    reading = _main(weighed, decision)
    if decision.verdict != "same" or weighed.lost or weighed.breached or reading is None or not too_noisy(reading):
        return decision
    return Decision("inconclusive", noise_text(reading, _needed(search, weighed, decision)), decision.phase)


def _needed(search: Weighing, weighed: Weighed, decision: Decision) -> int | None:
    phase = decision.phase or next(iter(weighed.stages), None)
    if phase is None or phase not in weighed.stages:
        return None
    return needed(weighed.stages[phase], search.scales.stages[phase], search.comparisons)


def _main(weighed: Weighed, decision: Decision) -> Reading | None:
    """The reading of the stage the decision rests on, else of the first stage that was read."""
    readings = [weighed.stages[decision.phase]] if decision.phase else list(weighed.stages.values())
    return readings[0] if readings else None


def _confirmation(
    one: Candidate, decision: Decision, confirm: Weighing, objective: Objective
) -> tuple[bool | None, Interval | None]:
    """Whether a winner won again in fresh blocks alone (None: not due, or too few of them), and by how much."""
    weighed = confirm.weighed.get(one.name)
    if one.role != "candidate" or decision.verdict != "better" or weighed is None or decision.phase is None:
        return None, None
    reading = weighed.stages.get(decision.phase)
    interval = None if reading is None else reading.interval
    if interval is None or interval.blocks < BLOCKS_TO_CALL:
        return None, interval
    again = decide(weighed, objective, confirm.scales.recipes)
    return again.verdict == "better" and weighed.stages[decision.phase].verdict == "better", interval


def _reason(
    one: Candidate, decision: Decision, confirmed: bool | None, again: Interval | None, against: Reading | None
) -> str:
    told = _against_base(one, decision, confirmed, again)
    if against is None or against.interval.blocks < BLOCKS_TO_SPEAK:
        return told
    return f"{told[:-1]}; against your current settings: {interval_text(against.interval)}, {against.verdict}."


def _against_base(one: Candidate, decision: Decision, confirmed: bool | None, again: Interval | None) -> str:
    if one.role == "current":
        return sentence(f"Your current settings against base: {decision.reason}")
    if one.role == "default":
        return sentence(f"Bare defaults against base: {decision.reason}")
    if decision.verdict != "better":
        return sentence(decision.reason)
    if confirmed:
        return sentence(f"{decision.reason}; again in fresh blocks: {'' if again is None else interval_text(again)}")
    if confirmed is False:
        seen = "" if again is None else f" (fresh blocks: {interval_text(again)})"
        return sentence(f"Won once, not again{seen}; the search had shown {decision.reason}")
    fresh = 0 if again is None else again.blocks
    return sentence(f"{decision.reason}; not confirmed: {fresh} of {BLOCKS_TO_CALL} fresh blocks were measured")


def sentence(text: str) -> str:
    """One sentence: a capital first letter and a stop."""
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}"
