"""The comparison document: one candidate of two runs, cell by cell. Ratios are first / second: above 1, second wins."""

from __future__ import annotations

from typing import ClassVar

from fabricdoc.model.documents import Document, Frozen
from fabricdoc.model.verdict import Interval, Judgement


class CellComparison(Frozen):
    """One cell of both runs; times are medians over blocks, in µs. `verdict` is of the second run against the first."""

    view: str
    op: str
    size: int
    dtype: str = "bfloat16"
    in_place: bool = True
    first_us: float
    second_us: float
    first_blocks: int
    second_blocks: int
    interval: Interval
    floor: float
    verdict: Judgement


class RunComparison(Document):
    """Two runs held against each other. `paired` is false where they share no blocks, and `note` says what that means.

    `differences` are what the runs record of their ground and does not agree; `only_first` and `only_second` count the
    cells that the other run lacks.
    """

    kind: ClassVar[str] = "comparison"

    first: str
    second: str
    candidate: str
    paired: bool
    note: str
    differences: tuple[str, ...] = ()
    only_first: int = 0
    only_second: int = 0
    cells: tuple[CellComparison, ...] = ()
