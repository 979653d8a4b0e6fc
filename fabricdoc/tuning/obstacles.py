"""What keeps a run from being judged at all: base that fails, too few blocks, stages not measured, nodes or noise.

Each is one sentence. Judges no candidate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fabricdoc.model.run import Launch, Objective, Run
from fabricdoc.model.verdict import CandidateVerdict, Drift, Judgement
from fabricdoc.tuning.aim import PER
from fabricdoc.tuning.blocks import quarantined
from fabricdoc.tuning.comparing import BLOCKS_TO_CALL, BLOCKS_TO_SPEAK
from fabricdoc.tuning.deciding import Judged, Weighing, sentence
from fabricdoc.tuning.doubts import drift_text, drifted, too_noisy
from fabricdoc.tuning.objective import due_phases
from fabricdoc.tuning.settled import failed, incorrect
from fabricdoc.tuning.wording import counted, effect_text

GONE: Mapping[Judgement, str] = {"failed": "failed", "incorrect": "gave wrong results"}
"""Verdicts after which a candidate is not launched again, as a clause of the sentence that names it."""
MOST_NAMES = 6


def obstacle_of(
    run: Run,
    objective: Objective,
    base_launches: Sequence[Launch],
    search: Weighing,
    tried: Sequence[CandidateVerdict] = (),
) -> str:
    """What keeps the run from being judged, as a sentence; empty when nothing does. `tried` is all beside base."""
    blocks, recipes = len(search.scales.blocks), search.scales.recipes
    wrong = incorrect(base_launches)
    if wrong is not None:
        return f"Base itself gives wrong results ({wrong.reason}): mend the fabric before tuning it."
    failure = failed(base_launches)
    if blocks < BLOCKS_TO_SPEAK:
        if failure is not None:
            return f"Base itself failed: {failure.reason}."
        return nobody_left(tried) or _too_few(run, blocks)
    due = due_phases(objective, recipes)
    if not due:
        return ""
    missing = [f"{op} of {phase}" for phase in due for op in recipes[phase].missing]
    return f"Not measured: {', '.join(missing)}." if missing else ""


def nobody_left(tried: Sequence[CandidateVerdict]) -> str:
    """That every candidate fell out before there were blocks to judge by, and how; empty where one is left."""
    fallen = [one for one in tried if one.verdict in GONE]
    if not tried or len(fallen) < len(tried):
        return ""
    told = []
    for judgement, clause in GONE.items():
        names = [one.name for one in fallen if one.verdict == judgement]
        more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
        told += [f"{', '.join(names[:MOST_NAMES])}{more} {clause}"] if names else []
    return f"No candidate is left to compare with base: {'; '.join(told)}."


def _too_few(run: Run, blocks: int) -> str:
    """How many blocks there are, why not more, and how many there have to be."""
    many = "No block is complete" if not blocks else f"Only {counted(blocks, 'complete block')}"
    end = f" ({run.reason})" if run.reason else _lost_blocks(run)
    return f"{many}{end}: at least {BLOCKS_TO_CALL} are needed."


def _lost_blocks(run: Run) -> str:
    lost = quarantined(run)
    return f" ({len(lost)} more were disturbed: {lost[0].reason})" if lost else ""


def doubt_of(judged: Sequence[Judged], drift: Drift | None) -> str:
    """Why nothing is concluded though all was measured: nodes that changed meanwhile, or noise over everything."""
    if drift is not None and drifted(drift, "limit"):
        return sentence(f"{drift_text(drift)}: these nodes were not the same at the end, so nothing is concluded")
    tried = [one for one in judged if one.candidate.role == "candidate" and one.decision is not None]
    unseen = [one for one in hidden(judged) if one.candidate.role == "candidate"]
    return f"Nothing can be told: {_hidden_reason(unseen[0])}." if tried and len(unseen) == len(tried) else ""


def hidden(judged: Sequence[Judged]) -> list[Judged]:
    """The candidates whose effect, if any, noise hides."""
    return [
        one
        for one in judged
        if one.decision and one.decision.verdict == "inconclusive" and one.decision.reason.startswith("too noisy")
    ]


def unseen_of(winner: Judged | None) -> tuple[str, ...]:
    """What noise hides of a winner in the stages that it did not win in, a sentence each."""
    if winner is None or winner.search is None or winner.decision is None or winner.decision.phase == "weighted":
        return ()
    name, won, stages = winner.candidate.name, winner.decision.phase, winner.search.stages
    return tuple(
        f"What {name} does {PER[phase]} could not be told: less than {effect_text(reading.smallest_effect)} is hidden "
        "by noise there; measure again on idle nodes if that matters."
        for phase, reading in stages.items()
        if phase not in (won, "weighted") and reading.verdict == "same" and too_noisy(reading)
    )


def _hidden_reason(one: Judged) -> str:
    return "" if one.decision is None else one.decision.reason
