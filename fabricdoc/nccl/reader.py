"""The one reader of NCCL logs: text in, typed events out, in constant memory, some 50 to 100 MB a second.

It takes a string, or any iterable of lines or blocks of lines (`sources` reads files and gives blocks), removes colour
codes and what a launcher puts in front, and yields an `Event` for every line the table knows; lines it does not know
are counted, never guessed. It judges nothing: `proof` says what a launch did, other rooms look for causes.

A block is split at " NCCL " in one go; what each message is, is remembered, since a log repeats most of them. Who has
heard enough of a process says so, and lines of that kind are then counted without an object of their own.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain

from fabricdoc.nccl.cleaning import MAX_LINE, blocks_of, clean
from fabricdoc.nccl.events import BARE_WORDS, EventTable, Found, Try, event_table
from fabricdoc.nccl.speakers import front_of

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

_INFO = "INFO "
_AFTER_LEVEL = len(_INFO)
_UNKNOWN = Found("", silent=True)
_COUNTED = Found("", silent=True)
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

    A log of gigabytes says the same again and again. `heard`, filled by who reads, holds how often each event came
    from a front (`speakers.front_of`); of one that came `enough` times a line without a WARN is only counted there.
    `spoke` is then the head of the last such line ("" for none since who reads set it so). Events in `without` are
    known, and never handed on where NCCL's INFO says them.
    """

    def __init__(
        self,
        log: str | Iterable[str],
        table: EventTable | None = None,
        *,
        heard: Mapping[str, dict[str, int]] | None = None,
        enough: int = 1,
        without: Collection[str] = (),
    ) -> None:
        self._blocks = blocks_of(log)
        self._table = table or event_table()
        self._memory: dict[str, Found] = {}
        self._heard, self._enough, self._without = heard, enough, without
        self._calls = {_INFO + word: self._answers(tries) for word, tries in self._table.find_message.calls.items()}
        self._warned: dict[tuple[str, str], tuple[Found, ...]] = {}
        self.spoke = ""
        self.lines = self.known = self.unknown = self.foreign = self.unknown_warnings = 0

    def _answers(self, tries: Iterable[Try]) -> tuple[Try, ...]:
        """Rows of calls that give what is to be handed on."""
        return tuple(
            one._replace(deferred=_COUNTED) if one.deferred and one.rule.event in self._without else one
            for one in tries
        )

    def __iter__(self) -> Iterator[Event]:
        return chain.from_iterable(map(self._read, self._blocks))

    def _read(self, block: str) -> Iterator[Event]:
        """The events of a block of whole lines."""
        memory, heard, enough = self._memory, self._heard, self._enough
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
                if (cut := _second(body, head)) >= 0:
                    yield from self._uncounted(head, body[:cut].rstrip(" "), line)
                    head = body[cut:]
                else:
                    rest = body + _MARK if len(body) <= 2 * MAX_LINE else body[:MAX_LINE] + body[-MAX_PREFIX:] + _MARK
                continue
            found = memory.get(body) or self._learn(body)
            if not found.silent:
                known += 1
                counts = None if heard is None else heard.get(head) or heard.get(front_of(head))
                if counts and counts.get(found.event, 0) >= enough:
                    counts[found.event] += 1
                    self.spoke = head
                else:
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
        """What "LEVEL message" is; remembered, unless it is one of the calls that never come twice."""
        for needle, others, end, _rule, call in self._calls.get(body[: body.find(" ", _AFTER_LEVEL)], ()):
            if needle in body and body.endswith(end) and all(map(body.__contains__, others)):
                if call is None or len(body) > LONGEST_REMEMBERED:
                    break
                return call
        found = self._kind(body[:MAX_LINE])
        if len(body) <= LONGEST_REMEMBERED:
            self._memory[body] = found
        return found

    def _kind(self, body: str) -> Found:
        """`_NOT_NCCL` where no level word comes first, the prefix event for a WARN."""
        level, _, message = body.partition(" ")
        if level in PREFIXED:
            return Found(f"prefix.{level.lower()}", silent=True)
        if level not in LEVELS:
            return _NOT_NCCL
        found = self._table.find_message(message) or _UNKNOWN
        return _COUNTED if found.event in self._without else found

    def _uncounted(self, head: str, body: str, line: int) -> Iterator[Event]:
        """The events of the first of two messages that two ranks wrote on one line: the second one counts the line."""
        found = self._kind(body[:MAX_LINE])
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
        founds = self._warned.get((head, body))
        if founds is None:
            founds = self._warning(level, message, f"{head[-MAX_PREFIX:]}{_MARK}{body[:MAX_LINE]}")
            if len(head) + len(body) <= LONGEST_REMEMBERED:
                if len(self._warned) > MAX_REMEMBERED:
                    self._warned.clear()
                self._warned[head, body] = founds
        self.known += 1
        if len(founds) == 1:
            self.unknown_warnings += 1
        for found in founds:
            yield Event(found, line, head, body[:MAX_LINE])

    def _warning(self, level: str, message: str, whole: str) -> tuple[Found, ...]:
        """What a WARN, ATTN or DIAG line is, the prefix event first."""
        first = self._table.find_prefix(whole) or _spoken(f"prefix.{level.lower()}", message)
        return first, *(found for found in (self._table.find_line(whole), self._table.find_message(message)) if found)

    def _foreign(self, text: str, line: int) -> Iterator[Event]:
        """The whole lines of `text` (its last, unfinished one is the next line's head)."""
        words = [word for word in BARE_WORDS if word in text]
        if not words:
            self.foreign += text.count("\n")
            return
        for number, one in enumerate(text.split("\n")[:-1], line):
            for word in words:
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


def _second(body: str, head: str) -> int:
    """Where in `body` the head of a second message begins, -1 where none is."""
    second = _SECOND.search(body, max(0, len(body) - MAX_PREFIX))
    return second.start() + _where(second[0], head) if second else -1


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
