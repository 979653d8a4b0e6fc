"""Which set to use of those judged, why, and what that costs, in sentences.

Only a confirmed winner is ever chosen; what the default objective refuses is shown with the trade it would have been.
"""

from __future__ import annotations

from collections.abc import Sequence

from fabricdoc.model.run import Launch, Objective
from fabricdoc.tuning.comparing import BLOCKS_TO_CALL
from fabricdoc.tuning.deciding import Judged, Weighing
from fabricdoc.tuning.objective import NOTHING_SENT, losses_of
from fabricdoc.tuning.settled import failed
from fabricdoc.tuning.trade import beyond_of, trade_of
from fabricdoc.tuning.wording import effect_text

SHOWN_REFUSED = 3


def best_of(judged: Sequence[Judged]) -> Judged | None:
    """The confirmed winner: decode before prefill (under mix), then the largest ratio in the fresh blocks."""

    def rank(one: Judged) -> tuple[bool, float]:
        decode = one.decision is not None and one.decision.phase == "decode"
        return decode, one.verdict.confirmation.ratio if one.verdict.confirmation else 0.0

    winners = [one for one in judged if one.verdict.confirmed]
    return max(winners, key=rank, default=None)


def waiting_of(judged: Sequence[Judged]) -> list[Judged]:
    """Winners of the search whose confirmation is missing."""
    return [
        one
        for one in judged
        if one.candidate.role == "candidate" and one.verdict.verdict == "better" and one.verdict.confirmed is None
    ]


def choice_reason(
    best: Judged | None, waiting: Sequence[Judged], judged: Sequence[Judged], effect: float, *, nothing: bool
) -> str:
    """Why that set is to be used, or base kept, in one sentence."""
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


def told_trade(
    best: Judged | None,
    judged: Sequence[Judged],
    objective: Objective,
    search: Weighing,
    base_launches: Sequence[Launch],
) -> tuple[str, ...]:
    """What the choice loses; where base is kept, what a refused candidate would have gained and lost."""
    recipes = search.scales.recipes
    sentences = refused(judged) if best is None else ()
    if best is not None and best.search is not None:
        sentences = trade_of(best.search, objective, recipes)
    failure = failed(base_launches)
    limped = () if failure is None else (f"Base itself failed now and then: {failure.reason}.",)
    return sentences + limped + beyond_of(objective, recipes)


def outsiders(judged: Sequence[Judged]) -> tuple[str, ...]:
    """Settings that are never exported but beat base: the user has to know."""
    return tuple(
        f"{one.verdict.reason} They are not what is exported: name them as a candidate to have them confirmed."
        for one in judged
        if one.candidate.role in ("current", "default") and one.verdict.verdict == "better"
    )


def refused(judged: Sequence[Judged]) -> tuple[str, ...]:
    """Candidates that gain in a stage and are not taken since something else gets worse, the largest gain first."""
    found = []
    for one in judged:
        weighed = one.search
        if one.candidate.role != "candidate" or weighed is None or one.verdict.verdict not in ("same", "worse"):
            continue
        gains = [reading.interval.ratio for reading in weighed.stages.values() if reading.verdict == "better"]
        worse = any(reading.verdict == "worse" for reading in weighed.stages.values())
        if gains and (worse or losses_of(weighed)):
            found.append((max(gains), one))
    found.sort(key=lambda pair: -pair[0])
    return tuple(_refused_text(one) for _, one in found[:SHOWN_REFUSED])


def _refused_text(one: Judged) -> str:
    """The trade, and the objective that would take it."""
    stages = {} if one.search is None else one.search.stages
    better = next(phase for phase, reading in stages.items() if reading.verdict == "better")
    return f"{one.candidate.name} is a trade: {_decapitalised(one.verdict.reason)} --objective {better} would take it."
