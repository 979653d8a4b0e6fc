"""Unknown facts in tables: a `?` in the cell, and below the table each reason once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricdoc.model.documents import Unknown
from fabricdoc.report.cells import DIM, GOOD, WARN, indent, line
from fabricdoc.report.text import UNKNOWN

if TYPE_CHECKING:
    from rich.console import RenderableType


NAMED = 6
"""Facts of one reason that are named; a dump that lacks fifty says so in one line."""


class Reasons:
    """Collects why facts shown as `?` are unknown, so that each reason is told once."""

    def __init__(self) -> None:
        self._told: dict[str, list[str]] = {}

    def note(self, fact: object, what: str) -> None:
        """Remember the reason if `fact` is unknown; `what` names the fact."""
        if isinstance(fact, Unknown):
            self._told.setdefault(fact.unknown, []).append(what)

    def lines(self) -> list[RenderableType]:
        """One dim line per reason: the facts it hides, the first few by name."""
        return [
            indent(line((f"{UNKNOWN} {_few(list(dict.fromkeys(whats)))}: {why}", DIM)))
            for why, whats in self._told.items()
        ]


def _few(whats: list[str]) -> str:
    more = len(whats) - NAMED
    return ", ".join(whats) if more < 2 else f"{', '.join(whats[:NAMED])} and {more} more"


def state_style(good: bool, state: str) -> str:
    """The style of a state: good, unknown, or anything else (which need not be wrong: a port may be unused)."""
    return GOOD if good else DIM if state == UNKNOWN else WARN
