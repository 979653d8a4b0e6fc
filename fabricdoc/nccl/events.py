"""The table of NCCL log lines (presets/nccl/events.csv) and the cheap way to find a line's event.

A row is: event, scope, first, needles, regex, versions, use, meaning. `first` are the message's first words the row is
for, joined by "|" ("NCCL_" stands for every variable's name, "#" for a number, "*" for any): they pick a few rows.
`needles` are plain substrings joined by "|" (any) and "&" (all; one ending in "$" must end the message): the regex is
tried only behind them, so that a line costs one regex at most. The first row that matches wins. `scope` says what a
regex is tried on: the message behind the level word, the whole line, any line (also one without NCCL's prefix), or
nothing by itself (part). `use`: "event"; "cause" and "follower" for what went wrong first and what comes of it;
"harmless" for lines that people worry about in vain; "quiet" rows are understood and counted, and give no event; for
"call" rows, of which a log may hold millions, the needles decide, and the regex waits until somebody asks for groups.

The rows come from NCCL's public source, 2.4 to 2.30.7, and the strings of 2.31 and 2.32. This module reads no log:
`reader` does.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Literal, NamedTuple, Protocol

from fabricdoc.files import own_folder

Scope = Literal["message", "line", "any", "prefix", "part"]
SCOPES: tuple[Scope, ...] = ("message", "line", "any", "prefix", "part")
Use = Literal["event", "cause", "follower", "harmless", "quiet", "call"]
USES: tuple[Use, ...] = ("event", "cause", "follower", "harmless", "quiet", "call")
BARE_WORDS = ("NCCL", "nccl", "atchdog", "Heartbeat", "c10d", "TCPStore", "client socket", "store based", "FullMesh")
"""A line without NCCL's prefix is looked at only when it holds one of these: a server writes many others."""

ANY = "*"
VARIABLE = "NCCL_"
NUMBER = "#"


@dataclass(frozen=True, slots=True)
class Rule:
    """One row of the table, compiled. `needles` holds alternatives, each a set that must all be there."""

    event: str
    scope: Scope
    first: tuple[str, ...]
    needles: tuple[tuple[str, ...], ...]
    regex: re.Pattern[str]
    versions: str
    meaning: str
    use: Use = "event"


class Said(Protocol):
    """A line whose groups are asked for: the message behind the level word, and the whole line."""

    @property
    def message(self) -> str:
        """What follows the level word."""

    @property
    def whole(self) -> str:
        """The end of the head, the level word and the message."""


class Found:
    """What a text turned out to be: the event's name and the regex's named groups that took part, made when asked.

    `silent`: a reader has more to do than to hand it on (a quiet row is only counted). `alike` serves every text of
    the same shape (`shape_of`): it makes the groups of each anew.
    """

    __slots__ = ("_groups", "_match", "alike", "event", "silent")

    def __init__(
        self, event: str, match: re.Match[str] | None = None, silent: bool = False, alike: Found | None = None
    ) -> None:
        self.event = event
        self.silent = silent
        self.alike = alike or self
        self._match = match
        self._groups: Mapping[str, str] | None = None

    @property
    def groups(self) -> Mapping[str, str]:
        """The named groups that took part, as text; the mapping can't be changed."""
        if self._groups is None:
            self._groups = _named(self._match)
        return self._groups

    def groups_in(self, _said: Said) -> Mapping[str, str]:
        """The groups, where the text is at hand again."""
        return self.groups


class Deferred(Found):
    """A row whose regex runs when the groups are asked for. One object serves all its texts."""

    __slots__ = ("_regex",)

    def __init__(self, rule: Rule) -> None:
        super().__init__(rule.event, silent=rule.use == "quiet")
        self._regex = rule.regex

    def groups_in(self, said: Said) -> Mapping[str, str]:
        """The groups of the regex in the message; none where a line was cut."""
        return _named(self._regex.search(said.message))


class OfWhole(Deferred):
    """A row that is tried on the whole line: a WARN line's front, a report's line. `msg` is there in any case."""

    __slots__ = ()

    def groups_in(self, said: Said) -> Mapping[str, str]:
        """The groups of the regex in the line; the message alone, where its front has an unknown form."""
        match = self._regex.search(said.whole)
        return _named(match) if match else MappingProxyType({"msg": said.message})


