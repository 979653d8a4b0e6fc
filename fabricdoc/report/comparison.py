"""Two runs held against each other, for people: what differs, every shared cell, and what the ratios can't say.

Ratios are first / second: above 1 the second run is faster. Nothing is computed that the document doesn't hold.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from fabricdoc.model.comparison import CellComparison, RunComparison
from fabricdoc.report.cells import BAD, BOLD, DIM, GOOD, WARN, Column, Words, labelled, line, table
from fabricdoc.report.text import counted, micros_text, size_text
from fabricdoc.report.verdict import interval_text

if TYPE_CHECKING:
    from rich.console import RenderableType

STYLES = {"better": GOOD, "worse": BAD, "same": "", "inconclusive": WARN}
WORDS = {"better": "faster", "worse": "slower", "same": "same", "inconclusive": "unclear"}


def render_comparison(document: RunComparison) -> list[RenderableType]:
    """The whole comparison."""
    counts = Counter(WORDS.get(cell.verdict, cell.verdict) for cell in document.cells)
    told = ", ".join(f"{count} {word}" for word, count in counts.most_common())
    return [
        labelled("runs", (document.second, BOLD), " against ", (document.first, BOLD)),
        labelled(document.candidate, told),
        *(labelled("differs", (text, WARN)) for text in document.differences),
        line(),
        table(
            [
                Column("cell"),
                Column("first µs", right=True),
                Column("second µs", right=True),
                Column("ratio"),
                Column("blocks", right=True, drop=1),
                Column("second"),
            ],
            [_row(cell) for cell in document.cells],
        ),
        line(),
        *_left_out(document),
        line((document.note, DIM)),
    ]


def _row(cell: CellComparison) -> list[Words | RenderableType]:
    place = "" if cell.in_place else " out of place"
    dtype = "" if cell.dtype == "bfloat16" else f" {cell.dtype}"
    return [
        f"{cell.op} {size_text(cell.size)}{dtype} {cell.view}{place}",
        micros_text(cell.first_us),
        micros_text(cell.second_us),
        interval_text(cell.interval),
        f"{cell.first_blocks}, {cell.second_blocks}",
        (WORDS.get(cell.verdict, cell.verdict), STYLES.get(cell.verdict, "")),
    ]


def _left_out(document: RunComparison) -> list[RenderableType]:
    alone = ((document.first, document.only_first), (document.second, document.only_second))
    return [line((f"{counted(count, 'more cell')} only in {run}", DIM)) for run, count in alone if count]
