"""A shell's words with their places: quotes, escapes, comments, continued lines, and where one command ends.

One pass over the text, in linear time whatever it holds. Nothing is run or expanded: a word with `$` or a backtick in
it says so. Here-documents are read as if they were commands, since what they write is often an env file. Which words
set a variable is `lint_commands`' matter.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from fabricdoc.nccl.lint_settings import LONGEST

MOST_QUOTED_LINES = 200
"""Lines that one pair of quotes may span; a lone apostrophe must not swallow the rest of a file."""
MOST_OPEN = 8
"""`$(` without an end that are looked for one; later ones are taken as plain letters."""
MOST_SUBSTITUTED = 4096

_PLAIN = re.compile(r"[^ \t\r\f\v\n'\"\\`$;&|()<>]+")
_BLANK = re.compile(r"(?:[ \t\r\f\v]|\\\r?\n)+")
_COMMENT = re.compile(r"[^\n]*")
_OPERATOR = re.compile(r"\n|;;?|&&?|\|[|&]?|[()]|[<>]&?[<>|]*")
_DOUBLE = re.compile(r'"((?:[^"\\]++|\\.)*+)"', re.DOTALL)
_ESCAPE = re.compile(r"\\([\"\\$`\n])")
_DOLLAR = re.compile(r"\$(?:\{[^}\n]{0,512}\}|\w+|[^\s'\"(]?)")
_BACKTICK = re.compile(r"`[^`\n]{0,4096}`|`")


class Word(NamedTuple):
    """A word, or the operator that ends a command (`ends`); `line` and `column` count from 1.

    `expands`: the shell would put something else in its place. `inner` are the offsets of what stood in quotes that
    hold the whole word, which may be a command of its own; (0, 0) otherwise. `stop` is the offset behind the word.
    """

    text: str
    line: int
    column: int
    ends: bool = False
    expands: bool = False
    inner: tuple[int, int] = (0, 0)
    stop: int = 0


@dataclass
class Text:
    """The text of a file, its lines' offsets, and what was seen of quotes that do not close."""

    whole: str
    starts: Sequence[int] = field(default_factory=list)
    unclosed: int = 0

    @classmethod
    def of(cls, lines: Sequence[str]) -> Text:
        """The lines as one text, each cut at `LONGEST` characters."""
        cut = [line[:LONGEST] for line in lines]
        starts = [0]
        for line in cut:
            starts.append(starts[-1] + len(line) + 1)
        return cls("\n".join(cut), starts)

    def place(self, at: int) -> tuple[int, int]:
        """Line and column of an offset."""
        line = max(0, bisect_right(self.starts, at) - 1)
        return line + 1, at - self.starts[line] + 1


def words_of(lines: Sequence[str]) -> Iterator[Word]:
    """The words of these lines and the operators between them."""
    text = Text.of(lines)
    return words_between(text, 0, len(text.whole))


def words_between(text: Text, start: int, end: int) -> Iterator[Word]:
    """The words of a part of a text."""
    at = start
    while at < end:
        if blank := _BLANK.match(text.whole, at, end):
            at = blank.end()
        elif text.whole[at] == "#":
            at = _end(_COMMENT.match(text.whole, at, end), at)
        elif operator := _OPERATOR.match(text.whole, at, end):
            line, column = text.place(at)
            yield Word(operator[0], line, column, ends=operator[0][0] not in "<>")
            at = operator.end()
        else:
            word, after = _word(text, at, end)
            yield word
            at = max(after, at + 1)


def _end(match: re.Match[str] | None, at: int) -> int:
    return match.end() if match and match.end() > at else at + 1


def _word(text: Text, start: int, end: int) -> tuple[Word, int]:
    """The word that begins at an offset, and where it ends."""
    parts: list[str] = []
    at, expands, inner = start, False, (0, 0)
    while at < end:
        letter = text.whole[at]
        if plain := _PLAIN.match(text.whole, at, end):
            parts.append(plain[0])
            at = plain.end()
        elif letter in "'\"":
            part, after, grows = _quoted(text, at, end)
            inner = (at + 1, after - 1) if at == start else (0, 0)
            expands |= grows
            parts.append(part)
            at = after
        elif letter == "\\":
            if text.whole.startswith(("\\\n", "\\\r\n"), at):
                break
            parts.append(text.whole[at + 1 : at + 2])
            at += 2
        elif letter in "$`":
            after = _substituted(text, at, end)
            parts.append(text.whole[at:after])
            expands, at = True, after
        else:
            break
    line, column = text.place(start)
    whole = inner if inner[1] and inner[1] + 1 == at else (0, 0)
    at = min(at, end)
    return Word("".join(parts), line, column, expands=expands, inner=whole, stop=at), at


def _quoted(text: Text, at: int, end: int) -> tuple[str, int, bool]:
    """(what stands in the quotes that open here, where they end, whether it expands); the quote alone if none close."""
    if text.whole[at] == "'":
        close = text.whole.find("'", at + 1, end)
        if close >= 0 and text.whole.count("\n", at, close) <= MOST_QUOTED_LINES:
            return text.whole[at + 1 : close], close + 1, False
        return "'", at + 1, False
    match = _DOUBLE.match(text.whole, at, end)
    if match and match[1].count("\n") <= MOST_QUOTED_LINES:
        plain = re.sub(r"\\.", "", match[1], flags=re.DOTALL)
        return _ESCAPE.sub(_unescaped, match[1]), match.end(), "$" in plain or "`" in plain
    return '"', at + 1, False


def _unescaped(match: re.Match[str]) -> str:
    return "" if match[1] == "\n" else match[1]


def _substituted(text: Text, at: int, end: int) -> int:
    """Where `$name`, `${...}`, `$(...)` or a pair of backticks ends."""
    if text.whole.startswith("$(", at) and text.unclosed < MOST_OPEN:
        depth, limit = 0, min(end, at + MOST_SUBSTITUTED)
        for place in range(at + 1, limit):
            depth += {"(": 1, ")": -1}.get(text.whole[place], 0)
            if not depth:
                return place + 1
        text.unclosed += 1
    pattern = _BACKTICK if text.whole[at] == "`" else _DOLLAR
    return _end(pattern.match(text.whole, at, end), at)
