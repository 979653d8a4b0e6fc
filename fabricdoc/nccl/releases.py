"""Which NCCL wrote a log: the version it names, else the range that its lines leave (presets/nccl/releases.csv).

A row says: a line of this event that holds `has` and not `lacks` was written by releases `first` to `last` (empty: any
later one). The rows come from comparing the format strings of 60 releases, 2.4.2 to 2.30.7. A version that only
a framework names counts less than one that NCCL wrote.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from fabricdoc.files import own_folder
from fabricdoc.nccl.reader import Event
from fabricdoc.nccl.versions import Release, parse_release

OLDEST: Release = (2, 4, 2)
LOOKED_AT = 8
"""Lines of one event that are held against the rows: the same form comes again and again."""

_NAMED = ("version", "tests.version", "version.engine", "version.plain")
"""Events that name a version, the surest first."""


@dataclass(frozen=True, slots=True)
class Span:
    """Releases from `first` to `last`, None where every later one fits. `named` is the version as the log says it."""

    first: Release
    last: Release | None = None
    named: str = ""

    def __str__(self) -> str:
        if self.named:
            return self.named
        first = ".".join(map(str, self.first))
        return f"{first} or newer" if self.last is None else f"{first} to {'.'.join(map(str, self.last))}"

    def meets(self, other: Span) -> Span | None:
        """What both leave, None when they exclude one another."""
        first = max(self.first, other.first)
        lasts = [last for last in (self.last, other.last) if last is not None]
        last = min(lasts) if lasts else None
        return None if last is not None and first > last else Span(first, last)


@dataclass(frozen=True, slots=True)
class _Sign:
    has: str
    lacks: str
    span: Span


@cache
def _signs() -> Mapping[str, tuple[_Sign, ...]]:
    text = own_folder("presets").joinpath("nccl", "releases.csv").read_text(encoding="utf-8")
    signs: dict[str, tuple[_Sign, ...]] = {}
    for row in csv.DictReader(text.splitlines()):
        span = Span(parse_release(row["first"]) or OLDEST, parse_release(row["last"]))
        sign = _Sign(row["has"], row["lacks"], span)
        signs[row["event"]] = (*signs.get(row["event"], ()), sign)
    return signs


def signs_of_releases() -> frozenset[str]:
    """The events that say something of the release."""
    return frozenset({*_NAMED, *_signs()})


class ReleaseFinder:
    """Takes a process's events one by one and says which NCCL wrote them."""

    def __init__(self) -> None:
        self._named: dict[str, Span] = {}
        self._seen: dict[str, int] = {}
        self._span = Span(OLDEST)
        self.contradicted = False

    def take(self, event: Event) -> None:
        """Note what an event says. Signs that exclude one another (two builds in one log) set `contradicted`."""
        if event.name in _NAMED:
            self._name(event)
            return
        signs = _signs().get(event.name)
        if not signs or self._seen.get(event.name, 0) >= LOOKED_AT:
            return
        self._seen[event.name] = self._seen.get(event.name, 0) + 1
        text = event.message
        for sign in signs:
            if sign.has in text and not (sign.lacks and sign.lacks in text):
                met = self._span.meets(sign.span)
                self.contradicted |= met is None
                self._span = met or self._span

    def _name(self, event: Event) -> None:
        groups = event.groups
        code = groups.get("library") or groups.get("headers") or ""
        version, suffix = groups.get("ver", ""), groups.get("suffix", "")
        if not version and code.isdecimal() and 20000 <= int(code[:9]) < 1000000:
            version = f"{int(code) // 10000}.{int(code) // 100 % 100}.{int(code) % 100}"
        if (release := parse_release(version)) and event.name not in self._named:
            self._named[event.name] = Span(release, release, f"{version}{suffix}"[:40])

    def span(self) -> Span | None:
        """The version or range, None when the log has no sign of any."""
        for name in _NAMED:
            if named := self._named.get(name):
                return named
        return self._span if self._span != Span(OLDEST) else None
