"""The one reader of NCCL logs: text in, typed events out, in constant memory, some 50 to 100 MB a second.

It takes a string, or any iterable of lines or blocks of lines (`sources` reads files and gives blocks), removes colour
codes and what a launcher puts in front, and yields an `Event` for every line the table knows; lines it does not know
are counted, never guessed. It judges nothing: `proof` says what a launch did, other rooms look for causes.

A block is split at " NCCL " in one go; what each message is, is remembered, since a log repeats most of them. In one
that says the same with ever new numbers, the block's shape (`shapes`) is split instead, and what messages of a shape
are, is remembered. Who has heard enough of a process says so, and lines of that kind, warnings too, are then counted
without an object of their own.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import AnyStr, TypeVar

from fabricdoc.nccl.cleaning import MAX_LINE, blocks_of, clean
from fabricdoc.nccl.events import BARE_WORDS, EventTable, Found, OfWhole, event_table
from fabricdoc.nccl.shapes import LONGEST, DigitWords, digit_words, holds, shape_of
from fabricdoc.nccl.speakers import front_of

__all__ = ["MAX_LINE", "MAX_PREFIX", "Event", "LogReader", "clean", "read_events"]

T = TypeVar("T")
MAX_PREFIX = 300
"""Characters in front of the level word in which host, pid, GPU and source place are looked for."""

MAX_REMEMBERED = 8192
LONGEST_REMEMBERED = 400
"""Messages and shapes whose meaning is kept, and how long a message may be; all are forgotten when there are more."""
_NEW, _BY_SHAPE = 4, 16
"""When more than one in `_NEW` lines of a block is a new message, the next `_BY_SHAPE` blocks are read by shape."""

LEVELS = ("INFO", "WARN", "ATTN", "DIAG", "TRACE", "ABORT", "CALL", "VERSION")
PREFIXED = ("WARN", "ATTN", "DIAG")
"""Levels whose line is an event by itself (prefix.warn, ...), before what its message says."""

_MARK = " NCCL "
_MARK_OF_SHAPE = _MARK.encode()
_SECOND = re.compile(
    r"(?:\[[\d:. -]{8,40}\] )?[^\s:\[\]]{1,64}:\d{1,10}:\d{1,10} \[-?\d{1,4}\]"
    r"(?: \S{1,80}:\d{1,6}(?: \(\w{0,80}\))?)?$",
    re.ASCII,
)
"""The head of a second message, at the end of a first one that lacks its line end."""

_UNKNOWN = Found("", silent=True)
_COUNTED = Found("", silent=True)
_NOT_NCCL = Found("-", silent=True)
_WARNED = "prefix.warn"


class _Complaint(Found):
    """A WARN, ATTN or DIAG line: `first` is the prefix event, `others` what its message and its line say.

    `events` are the names of all that are to be handed on.
    """

    __slots__ = ("events", "first", "others")

    def __init__(self, first: Found, others: Sequence[Found], without: Collection[str]) -> None:
        same = all(one.alike is one for one in others)
        alike = None if same else _Complaint(first, [one.alike for one in others], without)
        super().__init__(first.event, silent=True, alike=alike)
        self.first = first
        self.others = tuple(others)
        self.events = tuple(one.event for one in (first, *others) if one.event not in without)


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
        return self._found.groups_in(self)

    @property
    def level(self) -> str:
        """NCCL's level word, "" for a line of another program."""
        return self.body.partition(" ")[0]

    @property
    def message(self) -> str:
        """What follows the level word; the whole line where there is none."""
        return self.body.partition(" ")[2] if self.body else self.head

    @property
    def whole(self) -> str:
        """The end of the head, the level word and the message: what rows of the scopes prefix and line are tried on."""
        return f"{self.head[-MAX_PREFIX:]}{_MARK}{self.body[:MAX_LINE]}"

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
    from a front (`speakers.front_of`, "" for lines without NCCL's prefix); of one that came `enough` times a line is
    only counted there; for a WARN line that is `enough_warnings`, and all that it says must have come often enough.
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
        enough_warnings: int | None = None,
        without: Collection[str] = (),
    ) -> None:
        self._blocks = blocks_of(log)
        self._table = table or event_table()
        self._memory: dict[str, Found] = {}
        self._shapes: dict[bytes, Found] = {}
        self._worded: dict[bytes, tuple[Found, DigitWords]] = {}
        self._bares: dict[bytes, Found] = {}
        self._heard, self._enough, self._without = heard, enough, without
        self._enough_of = {_WARNED: enough if enough_warnings is None else enough_warnings}
        self._fronts = {level: _front_rule(self._table, level) for level in PREFIXED}
        self._learned = self._by_shape = 0
        self.spoke = ""
        self.lines = self.known = self.unknown = self.foreign = self.unknown_warnings = 0

    def __iter__(self) -> Iterator[Event]:
        return chain.from_iterable(map(self._read, self._blocks))

    def _read(self, block: str) -> Iterator[Event]:
        """The events of a block of whole lines, known by their messages or by their shapes, whichever repeats."""
        pieces = block.split(_MARK)
        if self._by_shape:
            self._by_shape -= 1
            yield from self._lines(pieces, shape_of(block).split(_MARK_OF_SHAPE), b"\n", self._shapes)
            return
        if len(self._memory) > MAX_REMEMBERED:
            self._memory.clear()
        self._learned = 0
        yield from self._lines(pieces, pieces, "\n", self._memory)
        if self._learned > max(len(pieces) // _NEW, _BY_SHAPE):
            self._by_shape = _BY_SHAPE

    def _lines(
        self, pieces: Sequence[str], keys: Sequence[AnyStr], newline: AnyStr, memory: Mapping[AnyStr, Found]
    ) -> Iterator[Event]:
        """The events of the pieces of a block; `keys` are the same pieces as what they are known by, up to newlines."""
        heard, enough = self._heard, self._enough
        head = pieces[0]
        line, known, unknown = self.lines + 1, 0, 0
        if "\n" in head:
            yield from self._foreign(head, line)
            line += head.count("\n")
            head = head[head.rfind("\n") + 1 :]
        rest = ""
        for piece, key in zip(pieces[1:], keys[1:], strict=True):
            end = piece.find("\n")
            if end < 0 or rest:
                piece, rest = rest + piece, ""
                if end < 0:
                    if (cut := _second(piece, head)) >= 0:
                        yield from self._uncounted(head, piece[:cut].rstrip(" "), line)
                        head = piece[cut:]
                    else:
                        rest = _bounded(piece) + _MARK
                    continue
                end = piece.find("\n")
                found = self._of_text(piece[:end])
            else:
                known_by = key[: key.find(newline)]
                found = memory.get(known_by) or self._learn(known_by, piece[:end])
            if not found.silent:
                known += 1
                counts = None if heard is None else heard.get(head) or heard.get(front_of(head))
                if counts and counts.get(found.event, 0) >= enough:
                    counts[found.event] += 1
                    self.spoke = head
                else:
                    yield Event(found, line, head, piece[:end])
            elif found is _UNKNOWN:
                unknown += 1
            elif isinstance(found, _Complaint):
                known += 1
                self.unknown_warnings += not found.others
                if heard is None or not self._is_old(found, head):
                    yield from _handed(found, line, head, piece[:end])
            elif found is _NOT_NCCL:
                yield from self._bare(head + _MARK + piece[:end], line)
            else:
                known += 1
            line += 1
            head = piece[end + 1 :]
            if "\n" in head:
                yield from self._foreign(head, line)
                line += head.count("\n")
                head = head[head.rfind("\n") + 1 :]
        self.lines = line - 1
        self.known += known
        self.unknown += unknown

    def _learn(self, known_by: str | bytes, body: str) -> Found:
        """What "LEVEL message" is, not yet known by its text or its shape."""
        if isinstance(known_by, bytes):
            return self._of_shape(known_by, body)
        self._learned += 1
        found = self._of_text(body)
        if len(body) <= LONGEST_REMEMBERED:
            self._memory[body] = found
        return found

    def _of_text(self, body: str) -> Found:
        shape = shape_of(body)
        return self._shapes.get(shape) or self._of_shape(shape, body)

    def _of_shape(self, shape: bytes, body: str) -> Found:
        """What a body is; remembered by its shape, and by its words with digits where it has some."""
        found, words = self._worded.get(shape, (_UNKNOWN, ()))
        if words and holds(body, words):
            return found
        found = self._kind(body[:MAX_LINE])
        if len(shape) <= LONGEST:
            words = digit_words(shape)
            if not words:
                _keep(self._shapes, shape, found.alike)
            elif holds(body, words):
                _keep(self._worded, shape, (found.alike, words))
        return found

    def _kind(self, body: str) -> Found:
        """What the table says of a body; `_NOT_NCCL` where no level word comes first."""
        level, _, message = body.partition(" ")
        if level in PREFIXED:
            said = (self._table.find_line(_MARK + body), self._table.find_message(message))
            return _Complaint(self._fronts[level], [found for found in said if found], self._without)
        if level not in LEVELS:
            return _NOT_NCCL
        found = self._table.find_message(message) or _UNKNOWN
        return _COUNTED if found.event in self._without else found

    def _uncounted(self, head: str, body: str, line: int) -> Iterator[Event]:
        """The events of the first of two messages that two ranks wrote on one line: the second one counts the line."""
        found = self._kind(body[:MAX_LINE])
        if isinstance(found, _Complaint):
            yield from _handed(found, line, head, body)
        elif found is _NOT_NCCL:
            before = self.known, self.foreign
            yield from self._bare(head + _MARK + body, line)
            self.known, self.foreign = before
        elif not found.silent:
            yield Event(found, line, head, body)

    def _is_old(self, found: _Complaint, head: str) -> bool:
        """Whether all that a warning says was heard enough from where it comes: then it is counted there."""
        assert self._heard is not None
        counts = self._heard.get(head) or self._heard.get(front_of(head))
        if not counts:
            return False
        for event in found.events:
            if counts.get(event, 0) < self._enough_of.get(event, self._enough):
                return False
        for event in found.events:
            counts[event] += 1
        self.spoke = head
        return True

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
        found = self._bare_kind(text[:MAX_LINE]) if text else _UNKNOWN
        if found is _UNKNOWN:
            self.foreign += 1
            return
        self.known += 1
        if found.silent:
            return
        counts = self._heard.get("") if self._heard else None
        if counts and counts.get(found.event, 0) >= self._enough:
            counts[found.event] += 1
        else:
            yield Event(found, line, text[:MAX_LINE], "")

    def _bare_kind(self, text: str) -> Found:
        found = self._bares.get(shape := shape_of(text))
        if found is None:
            found = self._table.find_bare(text) or _UNKNOWN
            if len(shape) <= LONGEST and not digit_words(shape):
                _keep(self._bares, shape, found.alike)
        return found


def _keep(memory: dict[bytes, T], shape: bytes, found: T) -> None:
    if len(memory) >= MAX_REMEMBERED:
        memory.clear()
    memory[shape] = found


def _bounded(body: str) -> str:
    """The beginning of a line of many marks, and its end, where a second message may begin."""
    return body if len(body) <= 2 * MAX_LINE else body[:MAX_LINE] + body[-MAX_PREFIX:]


def _front_rule(table: EventTable, level: str) -> Found:
    """The prefix event of a level: its groups come from the line."""
    event = f"prefix.{level.lower()}"
    return OfWhole(table.rules[event]) if event in table.rules else Found(event)


def _handed(found: _Complaint, line: int, head: str, body: str) -> Iterator[Event]:
    """The events of a WARN, ATTN or DIAG line, the prefix event first."""
    for one in (found.first, *found.others):
        yield Event(one, line, head, body[:MAX_LINE])


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


def read_events(log: str | Iterable[str]) -> Iterator[Event]:
    """The events of a log in order, one pass, constant memory."""
    return iter(LogReader(log))
