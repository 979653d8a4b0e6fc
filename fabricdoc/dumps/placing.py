"""Where the evidence of a finding stands in the texts it was read from: file, line, and that line verbatim.

Checks speak of nodes and know no files. A piece of evidence about a node made from text is held against every fact of
that node: it comes from those about the things it names (an HCA, an interface, a GID's index, a counter) whose value it
tells, else whose field it speaks of. Their lines are put before the words of the check, which stay. A piece of which
nothing is known keeps the node's name alone. No check is known here, and nothing is judged.
"""

from __future__ import annotations

import ipaddress
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from fabricdoc.dumps.sources import Facts
from fabricdoc.dumps.told import Path, Place
from fabricdoc.model.findings import Evidence, Finding

WITH_FIELD = frozenset({"hca", "port", "gid", "netdev", "qos", "pcie", "gpu", "host"})
"""Kinds whose path ends with a field; the other kinds' paths are names to their end."""
TOKEN = re.compile(r"[\w.:@+-]+")
TOLD_BY = ("destination", "gateway", "ip", "selector")
"""What names a route, a neighbour or a rule, beside its interface."""
GPU = re.compile(r"\bGPU \d+")
CAMEL = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
NOTHING = frozenset({"nothing", "none"})
MOST_OF_PIECE, MOST_OF_FINDING = 4, 12
SMALL = 16
"""A number below this is told of everything; it counts only where its field is spoken of too."""
SHOWN = 240
VALUE, FIELD, THERE = 4.0, 2.0, 0.5


class Piece(NamedTuple):
    """A piece of evidence: its text and words in lower case, its names, and those of the finding's subject."""

    text: str
    tokens: frozenset[str]
    words: frozenset[str]
    subject: frozenset[str]


class Known(NamedTuple):
    """A fact as evidence may tell it: the thing it is about, what else must be named, its field, value and place."""

    device: str
    other: str
    field: str
    value: Any
    place: Place


def placed(findings: Iterable[Finding], facts: Mapping[str, Facts]) -> tuple[Finding, ...]:
    """The findings; evidence of a node in `facts` has the lines it was read from before it."""
    indexes: dict[str, Index] = {}
    return tuple(_placed(one, facts, indexes) for one in findings)


def _placed(finding: Finding, facts: Mapping[str, Facts], indexes: dict[str, Index]) -> Finding:
    evidence: list[Evidence] = []
    told: set[tuple[str, int | None]] = set()
    for piece in finding.evidence:
        if piece.line is None and piece.file in facts:
            index = indexes.get(piece.file) or indexes.setdefault(piece.file, Index(facts[piece.file]))
            for place, value in index.places(_piece(piece.text, finding.subject)):
                if (place.file, place.line) not in told and len(told) < MOST_OF_FINDING:
                    told.add((place.file, place.line))
                    evidence.append(Evidence(file=place.file, line=place.line, text=excerpt(place.text, value)))
        evidence.append(piece)
    return finding.model_copy(update={"evidence": tuple(evidence)}) if told else finding


