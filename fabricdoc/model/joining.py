"""Disjoint sets: what links join, port by port. The one home of it, since several rooms ask who belongs together."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class Joining(Generic[K]):
    """Sets of keys: `join` puts two sets together, `root` names a key's set (path halving, union by size)."""

    def __init__(self) -> None:
        self.parents: dict[K, K] = {}
        self._sizes: dict[K, int] = {}

    def root(self, key: K) -> K:
        """The key that stands for the set of `key`; a new set where it is in none."""
        parents = self.parents
        if key not in parents:
            parents[key] = key
            self._sizes[key] = 1
            return key
        while (parent := parents[key]) != key:
            parents[key] = parents[parent]
            key = parents[key]
        return key

    def join(self, one: K, other: K) -> bool:
        """Put the sets of both together; False where they were one already."""
        first, second = self.root(one), self.root(other)
        if first == second:
            return False
        small, large = (first, second) if self._sizes[first] < self._sizes[second] else (second, first)
        self.parents[small] = large
        self._sizes[large] += self._sizes[small]
        return True

    def are_joined(self, one: K, other: K) -> bool:
        """Whether both are in one set."""
        return self.root(one) == self.root(other)

    def groups(self) -> list[list[K]]:
        """Every set, its keys in the order they came, the sets by their first key."""
        found: dict[K, list[K]] = {}
        for key in list(self.parents):
            found.setdefault(self.root(key), []).append(key)
        return list(found.values())

    def sizes(self) -> dict[K, int]:
        """How many keys each set has, by its root."""
        return {key: self._sizes[key] for key, parent in self.parents.items() if key == parent}
