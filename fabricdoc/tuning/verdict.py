"""The verdict on a run: every candidate judged against base, and which set to use.

Made from stored launches and a profile alone, so a run can be judged again under another objective or profile without
measuring. A search round finds candidates that win; only one that wins again in fresh blocks is chosen. Measures
nothing, prints nothing, writes no preset.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fabricdoc.bench.statistics import interval_half_width, smallest_effect
from fabricdoc.errors import InputError
from fabricdoc.model.profile import Profile
from fabricdoc.model.run import Candidate, Launch, Objective, Run
from fabricdoc.model.verdict import CandidateVerdict, Drift, Interval, Verdict
from fabricdoc.tuning.blocks import CONFIRMED, SEARCHED, blocks_of, quarantined
from fabricdoc.tuning.comparing import BLOCKS_TO_CALL, BLOCKS_TO_SPEAK, Reading
from fabricdoc.tuning.doubts import advice_of, drift_of, drift_text, drifted, needed, noise_text, too_noisy
from fabricdoc.tuning.objective import NOTHING_SENT, Decision, decide, due_phases, main_phase
from fabricdoc.tuning.settled import Settled, failed, grade_of, incorrect, settle
from fabricdoc.tuning.trade import beyond_of, trade_of
from fabricdoc.tuning.weighing import Scales, Weighed, weigh
from fabricdoc.tuning.wording import counted, effect_text, interval_text


@dataclass(frozen=True)
class _Round:
    """One round's scales, what each of its live candidates weighs, and how many readings may be called at once."""

    scales: Scales
    weighed: Mapping[str, Weighed]
    comparisons: int


@dataclass(frozen=True)
class _Judged:
    """A candidate with its verdict, what it weighed in the search, and what that meant under the objective."""

    candidate: Candidate
    verdict: CandidateVerdict
    search: Weighed | None = None
    decision: Decision | None = None


def judge(run: Run, profile: Profile, objective: Objective = "mix") -> Verdict:
    """Judge a run under an objective with the traffic of a profile.

    `conclusive` is False when base failed, fewer than 5 blocks are complete, or the stages of the objective were not
    measured. A winner that still lacks its confirmation leaves base the choice, and the reason says so. `floor` and
    `smallest_effect` are ratios minus 1 of the objective's first stage (0.0 when nothing could have been called).
    Raises InputError for a run without base.
    """
    base = _base(run)
    base_launches = _launches(run, base.name)
    settled = {
        one.name: settle(one, _launches(run, one.name), base_launches)
        for one in run.plan.candidates
        if one.name != base.name
    }
    live = [name for name, verdict in settled.items() if verdict is None]
    current = next((one.name for one in run.plan.candidates if one.role == "current" and one.name in live), None)
    scales = Scales.of(blocks_of(run, SEARCHED, base.name), profile)
    search = _round(scales, live, current, due=len(due_phases(objective, scales.recipes)) or 1)
    confirm = _round(Scales.of(blocks_of(run, CONFIRMED, base.name), profile), live, current, due=1)
    judged = [
        _judge_candidate(one, run, settled[one.name], search, confirm, objective)
        for one in run.plan.candidates
        if one.name != base.name
    ]
    return _verdict(run, profile, objective, base_launches, search, judged)


def _base(run: Run) -> Candidate:
    for one in run.plan.candidates:
        if one.role == "base":
            return one
    raise InputError(f"run {run.id} has no base to judge against", fix="measure again: fabricdoc bench")


def _launches(run: Run, name: str) -> tuple[Launch, ...]:
    return tuple(launch for launch in run.launches if launch.candidate == name)


def _round(scales: Scales, live: Sequence[str], current: str | None, *, due: int) -> _Round:
    """Weigh every live candidate that the round has; the intervals are corrected for all of them, dropped ones too.

    `due` is the number of stages in which each of them may win: to be confirmed, it is the one that it won in.
    """
    tried = [name for name in live if scales.paired(name)]
    weighed = {name: weigh(name, scales, len(tried), due=due, current=current) for name in tried}
    return _Round(scales, weighed, due * (len(tried) or 1))


def _judge_candidate(
    one: Candidate, run: Run, settled: Settled | None, search: _Round, confirm: _Round, objective: Objective
) -> _Judged:
    proof = grade_of(_launches(run, one.name))
    if settled is not None:
        return _Judged(one, CandidateVerdict(name=one.name, verdict=settled.verdict, reason=_stop(settled.reason),
                                             proof=proof))  # fmt: skip
    weighed = search.weighed.get(one.name)
    if weighed is None or _dropped(run, weighed):
        reason = "It was not launched in a complete block." if weighed is None else _dropped_reason(weighed)
        return _Judged(one, CandidateVerdict(name=one.name, verdict="inconclusive", reason=reason, proof=proof))
    decision = _unless_hidden(decide(weighed, objective, search.scales.recipes), search, weighed)
    confirmed, again = _confirmation(one, decision, confirm, objective)
    reading, against = _main(weighed, decision), weighed.against_current.get(decision.phase or "decode")
    verdict = CandidateVerdict(
        name=one.name,
        verdict="same" if confirmed is False else decision.verdict,
        reason=_reason(one, decision, confirmed, again, against),
        score=None if reading is None else reading.interval,
        confirmed=confirmed,
        confirmation=again,
        cells=weighed.cells,
        proof=proof,
        against_current=None if against is None else against.interval,
        current_verdict=None if against is None else against.verdict,
        smallest_effect=None if reading is None else reading.smallest_effect,
        blocks_needed=_needed(search, weighed, decision),
    )
    return _Judged(one, verdict, weighed, decision)


