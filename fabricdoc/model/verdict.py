"""The verdict document: what the measurements say about each candidate, under one objective.

Ratios are base time / candidate time: above 1 the candidate is faster. Intervals are 95 % after correction
for the number of candidates. Built by `fabricdoc.tuning` from a run alone, so it can be judged again.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from fabricdoc.model.documents import Document, Frozen
from fabricdoc.model.run import Objective, Round

Judgement = Literal["better", "worse", "same", "failed", "incorrect", "ineffective", "inconclusive"]
Method = Literal["t", "sign-flip", "relabelling", "welch-t"]


class Interval(Frozen):
    """A ratio with its interval; `blocks` is the number of paired blocks behind it.

    `method`: relabelling (exact, against base's two launches of a block) or sign-flip (exact, against one launch)
    where the blocks are enough for it, else t; welch-t where the two sides share no blocks.
    """

    ratio: float
    low: float
    high: float
    blocks: int
    method: Method = "t"


class CellVerdict(Frozen):
    """One view, op and size of a candidate against base; times are medians over launches, in µs."""

    view: str
    op: str
    size: int
    dtype: str = "bfloat16"
    in_place: bool = True
    phase: str
    base_us: float
    candidate_us: float
    interval: Interval
    floor: float
    verdict: Judgement


class StepEffect(Frozen):
    """What a candidate does to one decode step of the profile's own batch.

    `saved_ms` of communication with its interval (negative: it costs); `tokens` is the ratio of tokens a second to
    base's, null where nobody said what a step takes without communication.
    """

    saved_ms: float
    low_ms: float
    high_ms: float
    tokens: Interval | None = None


class LineVerdict(Frozen):
    """One measured line of the winner, taken away in fresh blocks: whether it pays (null: not checked), and why.

    `without` is the ratio winner's time / time without the line: below 1 the line pays.
    """

    name: str
    pays: bool | None
    reason: str
    without: Interval | None = None


class CandidateVerdict(Frozen):
    """A candidate's verdict under the objective, with the reason in one sentence.

    `score` is the ratio of the profile's communication time per step; `confirmed` is null when no
    confirmation round was due, else whether it won again in fresh blocks. `against_current` is the same ratio to
    `current` (what the user runs today), where that was measured, and `current_verdict` what it allows to say.
    `smallest_effect` (a ratio minus 1) is what would just have been called of this candidate, `blocks_needed` how many
    blocks would do to call 5 %; null where nothing could be read.
    """

    name: str
    verdict: Judgement
    reason: str
    score: Interval | None = None
    confirmed: bool | None = None
    confirmation: Interval | None = None
    cells: tuple[CellVerdict, ...] = ()
    proof: Literal["seen", "echoed", "none"] = "none"
    against_current: Interval | None = None
    current_verdict: Judgement | None = None
    smallest_effect: float | None = None
    blocks_needed: int | None = None
    step: StepEffect | None = None


class Quarantined(Frozen):
    """A block that was left out whole because something disturbed it, and what that was."""

    round: Round
    block: int
    reason: str


class Drift(Frozen):
    """How base itself moved over the run: `ratio` of its time in the last block to the first along the trend, and the
    `chance` (0 to 1) of seeing as much order among blocks without any trend."""

    ratio: float
    chance: float


class Verdict(Document):
    """Which set to use, why, and what was traded; `choice` is "base" when nothing beat it.

    `advice` says what to do where noise, disturbance or a drift kept the run from saying more. `weights` are those of
    decode and prefill where the objective is a weighted mix. `communication_ms` is base's per decode step of the
    profile's own batch, `ceiling` what that allows at most. `lines` are the drop-one check of the winner.
    """

    kind: ClassVar[str] = "verdict"

    run: str
    objective: Objective
    profile: str
    backend: str
    choice: str
    reason: str
    conclusive: bool
    blocks: int
    floor: float
    smallest_effect: float
    candidates: tuple[CandidateVerdict, ...] = ()
    trade: tuple[str, ...] = ()
    drift: Drift | None = None
    quarantined: tuple[Quarantined, ...] = ()
    advice: tuple[str, ...] = ()
    weights: dict[str, float] = {}
    communication_ms: float | None = None
    ceiling: str = ""
    lines: tuple[LineVerdict, ...] = ()
