"""The few building blocks every rendering is made of: lines, tables, names cut in the middle, commands to paste.

All text passes through `clean` here, so a renderer can't forget it. rich is imported when something is built,
never when this module is. No document is known here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fabricdoc.report.tables import Column, FittingTable
from fabricdoc.report.text import clean

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.measure import Measurement
    from rich.text import Text

__all__ = [
    "BAD",
    "BOLD",
    "DIM",
    "GOOD",
    "WARN",
    "Column",
    "Command",
    "Name",
    "Unwrapped",
    "Words",
    "indent",
    "labelled",
    "line",
    "table",
]

GOOD, BAD, WARN, DIM, BOLD = "green", "bold red", "yellow", "dim", "bold"
Words = str | tuple[str, str]
Cell = "Words | RenderableType"
LEAST_NAME, LABEL = 9, 10
_WORD = re.compile(r"""(?:[^\s'"]|'[^']*'|"[^"]*")+""")


def line(*words: Words) -> Text:
    """One paragraph of words, each plain or (text, style); it wraps at the screen's width."""
    from rich.text import Text

    text = Text()
    for word in words:
        text.append(*((clean(word),) if isinstance(word, str) else (clean(word[0]), word[1])))
    return text


def indent(renderable: RenderableType, by: int = 2) -> RenderableType:
    """The same, `by` columns to the right."""
    from rich.padding import Padding

    return Padding(renderable, (0, 0, 0, by), expand=False)


def labelled(label: str, *words: Words) -> RenderableType:
    """A dim label in a column of its own, and a paragraph beside it."""
    from rich.table import Table

    made = Table.grid(padding=(0, 1, 0, 0))
    made.add_column(width=LABEL, no_wrap=True)
    made.add_column(overflow="fold")
    made.add_row(line((label, DIM)), line(*words))
    return made


def table(columns: Sequence[Column], rows: Iterable[Sequence[Words | RenderableType]], by: int = 2) -> RenderableType:
    """A table without rules: two blanks between columns, headers dim."""
    made = [[line(cell) if isinstance(cell, str | tuple) else cell for cell in row] for row in rows]
    return indent(FittingTable(columns, [line((column.header, DIM)) for column in columns], made), by)


@dataclass(frozen=True)
class Name:
    """A name that is cut in the middle where there is no room: both ends tell names apart best."""

    text: str
    style: str = ""

    def __rich_console__(self, _console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        from rich.text import Text

        yield Text(middle(clean(self.text), options.max_width), style=self.style, no_wrap=True, overflow="crop")

    def __rich_measure__(self, _console: Console, options: ConsoleOptions) -> Measurement:
        from rich.cells import cell_len
        from rich.measure import Measurement

        full = cell_len(clean(self.text))
        return Measurement(min(full, LEAST_NAME, options.max_width), min(full, options.max_width))


class Unwrapped:
    """Words as in `line`, but never broken: a terminal wraps them, a log and a paste keep them whole."""

    def __init__(self, *words: Words) -> None:
        self._words = words

    def __rich_console__(self, _console: Console, _options: ConsoleOptions) -> Iterator[RenderableType]:
        text = line(*self._words)
        text.no_wrap, text.overflow = True, "ignore"
        yield text


def middle(text: str, width: int) -> str:
    """`text` in at most `width` columns, the middle replaced by … where it is longer."""
    from rich.cells import cell_len, set_cell_size

    if cell_len(text) <= width:
        return text
    if width < 2:
        return "…"[:width]
    head = (width - 1) // 2
    tail = text
    while cell_len(tail) > width - 1 - head:
        tail = tail[1:]
    return f"{set_cell_size(text, head)}…{tail}"


@dataclass(frozen=True)
class Command:
    """A command to paste: broken only between words, with the backslash a shell wants there."""

    text: str
    style: str = BOLD

    def __rich_console__(self, _console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        from rich.text import Text

        for row in broken(clean(self.text), options.max_width):
            yield Text(row, style=self.style, no_wrap=True, overflow="ignore")

    def __rich_measure__(self, _console: Console, options: ConsoleOptions) -> Measurement:
        from rich.measure import Measurement

        return Measurement(min(LEAST_NAME, options.max_width), options.max_width)


def broken(command: str, width: int) -> list[str]:
    """A command in rows of at most `width` columns where its words allow: all but the last end in ` \\`."""
    if len(command) <= width or command.count("'") % 2 or command.count('"') % 2:
        return [command]
    words = _kept_together(_WORD.findall(command), width)
    rows = [words[0]]
    for word in words[1:]:
        if len(rows[-1]) + 1 + len(word) + 2 <= width:
            rows[-1] += f" {word}"
        else:
            rows.append(f"  {word}")
    return [f"{row} \\" for row in rows[:-1]] + rows[-1:]


def _kept_together(words: list[str], width: int) -> list[str]:
    """An option and its value as one word, where both fit a row."""
    kept: list[str] = []
    for word in words:
        option = bool(kept) and kept[-1].startswith("-") and " " not in kept[-1] and not word.startswith("-")
        if option and len(kept[-1]) + len(word) + 5 <= width:
            kept[-1] += f" {word}"
        else:
            kept.append(word)
    return kept
