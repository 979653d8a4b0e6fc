"""The lines of `bench --json-lines`: one document a line while a bench runs, each whole by itself.

`event` says what happened: `plan` (first, with the plan), `launch-begins`, `launch-ended` (with the launch), `note` (a
sentence), `ended` (last, before the verdict's own line). `elapsed_s` counts from the first line.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from fabricdoc.model.documents import Document, Frozen
from fabricdoc.model.run import Launch, Plan
from fabricdoc.model.verdict import Interval


class Best(Frozen):
    """The candidate that leads so far, with its score against base; a lead is no verdict."""

    name: str
    score: Interval


class BenchEvent(Document):
    """What happened in a bench, and where it stands.

    `done` launches of at most `planned`; `left_s` is how long the rest takes at most (null before the first launch).
    `round`, `block` and `candidate` are those of the launch that begins or ended; `best` is null while nobody leads.
    """

    kind: ClassVar[str] = "event"

    run: str
    event: Literal["plan", "launch-begins", "launch-ended", "note", "ended"]
    elapsed_s: float
    done: int
    planned: int
    left_s: float | None = None
    round: str = ""
    block: int = 0
    candidate: str = ""
    text: str = ""
    best: Best | None = None
    launch: Launch | None = None
    plan: Plan | None = None
