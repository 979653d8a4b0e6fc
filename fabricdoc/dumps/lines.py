"""A text as clean lines: any line end, no colours, no control characters, bounded length; the numbers stay true.

Nothing is recognised here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from fabricdoc.dumps.formats import Line

MAX_LINE = 1 << 16
MAX_JSON_LINE = 4 << 20
"""`ip -j` prints all interfaces in one line, about 2 KiB each."""
_COLOURS = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[()][0-9A-Za-z]|[=>78MDEHc])")
_OVERSTRUCK = re.compile(r".\x08")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def lines_of(text: str) -> list[Line]:
    """Its lines from 1, as an editor and the reader of logs count them; one that is longer than 64 KiB is cut, one of
    JSON at 4 MiB. A line ends with LF or CRLF; with CR in a text without LF. Of a line that a program wrote over (a
    progress bar), what a terminal shows in the end is left."""
    return [Line(number, clean(row)) for number, row in enumerate(_rows(text), 1)]


def some_of(text: str, numbers: Iterable[int]) -> dict[int, str]:
    """Those of its lines by number, as `lines_of` gives them."""
    rows = _rows(text)
    return {number: clean(rows[number - 1]) for number in set(numbers) if 0 < number <= len(rows)}


def _rows(text: str) -> list[str]:
    text = text.replace("\r\n", "\n")
    if "\r" not in text:
        rows = text.split("\n")
    elif "\n" in text.rstrip("\n"):
        rows = [row.rstrip("\r").rpartition("\r")[2] for row in text.split("\n")]
    else:
        rows = text.rstrip("\n").split("\r")
    if rows[-1] == "":
        rows.pop()
    return rows


def clean(row: str) -> str:
    """One line without terminal codes and control characters (tabs stay), no-break spaces as spaces."""
    row = row[: MAX_JSON_LINE if row.startswith(("[", "{")) else MAX_LINE]
    if row.isascii() and row.isprintable():
        return row.rstrip()
    row = _COLOURS.sub("", row)
    while len(row) <= MAX_LINE and "\x08" in row and _OVERSTRUCK.search(row):
        row = _OVERSTRUCK.sub("", row)
    return _CONTROL.sub("", row).replace("\xa0", " ").replace("\ufeff", "").rstrip()
