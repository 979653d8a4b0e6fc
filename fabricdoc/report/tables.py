"""Tables that give way without losing anything that tells things apart: ids, numbers and values are never cut.

Where there is no room names lose their middle, then columns that say the least are left out, then cells wrap.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.text import Text

GAP = 2
LEAST_FLEX = 9


@dataclass(frozen=True)
class Column:
    """A column of a table: `right` for numbers; `flex` gives way first (names cut themselves, sentences wrap).

    `drop` is how soon the column is left out where there is no room: 0 never, the highest first.
    """

    header: str
    right: bool = False
    flex: bool = False
    drop: int = 0


class FittingTable:
    """Columns, and rows of renderables; laid out anew for every width it is shown at."""

    def __init__(
        self, columns: Sequence[Column], headers: Sequence[Text], rows: Iterable[Sequence[RenderableType]]
    ) -> None:
        self._columns = list(columns)
        self._headers = list(headers)
        self._rows = [list(row) for row in rows]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        from rich.table import Table

        natural = [self._natural(console, options, index) for index in range(len(self._columns))]
        least = [self._least(console, options, index) for index in range(len(self._columns))]
        kept = kept_columns(self._columns, least, options.max_width)
        widths = shared([natural[i] for i in kept], [least[i] for i in kept], room(len(kept), options.max_width))
        made = Table.grid()
        for place, index in enumerate(kept):
            if place:
                made.add_column(width=GAP)
            justify = "right" if self._columns[index].right else "left"
            made.add_column(width=widths[place], justify=justify, overflow="fold")  # type: ignore[arg-type]
        heads: list[RenderableType] = list(self._headers)
        for row in (heads, *self._rows):
            made.add_row(*_spaced([row[index] for index in kept]))
        yield made

    def _natural(self, console: Console, options: ConsoleOptions, index: int) -> int:
        """The width at which nothing in a column wraps."""
        from rich.measure import Measurement

        cells = [self._headers[index], *(row[index] for row in self._rows)]
        return max(Measurement.get(console, options.update(width=10_000), cell).maximum for cell in cells)

    def _least(self, console: Console, options: ConsoleOptions, index: int) -> int:
        """The least width: whole cells, of a flexible column a few letters; a header may wrap between words."""
        from rich.measure import Measurement

        wide = options.update(width=10_000)
        body = max((Measurement.get(console, wide, row[index]).maximum for row in self._rows), default=0)
        header = Measurement.get(console, wide, self._headers[index]).minimum
        return max(header, min(body, LEAST_FLEX) if self._columns[index].flex else body)


def _spaced(cells: Sequence[RenderableType]) -> list[RenderableType]:
    """The cells with an empty one between each two."""
    return [piece for cell in cells for piece in ("", cell)][1:]


def room(columns: int, width: int) -> int:
    """What is left of `width` for the columns when the gaps are taken off."""
    return width - GAP * max(0, columns - 1)


def kept_columns(columns: Sequence[Column], least: Sequence[int], width: int) -> list[int]:
    """The columns to show, by index: those that may be dropped go, highest `drop` first, until the rest fits."""
    kept = list(range(len(columns)))
    while sum(least[i] for i in kept) > room(len(kept), width):
        droppable = [i for i in kept if columns[i].drop]
        if not droppable:
            return kept
        kept.remove(max(droppable, key=lambda i: columns[i].drop))
    return kept


def shared(natural: Sequence[int], least: Sequence[int], width: int) -> list[int]:
    """Widths that sum to at most `width`: natural ones; else the widest give way, down to their least and beyond."""
    widths = list(natural)
    for floor in (list(least), [1] * len(widths)):
        while sum(widths) > width:
            able = [i for i in range(len(widths)) if widths[i] > floor[i]]
            if not able:
                break
            widths[max(able, key=lambda i: widths[i])] -= 1
    return widths
