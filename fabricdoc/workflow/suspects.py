"""Which node is to blame when a test of pairs failed: suspects meet partners that have passed with everybody first.

A pair that fails says nothing of which of its nodes is ill. A node is blamed when it fails again with a node that
failed with nobody else; where it passes there, the fault lies between the two that failed. Pure: tests nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fabricdoc.workflow.pair_rounds import Pair

Passed = Mapping[Pair, bool]


@dataclass(frozen=True)
class Blame:
    """`nodes` are ill wherever they take part; `pairs` failed, and neither of their nodes is ill by itself.

    `open` are pairs of which it can't be told: no partner was proven good.
    """

    nodes: tuple[str, ...] = ()
    pairs: tuple[Pair, ...] = ()
    open: tuple[Pair, ...] = ()


def proven_good(passed: Passed) -> list[str]:
    """The nodes that took part and passed every time, in the order they came."""
    bad = {name for pair, good in passed.items() if not good for name in pair}
    return [name for name in dict.fromkeys(name for pair in passed for name in pair) if name not in bad]


def suspects(passed: Passed) -> list[str]:
    """The nodes of pairs that failed, in the order they came."""
    return list(dict.fromkeys(name for pair, good in passed.items() if not good for name in pair))


def retests(passed: Passed) -> tuple[tuple[Pair, ...], ...]:
    """Rounds in which every suspect meets a partner that is proven good: (suspect, partner), no node twice in a round.

    () where nothing failed, or where nobody is proven good.
    """
    partners, waiting = proven_good(passed), suspects(passed)
    if not partners:
        return ()
    size = len(partners)
    return tuple(
        tuple(zip(waiting[start : start + size], partners, strict=False)) for start in range(0, len(waiting), size)
    )


def blame(passed: Passed, again: Passed) -> Blame:
    """Who is to blame, from the first tests and those of `retests` (keyed as it gave them: suspect, partner)."""
    retested = {suspect: good for (suspect, _partner), good in again.items()}
    ill = [name for name in suspects(passed) if retested.get(name) is False]
    between: list[Pair] = []
    untold: list[Pair] = []
    for pair in _failed(passed):
        if any(name in ill for name in pair):
            continue
        (between if all(retested.get(name) for name in pair) else untold).append(pair)
    return Blame(tuple(ill), tuple(between), tuple(untold))


def _failed(passed: Passed) -> Sequence[Pair]:
    return [pair for pair, good in passed.items() if not good]