def _dropped(run: Run, weighed: Weighed) -> bool:
    """Whether an adaptive search let the candidate go before there were blocks enough to say anything."""
    return run.plan.search == "adaptive" and weighed.blocks < BLOCKS_TO_SPEAK and run.status == "complete"


def _dropped_reason(weighed: Weighed) -> str:
    readings = list(weighed.stages.values())
    seen = f" ({interval_text(readings[0].interval)})" if readings else ""
    return f"Left by the search after {counted(weighed.blocks, 'block')}{seen}: others were faster."


def _unless_hidden(decision: Decision, search: _Round, weighed: Weighed) -> Decision:
    """The decision, or inconclusive where "same" only means that noise would have hidden a large effect."""
    reading = _main(weighed, decision)
    if decision.verdict != "same" or weighed.lost or reading is None or not too_noisy(reading):
        return decision
    return Decision("inconclusive", noise_text(reading, _needed(search, weighed, decision)), decision.phase)


def _needed(search: _Round, weighed: Weighed, decision: Decision) -> int | None:
    phase = decision.phase or next(iter(weighed.stages), None)
    if phase is None or phase not in weighed.stages:
        return None
    return needed(weighed.stages[phase], search.scales.stages[phase], search.comparisons)


def _main(weighed: Weighed, decision: Decision) -> Reading | None:
    """The reading of the stage the decision rests on, else of the first stage that was read."""
    readings = [weighed.stages[decision.phase]] if decision.phase else list(weighed.stages.values())
    return readings[0] if readings else None


def _confirmation(
    one: Candidate, decision: Decision, confirm: _Round, objective: Objective
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
        return _stop(f"Your current settings against base: {decision.reason}")
    if one.role == "default":
        return _stop(f"Bare defaults against base: {decision.reason}")
    if decision.verdict != "better":
        return _stop(decision.reason)
    if confirmed:
        return _stop(f"{decision.reason}; again in fresh blocks: {'' if again is None else interval_text(again)}")
    if confirmed is False:
        seen = "" if again is None else f" (fresh blocks: {interval_text(again)})"
        return _stop(f"Won once, not again{seen}; the search had shown {decision.reason}")
    fresh = 0 if again is None else again.blocks
    return _stop(f"{decision.reason}; not confirmed: {fresh} of {BLOCKS_TO_CALL} fresh blocks were measured")


def _stop(text: str) -> str:
    """One sentence: a capital first letter and a stop."""
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}"


def _verdict(
    run: Run,
    profile: Profile,
    objective: Objective,
    base_launches: Sequence[Launch],
    search: _Round,
    judged: Sequence[_Judged],
) -> Verdict:
    scales = search.scales
    phase = main_phase(objective, scales.recipes)
    floor = 0.0 if phase is None else scales.stages[phase].floor
    halves = [] if phase is None else [
        interval_half_width(one.stages[phase].interval) for one in search.weighed.values()
        if phase in one.stages and one.blocks >= BLOCKS_TO_SPEAK
    ]  # fmt: skip
    effect = smallest_effect(halves, floor) if halves else 0.0
    drift = None if phase is None else drift_of(scales.stages[phase])
    obstacle = _obstacle(run, objective, base_launches, search) or _doubt(judged, drift)
    best = None if obstacle else _best(judged)
    waiting = [] if obstacle or best else _waiting(judged)
    left_out = quarantined(run)
    blocks = [one.verdict.blocks_needed for one in judged if one.decision and one.decision.verdict == "inconclusive"]
    return Verdict(
        run=run.id,
        objective=objective,
        profile=profile.name,
        backend=run.plan.backend,
        choice=best.candidate.name if best else "base",
        reason=obstacle or _choice_reason(best, waiting, judged, effect, nothing=phase is None),
        conclusive=not obstacle,
        blocks=len(scales.blocks),
        floor=floor,
        smallest_effect=effect,
        candidates=tuple(one.verdict for one in judged),
        trade=_trade(best, objective, search, base_launches) + _outsiders(judged),
        drift=drift,
        quarantined=left_out,
        advice=advice_of(drift, left_out, run.plan.blocks, noisy=bool(_hidden(judged)),
                         blocks=max((one for one in blocks if one), default=None)),
    )  # fmt: skip


