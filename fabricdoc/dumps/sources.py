"""Facts of several texts about one node, each once with its place; two values for one thing are named.

The first value counts, unless it is weak and a later one is not. Nothing is made of the facts here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from fabricdoc.dumps.told import Note, Path, Place, Sources, Told

CHANGING = ("counter", "lldp", "neighbour")
"""Kinds that differ between two moments without a contradiction."""
MAX_NOTES = 50
NO_LINES: Mapping[int, str] = MappingProxyType({})


@dataclass
class Facts:
    """Every fact told of one node so far."""

    values: dict[Path, Any] = field(default_factory=dict)
    places: Sources = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)
    _weak: set[Path] = field(default_factory=set)

    def add(self, file: str, told: Iterable[Told], lines: Mapping[int, str] = NO_LINES) -> None:
        """Take the facts of a file; `lines` are those of its lines (by number) that are kept with the facts on them."""
        for one in told:
            known = self.values.get(one.path)
            if one.path not in self.values or (one.path in self._weak and not one.weak):
                self.values[one.path] = one.value
                self.places[one.path] = Place(file, one.line, lines.get(one.line, ""))
                (self._weak.add if one.weak else self._weak.discard)(one.path)
            elif known != one.value and not one.weak and one.path[0] not in CHANGING and len(self.notes) < MAX_NOTES:
                self.notes.append(self._contradiction(file, one, known))

    def _contradiction(self, file: str, one: Told, known: Any) -> Note:
        place = self.places[one.path]
        where = f"{place.file}:{place.line}" if place.line is not None else place.file
        message = f"{words_of(one.path)} is {shown(one.value)} here and {shown(known)} in {where}"
        return Note("contradiction", file, message, one.line, one.line)

    def of(self, *path: str | int) -> dict[str, Any]:
        """FIELD -> value of one thing: the facts whose path is `path` and one word more."""
        size = len(path)
        return {str(key[-1]): value for key, value in self.kind(path[0]) if len(key) == size + 1 and key[:size] == path}

    def kind(self, kind: str | int) -> Iterator[tuple[Path, Any]]:
        """The facts of one kind in the order told."""
        return ((path, value) for path, value in self.values.items() if path[0] == kind)


def words_of(path: Path) -> str:
    """A path in words: ("port", "mlx5_0", 1, "state") is `port mlx5_0 1 state`."""
    return " ".join(str(part) for part in path)


def shown(value: Any) -> str:
    """A value in at most 80 characters."""
    return str(value)[:80]
