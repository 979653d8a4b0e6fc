"""The one reader of NCCL logs: text in, typed events out, in constant memory, some 50 MB a second.

It takes a string, or any iterable of lines or blocks of lines (`sources` reads files and gives blocks), removes colour
codes and what a launcher puts in front, and yields an `Event` for every line the table knows; lines it does not know
are counted, never guessed. It judges nothing: `proof` says what a launch did, other rooms look for causes.

A block is split at " NCCL " in one go; what each message is, is remembered, since a log repeats most of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

from fabricdoc.nccl.cleaning import MAX_LINE, blocks_of, clean
from fabricdoc.nccl.events import BARE_WORDS, EventTable, Found, event_table

__all__ = ["MAX_LINE", "MAX_PREFIX", "Event", "LogReader", "clean", "read_events"]

MAX_PREFIX = 300
"""Characters in front of the level word in which host, pid, GPU and source place are looked for."""

MAX_REMEMBERED = 8192
LONGEST_REMEMBERED = 400
"""Messages whose meaning is kept, and how long they may be; between two blocks all are forgotten when more."""

LEVELS = ("INFO", "WARN", "ATTN", "DIAG", "TRACE", "ABORT", "CALL", "VERSION")
PREFIXED = ("WARN", "ATTN", "DIAG")
"""Levels whose line is an event by itself (prefix.warn, ...), before what its message says."""

_MARK = " NCCL "
_SECOND = re.compile(
    r"(?:\[[\d:. -]{8,40}\] )?[^\s:\[\]]{1,64}:\d{1,10}:\d{1,10} \[-?\d{1,4}\]"
    r"(?: \S{1,80}:\d{1,6}(?: \(\w{0,80}\))?)?$",
    re.ASCII,
)
"""The head of a second message, at the end of a first one that lacks its line end."""

_UNKNOWN = Found("", silent=True)
_NOT_NCCL = Found("-", silent=True)
_OTHERS = frozenset({"-", *(f"prefix.{level.lower()}" for level in PREFIXED)})


class Event:
    """One line the table knows: `line` counts from 1, `head` is what stood in front of NCCL's level word.

    `level` is INFO, WARN, ... or "" for a line without NCCL's prefix. `groups` holds the named groups that took part,
    as text. `text` is the line without colour codes and end.
    """

    __slots__ = ("_found", "body", "head", "line")

    def __init__(self, found: Found, line: int, head: str, body: str) -> None:
        self._found = found
        self.line = line
        self.head = head
        self.body = body

    @property
    def name(self) -> str:
        """The event's name in the table."""
        return self._found.event

    @property
    def groups(self) -> Mapping[str, str]:
        """The regex's named groups that took part."""
        return self._found.groups_in(self.message)

    @property
    def level(self) -> str:
        """NCCL's level word, "" for a line of another program."""
        return self.body.partition(" ")[0]

    @property
    def message(self) -> str:
        """What follows the level word; the whole line where there is none."""
        return self.body.partition(" ")[2] if self.body else self.head

    @property
    def text(self) -> str:
        """The whole line."""
        return self.head + _MARK + self.body if self.body else self.head

    def _key(self) -> tuple[object, ...]:
        return self.name, dict(self.groups), self.line, self.text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Event) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash((self.name, self.line))

    def __repr__(self) -> str:
        return f"Event({self.name!r}, line={self.line}, {dict(self.groups)!r})"


