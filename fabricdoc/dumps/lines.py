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
    """Its lines from 1. A line ends with LF, CRLF or CR; one that is longer than 64 KiB is cut,
    one of JSON at 4 MiB."""
    return [Line(number, clean(row)) for number, row in enumerate(_rows(text), 1)]


def some_of(text: str, numbers: Iterable[int]) -> dict[int, str]:
    """Those of its lines by number, as `lines_of` gives them."""
    rows = _rows(text)
    return {number: clean(rows[number - 1]) for number in set(numbers) if 0 < number <= len(rows)}


def _rows(text: str) -> list[str]:
    rows = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
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
