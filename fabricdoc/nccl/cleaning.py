"""From raw text to blocks of clean lines: colour codes, line ends and docker's JSON away, wrapped lines joined again.

A block is a string of whole lines, each ended by a newline. The number of lines stays what it was, so that line numbers
are the file's. Of NCCL it knows only what the front of its lines looks like.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise

MAX_LINE = 4096
"""Characters of a line that are looked at (NCCL's own buffer is 1 KiB; a 64-channel tree line is 1.4 KiB)."""

BLOCK = 1 << 18
"""Characters of a block."""

NARROWEST, WIDEST = 60, 512
"""Columns at which a terminal or a pager may have wrapped a log."""

_MARK = " NCCL "
_WRAPPED_AT_LEAST = 3
_COLOUR = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[@-Z\\^_])")
_FRONT = re.compile(r".{0,120}?[^\s:]{1,64}:\d{1,10}:\d{1,10} \[-?\d", re.ASCII)
_HINT = re.compile(r":\d{1,10} \[-?\d", re.ASCII)
"""What every front holds: looked for first, since the search for a front tries every place."""


_IN_JSON = '{"log":"'
_JSON_LINE = re.compile(
    r'^\{"log":"(?P<text>[^"\\\n]*(?:\\[^\n][^"\\\n]*)*)","stream":"\w{1,10}"(?:,"attrs":\{[^\n]{0,1000}?\})?'
    r',"time":"(?P<time>[\w:.+-]{1,40})"\}\r?$',
    re.MULTILINE | re.ASCII,
)
"""A line of docker's json-file (/var/lib/docker/containers/*/*-json.log): what was written is `text`."""


def clean(line: str) -> str:
    """The line without its end and colour codes, cut to MAX_LINE characters."""
    text = line[: 2 * MAX_LINE].rstrip("\r\n")
    return _COLOUR.sub("", text)[:MAX_LINE] if "\x1b" in text else text[:MAX_LINE]


def clean_block(block: str) -> str:
    """A block without colour codes and carriage returns at line ends, and out of the JSON in which docker keeps it."""
    if _IN_JSON in block:
        block = _JSON_LINE.sub(_shown, block)
    if "\x1b" in block:
        block = _COLOUR.sub("", block)
    if "\r" in block:
        block = block.replace("\r\n", "\n")
    return block


def _shown(match: re.Match[str]) -> str:
    """A line as `docker logs --timestamps` shows it."""
    text = match["text"].removesuffix("\\n")
    if "\\" in text:
        try:
            text = json.loads(f'"{text}"', strict=False).replace("\n", " ").rstrip("\r")
        except ValueError:
            return match[0]
    return f"{match['time']} {text}"


def blocks_of(log: str | Iterable[str]) -> Iterator[str]:
    """Clean blocks of a string, or of an iterable of lines (with or without their ends) or of larger pieces.

    The pieces of an iterable are whole lines: a piece without a newline at its end is given one. Whether the log was
    wrapped is judged by its first block.
    """
    width: int | None = None
    for raw in _slices(log) if isinstance(log, str) else _joined(log):
        block = clean_block(raw)
        if width is None:
            width = wrap_width(block)
        yield unwrap(block, width) if width else block


def _slices(text: str) -> Iterator[str]:
    start = 0
    while start < len(text):
        end = text.find("\n", start + BLOCK) + 1 or len(text)
        block = text[start:end]
        yield block if block.endswith("\n") else block + "\n"
        start = end


def _joined(pieces: Iterable[str]) -> Iterator[str]:
    kept: list[str] = []
    size = 0
    for piece in pieces:
        kept.append(piece if piece.endswith("\n") else piece + "\n")
        size += len(piece)
        if size >= BLOCK:
            yield "".join(kept)
            kept.clear()
            size = 0
    if kept:
        yield "".join(kept)


def wrap_width(block: str) -> int:
    """The column at which the lines of a block were cut and went on in the next line, 0 where they were not.

    Wrapped means: no line is longer, several NCCL lines are exactly as long, and what follows each of them is no NCCL
    line of its own.
    """
    lines = block.split("\n")[:-1][:4000]
    widest = max(map(len, lines), default=0)
    if not NARROWEST <= widest <= WIDEST:
        return 0
    after = Counter(
        bool(following) and not _is_front(following)
        for line, following in pairwise(lines)
        if len(line) == widest and _is_front(line)
    )
    return widest if after[True] >= _WRAPPED_AT_LEAST and after[True] >= 9 * after[False] else 0


def unwrap(block: str, width: int) -> str:
    """The block with lines cut at `width` joined again; an empty line stands where each joined part was."""
    lines = block.split("\n")[:-1]
    result: list[str] = []
    number = 0
    while number < len(lines):
        joined = number
        text = lines[number]
        while len(lines[joined]) == width and _goes_on(lines, joined + 1) and len(text) < MAX_LINE:
            joined += 1
            text += lines[joined]
        result += [text, *("" for _ in range(number, joined))]
        number = joined + 1
    return "\n".join(result) + "\n"


def _goes_on(lines: list[str], number: int) -> bool:
    return number < len(lines) and bool(lines[number]) and not _is_front(lines[number])


def _is_front(line: str) -> bool:
    """Whether a line begins as NCCL's do."""
    return _HINT.search(line) is not None and _FRONT.match(line) is not None