class LogReader:
    """Iterate it once for the events of a log; the counters are right for the blocks that were read.

    `lines` all lines, `known` lines that the table knows, `unknown` NCCL lines that it does not (a WARN line always
    gives `prefix.warn`, and counts here too when nothing more is known of it, as in `unknown_warnings`), `foreign` the
    rest: other programs' lines, continuation lines, blanks.
    """

    def __init__(self, log: str | Iterable[str], table: EventTable | None = None) -> None:
        self._blocks = blocks_of(log)
        self._table = table or event_table()
        self._memory: dict[str, Found] = {}
        self.lines = self.known = self.unknown = self.foreign = self.unknown_warnings = 0

    def __iter__(self) -> Iterator[Event]:
        return chain.from_iterable(map(self._read, self._blocks))

    def _read(self, block: str) -> Iterator[Event]:
        """The events of a block of whole lines."""
        memory = self._memory
        if len(memory) > MAX_REMEMBERED:
            memory.clear()
        pieces = block.split(_MARK)
        head = pieces[0]
        line, known, unknown = self.lines + 1, 0, 0
        if "\n" in head:
            yield from self._foreign(head, line)
            line += head.count("\n")
            head = head[head.rfind("\n") + 1 :]
        rest = ""
        for piece in pieces[1:]:
            body, newline, tail = piece.partition("\n")
            if rest:
                body, rest = rest + body, ""
            if not newline:
                second = _SECOND.search(body, max(0, len(body) - MAX_PREFIX))
                if second:
                    cut = second.start() + _where(second[0], head)
                    yield from self._uncounted(head, body[:cut].rstrip(" "), line)
                    head = body[cut:]
                else:
                    rest = body + _MARK if len(body) <= 2 * MAX_LINE else body[:MAX_LINE] + body[-MAX_PREFIX:] + _MARK
                continue
            found = memory.get(body)
            if found is None:
                found = self._learn(body)
                if len(body) <= LONGEST_REMEMBERED:
                    memory[body] = found
            if not found.silent:
                known += 1
                yield Event(found, line, head, body)
            elif found is _UNKNOWN:
                unknown += 1
            elif found.event in _OTHERS:
                yield from self._other(head, body, line)
            else:
                known += 1
            line += 1
            if "\n" in tail:
                yield from self._foreign(tail, line)
                line += tail.count("\n")
                tail = tail[tail.rfind("\n") + 1 :]
            head = tail
        self.lines = line - 1
        self.known += known
        self.unknown += unknown

    def _learn(self, body: str) -> Found:
        """What "LEVEL message" is: `_NOT_NCCL` where no level word comes first, the prefix event for a WARN."""
        if len(body) > MAX_LINE:
            body = body[:MAX_LINE]
        level, _, message = body.partition(" ")
        if level in PREFIXED:
            return Found(f"prefix.{level.lower()}", silent=True)
        if level not in LEVELS:
            return _NOT_NCCL
        return self._table.find_message(message) or _UNKNOWN

    def _uncounted(self, head: str, body: str, line: int) -> Iterator[Event]:
        """The events of the first of two messages that two ranks wrote on one line: the second one counts the line."""
        found = self._learn(body)
        if found.event in _OTHERS:
            before = self.known, self.foreign, self.unknown_warnings
            yield from self._other(head, body, line)
            self.known, self.foreign, self.unknown_warnings = before
        elif not found.silent:
            yield Event(found, line, head, body)

    def _other(self, head: str, body: str, line: int) -> Iterator[Event]:
        """A WARN, ATTN or DIAG line, or a line that only holds the word NCCL."""
        level, _, message = body[:MAX_LINE].partition(" ")
        if level not in PREFIXED:
            yield from self._bare(head + _MARK + body, line)
            return
        plain = Found(f"prefix.{level.lower()}")
        whole = f"{head[-MAX_PREFIX:]}{_MARK}{body[:MAX_LINE]}"
        first = self._table.find_prefix(whole) or _spoken(plain.event, message)
        more = [found for found in (self._table.find_line(whole), self._table.find_message(message)) if found]
        self.known += 1
        if not more:
            self.unknown_warnings += 1
        for found in (first, *more):
            yield Event(found, line, head, body[:MAX_LINE])

    def _foreign(self, text: str, line: int) -> Iterator[Event]:
        """The whole lines of `text` (its last, unfinished one is the next line's head)."""
        lines = text.split("\n")
        del lines[-1]
        for number, one in enumerate(lines, line):
            for word in BARE_WORDS:
                if word in one:
                    yield from self._bare(one, number)
                    break
            else:
                self.foreign += 1

    def _bare(self, text: str, line: int) -> Iterator[Event]:
        found = self._table.find_bare(text[:MAX_LINE]) if text else None
        if found:
            self.known += 1
            if not found.silent:
                yield Event(found, line, text[:MAX_LINE], "")
        else:
            self.foreign += 1


def _where(front: str, head: str) -> int:
    """Where in `front`, which may begin with the end of a message, the second line's host begins.

    Mostly both lines are of one node: then its name is known. Else the whole word is taken for the host.
    """
    host = head.split(":")[0].rpartition(" ")[2]
    return max(front.split(":")[0].rfind(host), 0) if host else 0


def _spoken(event: str, message: str) -> Found:
    """A warning whose prefix has an unknown form: its message alone."""
    return Found(event, re.compile(r"(?P<msg>.*)", re.DOTALL).match(message))


def read_events(log: str | Iterable[str]) -> Iterator[Event]:
    """The events of a log in order, one pass, constant memory."""
    return iter(LogReader(log))
