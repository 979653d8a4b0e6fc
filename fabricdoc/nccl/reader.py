"""The one reader of NCCL logs: lines in, typed events out, in constant memory.

It takes a string or any iterable of lines, removes colour codes and what a launcher puts in front, and yields
an `Event` for every line the table knows; lines it does not know are counted, never an error. It judges
nothing: `proof` says what a launch did, other rooms look for causes.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from fabricdoc.nccl.events import EventTable, Found, event_table

MAX_LINE = 4096
"""Characters of a line that are looked at (NCCL's own buffer is 1 KiB; a 64-channel tree line is 1.4 KiB)."""

MAX_PREFIX = 300
"""Characters in front of the level word in which host, pid, GPU and source place are looked for."""

PREFIXED = ("WARN", "ATTN", "DIAG")
"""Levels whose line is an event by itself (prefix.warn, ...), before what its message says."""

_COLOUR = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])")
_LEVEL = re.compile(r" NCCL (INFO|WARN|ATTN|DIAG|TRACE|ABORT)(?: |$)")


@dataclass(frozen=True, slots=True)
class Event:
    """One line the table knows: `line` counts from 1, `text` is the line without colour codes and end.

    `level` is INFO, WARN, ... or "" for a line without NCCL's prefix. `groups` holds the named groups that
    took part, as text.
    """

    name: str
    groups: Mapping[str, str]
    line: int
    text: str
    level: str = ""


def clean(line: str) -> str:
    """The line without its end and colour codes, cut to MAX_LINE characters."""
    text = line[: 2 * MAX_LINE].rstrip("\r\n")
    return _COLOUR.sub("", text)[:MAX_LINE] if "\x1b" in text else text[:MAX_LINE]


class LogReader:
    """Iterate it once for the events of a log; the counters are right for what was read so far.

    `lines` all lines, `known` lines that gave at least one event, `unknown` NCCL lines that gave none (a WARN
    line always gives `prefix.warn`), `foreign` the rest: other programs' lines, continuation lines, blanks.
    """

    def __init__(self, log: str | Iterable[str], table: EventTable | None = None) -> None:
        self._lines = io.StringIO(log, newline="\n") if isinstance(log, str) else log
        self._table = table or event_table()
        self.lines = self.known = self.unknown = self.foreign = 0

    def __iter__(self) -> Iterator[Event]:
        for line in self._lines:
            self.lines += 1
            text = clean(line)
            level = _LEVEL.search(text)
            found = self._nccl_line(text, level) if level else self._bare_line(text)
            if found:
                self.known += 1
                for item in found:
                    yield Event(item.event, item.groups, self.lines, text, level[1] if level else "")
            elif level:
                self.unknown += 1
            else:
                self.foreign += 1

    def _nccl_line(self, text: str, level: re.Match[str]) -> list[Found]:
        """The events of a line with a level word: the prefix where it says something, then the message's own."""
        message = text[level.end() :]
        found = self._table.find_message(message)
        events = [found] if found else []
        if level[1] in PREFIXED:
            plain = Found(f"prefix.{level[1].lower()}", {"msg": message})
            whole = text[max(0, level.start() - MAX_PREFIX) :]
            line = self._table.find_line(whole)
            events = [self._table.find_prefix(whole) or plain, *([line] if line else []), *events]
        return events

    def _bare_line(self, text: str) -> list[Found]:
        found = self._table.find_bare(text)
        return [found] if found else []


def read_events(log: str | Iterable[str]) -> Iterator[Event]:
    """The events of a log in order, one pass, constant memory."""
    return iter(LogReader(log))
