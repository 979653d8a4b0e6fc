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
from fabricdoc.model.verdict import CandidateVerdict, Interval, Verdict
from fabricdoc.tuning.blocks import blocks_of
from fabricdoc.tuning.comparing import BLOCKS_TO_CALL, BLOCKS_TO_SPEAK
from fabricdoc.tuning.objective import NOTHING_SENT, Decision, decide, due_phases, main_phase
from fabricdoc.tuning.settled import Settled, failed, grade_of, incorrect, settle
from fabricdoc.tuning.trade import beyond_of, trade_of
from fabricdoc.tuning.weighing import Scales, Weighed, weigh
from fabricdoc.tuning.wording import effect_text, interval_text

NOISY = 0.5  # a smallest visible effect (ratio minus 1) above which the reader is told that noise hid the rest


@dataclass(frozen=True)
class _Round:
    """One round's scales, and what each of its live candidates weighs."""

    scales: Scales
    weighed: Mapping[str, Weighed]


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
    search = _round(Scales.of(blocks_of(run, "search", base.name), profile), live)
    confirm = _round(Scales.of(blocks_of(run, "confirm", base.name), profile), live)
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


def _round(scales: Scales, live: Sequence[str]) -> _Round:
    """Weigh every live candidate that the round has; the intervals are corrected for those with enough blocks."""
    paired = {name: scales.paired(name) for name in live}
    comparisons = sum(blocks >= BLOCKS_TO_SPEAK for blocks in paired.values()) or len(live) or 1
    return _Round(scales, {name: weigh(name, scales, comparisons) for name, blocks in paired.items() if blocks})


def _judge_candidate(
    one: Candidate, run: Run, settled: Settled | None, search: _Round, confirm: _Round, objective: Objective
) -> _Judged:
    proof = grade_of(_launches(run, one.name))
    if settled is not None:
        return _Judged(one, CandidateVerdict(name=one.name, verdict=settled.verdict, reason=_stop(settled.reason),
                                             proof=proof))  # fmt: skip
    weighed = search.weighed.get(one.name)
    if weighed is None:
        reason = "It was not launched in a complete block."
        return _Judged(one, CandidateVerdict(name=one.name, verdict="inconclusive", reason=reason, proof=proof))
    decision = decide(weighed, objective, search.scales.recipes)
    confirmed, again = _confirmation(one, decision, confirm, objective)
    verdict = CandidateVerdict(
        name=one.name,
        verdict="same" if confirmed is False else decision.verdict,
        reason=_reason(one, decision, confirmed, again),
        score=_score(weighed, decision),
        confirmed=confirmed,
        confirmation=again,
        cells=weighed.cells,
        proof=proof,
    )
    return _Judged(one, verdict, weighed, decision)


def _score(weighed: Weighed, decision: Decision) -> Interval | None:
    """The interval of the stage the decision rests on, else of the first stage that was read."""
    readings = [weighed.stages[decision.phase]] if decision.phase else list(weighed.stages.values())
    return readings[0].interval if readings else None


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


def _reason(one: Candidate, decision: Decision, confirmed: bool | None, again: Interval | None) -> str:
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
    obstacle = _obstacle(run, objective, base_launches, search)
    best = None if obstacle else _best(judged)
    waiting = [] if obstacle or best else _waiting(judged)
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
    )


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
        end = f" ({run.reason})" if run.reason else ""
        return f"Only {blocks} complete block{'' if blocks == 1 else 's'}{end}: at least {BLOCKS_TO_CALL} are needed."
    due = due_phases(objective, recipes)
    if not due:
        return ""
    missing = [f"{op} of {phase}" for phase in due for op in recipes[phase].missing]
    return f"Not measured: {', '.join(missing)}; measure again with this profile." if missing else ""


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
    noisy = " The launches were too noisy to see less: measure again on idle nodes." if effect >= NOISY else ""
    return f"Keep base: none of {tried} candidate{'' if tried == 1 else 's'} was better" + (
        f"; {effect_text(effect)} or more would have been called.{noisy}" if effect else "."
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
