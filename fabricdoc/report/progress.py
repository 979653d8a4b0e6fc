"""The line that says what is going on: live on a terminal, now and then a plain line elsewhere.

Uses carriage return and blanks only, no escape sequences, so it works on every terminal. Its text is made
harmless first. Never writes to stdout.
"""

from __future__ import annotations

from collections.abc import Callable

from fabricdoc.report.outlet import Outlet
from fabricdoc.report.text import clean, columns, cut

PLAIN_EVERY_S = 5.0


class ProgressLine:
    """One line on `outlet`; `live` overwrites it in place, else at most one line per PLAIN_EVERY_S seconds."""

    def __init__(self, outlet: Outlet, *, live: bool, width: int, now: Callable[[], float]) -> None:
        self._outlet = outlet
        self._live = live
        self._width = width
        self._now = now
        self._last_plain: float | None = None

    def show(self, text: str) -> None:
        """Say what is going on now."""
        words = clean(text)
        if self._live:
            self._overwrite(cut(self._outlet.encodable(words), self._width - 1))
        elif self._due():
            self._last_plain = self._now()
            self._outlet.write(f"{words}\n")

    def clear(self) -> None:
        """Take the live line away, so that other text can be written."""
        if self._outlet.live_columns:
            self._overwrite("")
            self._outlet.write_exact("\r")

    def _due(self) -> bool:
        return self._last_plain is None or self._now() - self._last_plain >= PLAIN_EVERY_S

    def _overwrite(self, words: str) -> None:
        width = columns(words)
        self._outlet.write_exact("\r" + words + " " * max(0, self._outlet.live_columns - width))
        self._outlet.live_columns = width