def _hidden(judged: Sequence[_Judged]) -> list[_Judged]:
    """The candidates whose effect, if any, noise hides."""
    return [
        one
        for one in judged
        if one.decision and one.decision.verdict == "inconclusive" and one.decision.reason.startswith("too noisy")
    ]


def _hidden_reason(one: _Judged) -> str:
    return "" if one.decision is None else one.decision.reason


def _doubt(judged: Sequence[_Judged], drift: Drift | None) -> str:
    """Why nothing is concluded though all was measured: nodes that changed meanwhile, or noise over everything."""
    if drift is not None and drifted(drift, "limit"):
        return _stop(f"{drift_text(drift)}: these nodes were not the same at the end, so nothing is concluded")
    tried = [one for one in judged if one.candidate.role == "candidate" and one.decision is not None]
    hidden = [one for one in _hidden(judged) if one.candidate.role == "candidate"]
    return f"Nothing can be told: {_hidden_reason(hidden[0])}." if tried and len(hidden) == len(tried) else ""


def _obstacle(run: Run, objective: Objective, base_launches: Sequence[Launch], search: _Round) -> str:
    """What keeps the run from being judged, as a sentence; empty when nothing does."""
    blocks, recipes = len(search.scales.blocks), search.scales.recipes
    wrong = incorrect(base_launches)
    if wrong is not None:
        return f"Base itself gives wrong results ({wrong.reason}): mend the fabric before tuning it."
    failure = failed(base_launches)
    if blocks < BLOCKS_TO_SPEAK:
        if failure is not None:
            return f"Base itself failed: {failure.reason}."
        end = f" ({run.reason})" if run.reason else _lost_blocks(run)
        return f"Only {blocks} complete block{'' if blocks == 1 else 's'}{end}: at least {BLOCKS_TO_CALL} are needed."
    due = due_phases(objective, recipes)
    if not due:
        return ""
    missing = [f"{op} of {phase}" for phase in due for op in recipes[phase].missing]
    return f"Not measured: {', '.join(missing)}; measure again with this profile." if missing else ""


def _lost_blocks(run: Run) -> str:
    lost = quarantined(run)
    return f" ({len(lost)} more were disturbed: {lost[0].reason})" if lost else ""


def _best(judged: Sequence[_Judged]) -> _Judged | None:
    """The confirmed winner: decode before prefill (under mix), then the largest ratio in the fresh blocks."""

    def rank(one: _Judged) -> tuple[bool, float]:
        decode = one.decision is not None and one.decision.phase == "decode"
        return decode, one.verdict.confirmation.ratio if one.verdict.confirmation else 0.0

    winners = [one for one in judged if one.verdict.confirmed]
    return max(winners, key=rank, default=None)


def _waiting(judged: Sequence[_Judged]) -> list[_Judged]:
    """Winners of the search whose confirmation is missing."""
    return [
        one
        for one in judged
        if one.candidate.role == "candidate" and one.verdict.verdict == "better" and one.verdict.confirmed is None
    ]


def _choice_reason(
    best: _Judged | None, waiting: Sequence[_Judged], judged: Sequence[_Judged], effect: float, *, nothing: bool
) -> str:
    if best is not None:
        return f"Use {best.candidate.name}: {_decapitalised(best.verdict.reason)}"
    if waiting:
        names = ", ".join(one.candidate.name for one in waiting)
        return f"Keep base for now: {names} won once but was not confirmed in {BLOCKS_TO_CALL} fresh blocks."
    if nothing:
        return f"Keep base: {NOTHING_SENT}."
    tried = sum(one.candidate.role == "candidate" for one in judged)
    if not tried:
        return "Keep base: there was no candidate beside it."
    return f"Keep base: none of {tried} candidate{'' if tried == 1 else 's'} was better" + (
        f"; {effect_text(effect)} or more would have been called." if effect else "."
    )


def _decapitalised(text: str) -> str:
    return f"{text[:1].lower()}{text[1:]}"


def _trade(
    best: _Judged | None, objective: Objective, search: _Round, base_launches: Sequence[Launch]
) -> tuple[str, ...]:
    recipes = search.scales.recipes
    sentences = () if best is None or best.search is None else trade_of(best.search, objective, recipes)
    failure = failed(base_launches)
    limped = () if failure is None else (f"Base itself failed now and then: {failure.reason}.",)
    return sentences + limped + beyond_of(objective, recipes)


def _outsiders(judged: Sequence[_Judged]) -> tuple[str, ...]:
    """Settings that are never exported but beat base: the user has to know."""
    return tuple(
        f"{one.verdict.reason} They are not what is exported: name them as a candidate to have them confirmed."
        for one in judged
        if one.candidate.role in ("current", "default") and one.verdict.verdict == "better"
    )
