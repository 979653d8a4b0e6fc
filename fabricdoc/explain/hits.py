"""What a rule answers: that its cause is there (`Hit`), that it competes and lacks something (`Near`), or nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol, runtime_checkable

from fabricdoc.explain.case import Case
from fabricdoc.explain.seen import Spot

Confidence = Literal["certain", "likely", "possible"]
Severity = Literal["error", "warning", "info"]
MOST_EVIDENCE = 8
_SAFE = re.compile(r"[\w.,:=^/@%<>+*\[\] -]{1,200}", re.ASCII)


@runtime_checkable
class HasSpot(Protocol):
    """Whatever stands at a place."""

    @property
    def spot(self) -> Spot:
        """Where it stands."""


Piece = HasSpot | Spot


@dataclass(frozen=True)
class Hit:
    """A cause with its evidence, the decisive line first, and the user's own names for the words of cause and fix.

    `sought` is evidence that was looked for and not found; `severity` overrides the one of the data.
    """

    evidence: tuple[Spot, ...]
    words: Mapping[str, str] = field(default_factory=dict)
    confidence: Confidence = "certain"
    sought: tuple[str, ...] = ()
    severity: Severity | None = None


@dataclass(frozen=True)
class Near:
    """A cause that something speaks for, why it does not hold, and what was sought in vain."""

    evidence: tuple[Spot, ...]
    why: str
    sought: tuple[str, ...] = ()


Answer = Hit | Near | None
Rule = Callable[[Case], Answer]


def spots(*pieces: Piece | Iterable[Piece] | None) -> tuple[Spot, ...]:
    """The places of these pieces, each once, at most MOST_EVIDENCE."""
    found: dict[tuple[str, int], Spot] = {}
    for piece in pieces:
        if piece is None:
            continue
        listed: Iterable[Piece] = [piece] if isinstance(piece, (Spot, HasSpot)) else piece
        for one in listed:
            spot = one if isinstance(one, Spot) else one.spot
            found.setdefault((spot.file, spot.line), spot)
    return tuple(found.values())[:MOST_EVIDENCE]


def words(**given: object) -> dict[str, str]:
    """Names for the words of a cause and its fix: those that are harmless to paste; the others stay placeholders."""
    return {name: str(value) for name, value in given.items() if value and _SAFE.fullmatch(str(value))}


def listing(names: Iterable[str], most: int = 8) -> str:
    """Names as `a, b and 3 more`."""
    unique = list(dict.fromkeys(names))
    left = len(unique) - most
    return ", ".join(unique[:most]) + (f" and {left} more" if left > 0 else "")
