"""The majority rule: which nodes, or which of their ports, are not like the others.

One pass over the votes, whatever their number. A fact that is unknown has no vote. Where no value has more than
half of the votes (two nodes that differ, a tie, three that all differ) nobody is odd: both sides are told. Whether a
difference matters is not judged here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping
from typing import Generic, NamedTuple, TypeVar

from fabricdoc.model.documents import Fact, Unknown

K = TypeVar("K", bound=Hashable)
V = TypeVar("V", bound=Hashable)
MORE_THAN = 2
"""A value is usual when twice its votes are more than all votes."""
LIKE_SLOT = 2
"""Nodes that must have a value in one slot before it counts as meant so."""


class Place(NamedTuple):
    """A device of a node; devices of one name on several nodes are one slot."""

    node: str
    slot: str


class Odd(NamedTuple, Generic[K, V]):
    """Who has another value than most; `like` is one of the `most` (of `voters`) that have the usual one."""

    key: K
    value: V
    usual: V
    like: K
    most: int
    voters: int


class Side(NamedTuple, Generic[K, V]):
    """Those that share a value where no value is usual."""

    value: V
    keys: tuple[K, ...]


class Split(NamedTuple, Generic[K, V]):
    """How votes that are not all alike fall: the odd ones, or the sides, largest first, where there is no majority."""

    odd: tuple[Odd[K, V], ...]
    sides: tuple[Side[K, V], ...]


def split(votes: Iterable[tuple[K, Fact[V]]]) -> Split[K, V] | None:
    """Who differs among `votes` (key and fact, one for each key); None where all that is known is alike."""
    voters = _known(votes)
    groups = _groups(voters)
    if len(groups) < 2:
        return None
    usual = _usual(groups, len(voters))
    if usual is None:
        return Split((), tuple(Side(value, tuple(keys)) for value, keys in groups.items()))
    alike = groups[usual]
    odd = (Odd(key, value, usual, alike[0], len(alike), len(voters)) for key, value in voters if value != usual)
    return Split(tuple(odd), ())


def split_ports(votes: Iterable[tuple[Place, Fact[V]]]) -> Split[Place, V] | None:
    """Who differs among ports: each is held against its slot on the other nodes, else against all of them.

    A port that is like most of its slot (two nodes at least) is as it was meant, though every other slot
    differs: the slower storage port of every server is not odd.
    """
    voters = _known(votes)
    if len({value for _place, value in voters}) < 2:
        return None
    slots: dict[str, list[tuple[Place, V]]] = defaultdict(list)
    for place, value in voters:
        slots[place.slot].append((place, value))
    groups = _groups(voters)
    all_usual = _usual(groups, len(voters))
    odd: list[Odd[Place, V]] = []
    open_ones: list[tuple[Place, V]] = []
    for slot in slots.values():
        held = _slot_usual(slot)
        for place, value in slot:
            usual = all_usual if held is None else held[0]
            if usual is None:
                open_ones.append((place, value))
            elif value != usual:
                alike = groups[usual] if held is None else held[1]
                among = len(voters) if held is None else len(slot)
                odd.append(Odd(place, value, usual, alike[0], len(alike), among))
    sides = tuple(Side(value, tuple(keys)) for value, keys in _groups(open_ones).items())
    found = Split(tuple(odd), sides if len(sides) > 1 else ())
    return found if found.odd or found.sides else None


def _known(votes: Iterable[tuple[K, Fact[V]]]) -> list[tuple[K, V]]:
    return [(key, fact) for key, fact in votes if not isinstance(fact, Unknown)]


def _groups(voters: Iterable[tuple[K, V]]) -> dict[V, list[K]]:
    """Keys by value, the largest group first; equal ones as they were met."""
    found: dict[V, list[K]] = defaultdict(list)
    for key, value in voters:
        found[value].append(key)
    return dict(sorted(found.items(), key=lambda item: -len(item[1])))


def _usual(groups: Mapping[V, list[K]], voters: int) -> V | None:
    value = next(iter(groups), None)
    return value if value is not None and MORE_THAN * len(groups[value]) > voters else None


def _slot_usual(slot: list[tuple[Place, V]]) -> tuple[V, list[Place]] | None:
    """The value most of a slot has, with who has it; None where fewer than two nodes agree."""
    groups = _groups(slot)
    usual = _usual(groups, len(slot))
    return (usual, groups[usual]) if usual is not None and len(groups[usual]) >= LIKE_SLOT else None
