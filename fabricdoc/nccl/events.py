"""The table of NCCL log lines (presets/nccl/events.csv) and the cheap way to find a line's event.

A row is: event, scope, needles, regex, versions, meaning. `needles` are plain substrings joined by "|": the
regex is tried only when one of them is in the text, so a line that is none of the table costs microseconds.
The first row that matches wins. Scope says what a regex is tried on: the message behind the level word, the
whole line, any line (also one without NCCL's prefix), or nothing by itself (part). The rows come from NCCL's
public source, 2.18 to 2.30.7, and the strings of 2.31 and 2.32. This module reads no log: `reader` does.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from types import MappingProxyType
from typing import Literal

from fabricdoc.files import own_folder

Scope = Literal["message", "line", "any", "prefix", "part"]
SCOPES: tuple[Scope, ...] = ("message", "line", "any", "prefix", "part")
REMEMBERED_MESSAGES = 512


@dataclass(frozen=True, slots=True)
class Rule:
    """One row of the table, compiled. `versions` and `meaning` are for people and for later checks."""

    event: str
    scope: Scope
    needles: tuple[str, ...]
    regex: re.Pattern[str]
    versions: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Found:
    """What a text turned out to be: the event's name and the regex's named groups that took part."""

    event: str
    groups: Mapping[str, str]


def _rule(row: Mapping[str, str]) -> Rule:
    scope = next(scope for scope in SCOPES if scope == row["scope"])
    needles = tuple(needle for needle in row["needles"].split("|") if needle)
    regex = re.compile(row["regex"], re.ASCII)
    return Rule(row["event"], scope, needles, regex, row["versions"], row["meaning"])


@cache
def load_rules() -> tuple[Rule, ...]:
    """All rows of presets/nccl/events.csv in their order; a broken row raises, since the file is ours."""
    text = own_folder("presets").joinpath("nccl", "events.csv").read_text(encoding="utf-8")
    return tuple(_rule(row) for row in csv.DictReader(text.splitlines()))


def _found(rule: Rule, match: re.Match[str]) -> Found:
    groups = {name: value for name, value in match.groupdict().items() if value is not None}
    return Found(rule.event, MappingProxyType(groups))


def finder(rules: Iterable[Rule]) -> Callable[[str], Found | None]:
    """A function from text to the first rule that matches it, or None.

    It remembers its last answers: at TUNING a log repeats one message once per call, thousands of times.
    """
    tries = tuple((needle, rule) for rule in rules for needle in rule.needles)

    @lru_cache(maxsize=REMEMBERED_MESSAGES)
    def find(text: str) -> Found | None:
        for needle, rule in tries:
            if needle in text and (match := rule.regex.search(text)):
                return _found(rule, match)
        return None

    return find


class EventTable:
    """The rules by what they are tried on. Build it once (`event_table`)."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        by_scope: dict[str, list[Rule]] = {scope: [] for scope in SCOPES}
        for rule in rules:
            by_scope[rule.scope].append(rule)
        self.rules = {rule.event: rule for scope in SCOPES for rule in by_scope[scope]}
        self.find_message = finder([*by_scope["message"], *by_scope["any"]])
        self.find_line = finder(by_scope["line"])
        self.find_bare = finder(by_scope["any"])
        self.find_prefix = finder(by_scope["prefix"])

    def parts(self, event: str, text: str) -> tuple[Mapping[str, str], ...]:
        """Every occurrence of a "part" event in a group of another event (ib.dev in ib.using's `devs`)."""
        matches = self.rules[event].regex.finditer(text)
        return tuple(_found(self.rules[event], match).groups for match in matches)


@cache
def event_table() -> EventTable:
    """The table every reader shares."""
    return EventTable(load_rules())