def excerpt(line: str, value: Any) -> str:
    """The line as it stands; of a very long one the part around the value."""
    text = line.strip()
    if len(text) <= SHOWN:
        return text
    at = max(text.find(str(value)), 0) if isinstance(value, (str, int)) else 0
    begin = max(0, min(at - SHOWN // 2, len(text) - SHOWN))
    return text[begin : begin + SHOWN].strip()


def _piece(text: str, subject: str) -> Piece:
    tokens = frozenset(_tokens(text))
    words = frozenset(word.lower() for token in tokens for word in CAMEL.findall(token))
    return Piece(text.lower(), tokens, words, frozenset(_tokens(subject)))


def _tokens(text: str) -> Iterator[str]:
    """Words with and without what may stand around a name: NODE/NAME, NAME:PORT, (NAME), NAME=VALUE."""
    for match in TOKEN.finditer(text):
        word = match[0].strip(".:+@")
        yield word
        if ":" in word:
            yield word.partition(":")[0]
    yield from GPU.findall(text)


class Index:
    """The facts of one node, by the thing they are about and what else must be named."""

    def __init__(self, facts: Facts) -> None:
        self._by_device: dict[str, dict[str, list[Known]]] = defaultdict(lambda: defaultdict(list))
        for path, value in facts.values.items():
            place = facts.places[path]
            if place.text:
                for one in _known(path, value, place):
                    self._by_device[one.device][one.other].append(one)

    def places(self, piece: Piece) -> list[tuple[Place, Any]]:
        """The place of the best fact for each thing the piece names, best first; none where none fits.

        What tells no value is passed over where something else tells one.
        """
        devices = self._of(piece.tokens) or self._of(piece.subject)
        found = [best for device in ("", *devices) if (best := self._best(device, piece))]
        told = [pair for pair in found if pair[0] >= VALUE] or found
        ordered = sorted(told, key=lambda pair: -pair[0])[:MOST_OF_PIECE]
        return [(one.place, one.value) for _score, one in ordered]

    def _of(self, tokens: frozenset[str]) -> list[str]:
        return [device for device in self._by_device if device in tokens]

    def _best(self, device: str, piece: Piece) -> tuple[float, Known] | None:
        known = self._by_device.get(device, {})
        spoken = (one for other in ("", *sorted(known.keys() & piece.tokens)) for one in known.get(other, ()))
        scored = ((score, one) for one in spoken if (score := _score(one, piece)))
        return max(scored, key=lambda pair: pair[0], default=None)


def _known(path: Path, value: Any, place: Place) -> Iterator[Known]:
    """The ways in which evidence may speak of a fact."""
    kind, *rest = path
    names = [str(part) for part in rest]
    if isinstance(value, dict):  # a route, a rule, a neighbour
        shown = [str(value[key]) for key in TOLD_BY if value.get(key)]
        yield Known(str(value.get("netdev") or ""), "", str(kind), shown, place)
        return
    field = names.pop() if kind in WITH_FIELD and names else str(kind)
    if kind == "address" and len(names) > 1:
        address, _slash, _prefix = names[1].partition("/")
        yield Known(names[0], "", "address", [one for one in (address, _network(names[1])) if one], place)
    elif kind == "sysctl" and names:
        device, _dot, setting = names[0].rpartition(".")
        yield Known(device.rpartition(".")[2], "", setting, value, place)
    elif kind == "counter" and len(names) > 2:
        yield Known(names[0], names[2], "", value, place)
        yield Known(names[0].partition("/")[0], names[2], "", value, place)
    elif kind == "gid" and len(names) > 2:
        yield Known(names[0], names[2], field, value, place)
    elif kind == "path":
        yield Known(names[-1], "", "path", value, place)
    elif names:
        yield Known(f"GPU {names[0]}" if kind == "gpu" else names[0], "", field, value, place)
    elif field:
        yield Known("", "", field, value, place)


def _network(text: str) -> str:
    try:
        return str(ipaddress.ip_network(text, strict=False))
    except ValueError:
        return ""


def _score(one: Known, piece: Piece) -> float:
    """How much of a fact a piece tells: its value above all, then its field; 0 where it does not speak of it."""
    field, value = _spoken(one.field, piece), _told(one.value, piece)
    if value and one.value == one.device:  # that it is there at all
        return THERE
    if value and (field or one.other or _speaks(one.value)):
        return VALUE + field
    if one.other:
        return FIELD + field
    enough = 1.0 if not one.device else 0.5
    return field * FIELD if field >= enough else 0.0


def _speaks(value: Any) -> bool:
    """Whether a value says enough by itself: no small number, no empty list."""
    return abs(value) >= SMALL if isinstance(value, int) else value != []


def _spoken(field: str, piece: Piece) -> float:
    """The share of a field's words that the piece has, one of them perhaps in short (Mem for memory)."""
    wanted = [word for word in field.lower().split("_") if len(word) > 1]
    found = [word for word in wanted if any(_like(word, said) for said in piece.words)]
    return len(found) / len(wanted) if wanted else 0.0


def _like(word: str, said: str) -> bool:
    return said.startswith(word) or (word.startswith(said) and 2 * len(said) >= len(word))


def _told(value: Any, piece: Piece) -> bool:
    """Whether the piece tells a value; true and false have no words of their own."""
    if isinstance(value, bool) or value is None:
        return False
    if isinstance(value, (int, float)):
        return f"{value:g}" in piece.tokens or str(value) in piece.tokens
    if isinstance(value, str):
        return bool(value) and re.search(rf"(?<![\w.]){re.escape(value.lower())}(?![\w])", piece.text) is not None
    if isinstance(value, (list, tuple)):
        texts = [one for one in value if isinstance(one, str)]
        return any(_told(one, piece) for one in texts) or (not value and bool(NOTHING & piece.words))
    return False
