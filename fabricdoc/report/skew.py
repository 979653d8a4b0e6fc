"""Arrival skew of base, apart from transport: how much later the last rank entered a call than the first.

Only where it was asked for, and only where the gates that measure it did not disturb what they stand before.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fabricdoc.model.run import Run
from fabricdoc.report.cells import DIM, line
from fabricdoc.report.layers import median_of
from fabricdoc.report.text import micros_text, size_text

if TYPE_CHECKING:
    from rich.console import RenderableType

VIEWS = ("graph", "eager")


def render_skew(run: Run) -> list[RenderableType]:
    """A line per view that has gates; nothing where no skew was asked for, or no launch counts."""
    if not run.plan.skew or not run.launches:
        return []
    told = [words for view in VIEWS if view in run.plan.views for words in _line(run, view)]
    return [line(), line(("arrival skew of base, all_reduce, \N{MICRO SIGN}s", DIM)), *map(line, told)]


def _line(run: Run, view: str) -> Iterator[str]:
    """'graph: 8 KiB 3.1, 20 KiB 3.4; rejected at 8 B: the gates disturbed it'."""
    sizes = sorted({shape.size for shape in run.plan.shapes if shape.op == "all_reduce"})
    timed = [size for size in sizes if median_of(run, view, size) is not None]
    skews = {size: skew for size in timed if (skew := median_of(run, view, size, "skew_us")) is not None}
    kept = ", ".join(f"{size_text(size)} {micros_text(skew)}" for size, skew in skews.items())
    lost = ", ".join(size_text(size) for size in timed if size not in skews)
    if timed:
        yield f"{view}: " + "; ".join(
            filter(None, [kept, f"rejected at {lost}: the gates disturbed what they stand before" if lost else ""])
        )