def _named(match: re.Match[str] | None) -> Mapping[str, str]:
    named = match.groupdict() if match else {}
    return MappingProxyType({name: value for name, value in named.items() if value is not None})


def _rule(row: Mapping[str, str]) -> Rule:
    scope = next(scope for scope in SCOPES if scope == row["scope"])
    return Rule(
        event=row["event"],
        scope=scope,
        first=tuple(word for word in row["first"].split("|") if word),
        needles=tuple(tuple(each.split("&")) for each in row["needles"].split("|") if each),
        regex=re.compile(row["regex"], re.ASCII),
        versions=row["versions"],
        meaning=row["meaning"],
        use=next(use for use in USES if use == row["use"]),
    )


@cache
def load_rules() -> tuple[Rule, ...]:
    """All rows of presets/nccl/events.csv in their order; a broken row raises, since the file is ours."""
    text = own_folder("presets").joinpath("nccl", "events.csv").read_text(encoding="utf-8")
    return tuple(_rule(row) for row in csv.DictReader(text.splitlines()))


def kind_of(word: str) -> str:
    """What a first word stands for when no row names it."""
    if word.startswith(VARIABLE):
        return VARIABLE
    return NUMBER if word.isdecimal() else ""


class Try(NamedTuple):
    """One alternative of a row's needles: `needle` and all of `others` in the text, and `end` at its end.

    `deferred` serves all texts of the row; of a row of calls (`call`) it is the answer without a regex.
    """

    needle: str
    others: tuple[str, ...]
    end: str
    rule: Rule
    deferred: Found
    call: bool


def _tries(rule: Rule) -> Iterator[Try]:
    deferred = (Deferred if rule.scope in ("message", "any") else OfWhole)(rule)
    for needles in rule.needles:
        plain = tuple(needle for needle in needles if not needle.endswith("$"))
        end = next((needle[:-1] for needle in needles if needle.endswith("$")), "")
        yield Try(plain[0] if plain else end, plain[1:], end, rule, deferred, rule.use == "call")


class Finder:
    """From text to the first rule that matches it. `tried` counts regexes, for the test that one a line is enough."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self.tried = 0
        self._any: list[Try] = []
        self._first: dict[str, list[Try]] = {}
        for rule in rules:
            for word in rule.first or (ANY,):
                (self._any if word == ANY else self._first.setdefault(word, [])).extend(_tries(rule))

    def __call__(self, text: str) -> Found | None:
        """The event of `text`, or None: by its first word, else by the rows that take any."""
        word = text.partition(" ")[0] or text[:64].lstrip(" ").partition(" ")[0]
        tries = self._first.get(word) or self._first.get(kind_of(word))
        return (tries and self._try(tries, text)) or self._try(self._any, text)

    def _try(self, tries: list[Try], text: str) -> Found | None:
        for needle, others, end, rule, deferred, call in tries:
            if needle not in text:
                continue
            for other in others:
                if other not in text:
                    break
            else:
                if end and not text.endswith(end):
                    continue
                if call:
                    return deferred
                self.tried += 1
                if match := rule.regex.search(text):
                    return Found(rule.event, match, deferred.silent, deferred)
        return None


class EventTable:
    """The rules by what they are tried on. Build it once (`event_table`)."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        by_scope: dict[str, list[Rule]] = {scope: [] for scope in SCOPES}
        for rule in rules:
            by_scope[rule.scope].append(rule)
        self.rules = {rule.event: rule for scope in SCOPES for rule in by_scope[scope]}
        self.find_message = Finder([*by_scope["message"], *by_scope["any"]])
        self.find_line = Finder(by_scope["line"])
        self.find_bare = Finder(by_scope["any"])
        self.find_prefix = Finder(by_scope["prefix"])

    def parts(self, event: str, text: str) -> tuple[Mapping[str, str], ...]:
        """Every occurrence of a "part" event in a group of another event (ib.dev in ib.using's `devs`)."""
        matches = self.rules[event].regex.finditer(text)
        return tuple(Found(event, match).groups for match in matches)


@cache
def event_table() -> EventTable:
    """The table every reader shares."""
    return EventTable(load_rules())
