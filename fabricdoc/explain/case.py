"""All that the files tell about one case, with the questions that rules ask of it.

Answers are in the order of files and lines. Nothing is judged here.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar, cast

from fabricdoc.explain.seen import Fact, Material, Row, Seen, Set, Sign, Spot

T = TypeVar("T")


@dataclass
class Case:
    """`index` is called once, when everything is there."""

    files: list[Material] = field(default_factory=list)
    seen: list[Seen] = field(default_factory=list)
    sets: list[Set] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    signs: list[Sign] = field(default_factory=list)
    _made: dict[object, object] = field(default_factory=dict)
    _by_event: dict[str, list[Seen]] = field(default_factory=lambda: defaultdict(list))
    _by_name: dict[str, list[Set]] = field(default_factory=lambda: defaultdict(list))
    _by_place: dict[tuple[str, str], list[tuple[int, Set]]] = field(default_factory=lambda: defaultdict(list))
    _by_kind: dict[str, list[Fact]] = field(default_factory=lambda: defaultdict(list))
    _told_at: dict[tuple[str, str], list[tuple[int, Fact]]] = field(default_factory=lambda: defaultdict(list))
    _by_sign: dict[str, list[Sign]] = field(default_factory=lambda: defaultdict(list))

    def index(self) -> None:
        """Sort everything by what it is asked for."""
        for seen in self.seen:
            self._by_event[seen.event].append(seen)
        for at, each in enumerate(self.sets):
            self._by_name[each.name].append(each)
            self._by_place[each.name, each.spot.node].append((at, each))
        for at, fact in enumerate(self.facts):
            self._by_kind[str(fact.path[0])].append(fact)
            self._told_at[str(fact.path[0]), fact.spot.node].append((at, fact))
        for sign in self.signs:
            self._by_sign[sign.id].append(sign)

    def once(self, key: object, make: Callable[[], T]) -> T:
        """What `make` gives, made once for each key: many rules ask for the same view."""
        if key not in self._made:
            self._made[key] = make()
        return cast("T", self._made[key])

    def of(self, *events: str) -> list[Seen]:
        """The lines of these events."""
        return [seen for event in events for seen in self._by_event.get(event, ())]

    def sign(self, *ids: str) -> list[Sign]:
        """The lines of these signs."""
        return [sign for one in ids for sign in self._by_sign.get(one, ())]

    def values(self, *names: str, by: str = "") -> list[Set]:
        """Who sets these variables, NCCL's own word (`by` log) and files of settings (`by` file)."""
        return [each for name in names for each in self._by_name.get(name, ()) if not by or each.by == by]

    def value(self, name: str, node: str = "") -> Set | None:
        """The value in force on a node: as NCCL read it, else as the last file sets it."""
        fitting = self._fitting(name, node) if node else self.values(name)
        said = [each for each in fitting if each.by == "log"]
        return said[0] if said else fitting[-1] if fitting else None

    def _fitting(self, name: str, node: str) -> list[Set]:
        """Who sets a variable where it may be a node (`same`), in order."""
        placed = [*self._by_place.get((name, node), ()), *self._by_place.get((name, ""), ())]
        return [each for _at, each in sorted(placed, key=lambda one: one[0])]

    def told(self, kind: str, node: str = "") -> list[Fact]:
        """The facts of a kind ("gid", "port", "netdev", ...), of what may be a node."""
        if not node:
            return self._by_kind.get(kind, [])
        placed = [*self._told_at.get((kind, node), ()), *self._told_at.get((kind, ""), ())]
        return [fact for _at, fact in sorted(placed, key=lambda one: one[0])]

    @cached_property
    def warnings(self) -> list[Seen]:
        """Every WARN line, once."""
        return self.of("prefix.warn")

    def warned(self, pattern: str) -> list[Seen]:
        """The WARN lines whose message a pattern is found in."""
        return [seen for seen in self.warnings if re.search(pattern, seen.message)]

    def placed(self, pattern: str) -> list[Seen]:
        """The WARN lines that come from a source file of NCCL whose name a pattern is found in."""
        return [seen for seen in self.warnings if re.search(pattern, seen.spot.text.partition(" NCCL WARN ")[0])]

    @cached_property
    def nodes(self) -> list[str]:
        """Every node that anything is told of, in order."""
        return list(dict.fromkeys(spot.node for spot in self._spots() if spot.node))

    def _spots(self) -> Iterator[Spot]:
        listed: Iterable[Iterable[Seen | Set | Fact | Row | Sign]] = (
            self.seen,
            self.sets,
            self.facts,
            self.rows,
            self.signs,
        )
        for pieces in listed:
            yield from (piece.spot for piece in pieces)

    @cached_property
    def errors(self) -> list[Seen]:
        """Lines that say that something failed: causes first, then followers; what is harmless is none."""
        failed = [seen for seen in self.seen if seen.use in ("cause", "follower")]
        return sorted(failed, key=lambda seen: seen.use == "follower")


def same(one: str, other: str) -> bool:
    """Whether two nodes may be one: equal, or one of them is not told."""
    return one == other or not one or not other
