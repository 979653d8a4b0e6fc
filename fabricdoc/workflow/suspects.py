"""Which node is to blame when a test of pairs failed: suspects meet a partner that has passed with somebody first.

A pair that fails says nothing of which of its nodes is ill; one that passes clears both. So only a node that never
passed is a suspect, and it is blamed when it fails again with a node that has. Where both ends of a failed pair are
cleared, the fault lies between them. Pure: tests nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fabricdoc.workflow.pair_rounds import Pair

Passed = Mapping[Pair, bool]


@dataclass(frozen=True)
class Blame:
    """`nodes` are ill wherever they take part; `pairs` failed, and neither of their nodes is ill by itself.

    `open` are pairs of which it can't be told: nobody was proven good, or there was no second test.
    """

    nodes: tuple[str, ...] = ()
    pairs: tuple[Pair, ...] = ()
    open: tuple[Pair, ...] = ()


def proven_good(passed: Passed) -> list[str]:
    """The nodes that passed with somebody, in the order they came."""
    return list(dict.fromkeys(name for pair, good in passed.items() if good for name in pair))


def suspects(passed: Passed) -> list[str]:
    """The nodes that took part and never passed, in the order they came."""
    cleared = set(proven_good(passed))
    return [name for name in dict.fromkeys(name for pair in passed for name in pair) if name not in cleared]


def retests(passed: Passed) -> tuple[tuple[Pair, ...], ...]:
    """Rounds in which every suspect meets a partner that is proven good: (suspect, partner), no node twice in a round.

    A partner it did not fail with yet comes first. () where nobody is suspect, or nobody is proven good.
    """
    partners, waiting = proven_good(passed), suspects(passed)
    failed = {frozenset(pair) for pair, good in passed.items() if not good}
    rounds = []
    while waiting and partners:
        here, waiting = waiting[: len(partners)], waiting[len(partners) :]
        rounds.append(_matched(here, partners, failed))
    return tuple(rounds)


def _matched(here: Sequence[str], partners: Sequence[str], failed: set[frozenset[str]]) -> tuple[Pair, ...]:
    free = list(partners)
    found = []
    for suspect in here:
        partner = next((one for one in free if frozenset((suspect, one)) not in failed), free[0])
        free.remove(partner)
        found.append((suspect, partner))
    return tuple(found)


def blame(passed: Passed, again: Passed) -> Blame:
    """Who is to blame, from the first tests and those of `retests` (keyed as it gave them: suspect, partner)."""
    retested = {suspect: good for (suspect, _partner), good in again.items()}
    cleared = {*proven_good(passed), *(name for name, good in retested.items() if good)}
    ill = [name for name in suspects(passed) if retested.get(name) is False]
    between: list[Pair] = []
    untold: list[Pair] = []
    for pair in (pair for pair, good in passed.items() if not good):
        if not set(ill) & set(pair):
            (between if cleared >= set(pair) else untold).append(pair)
    return Blame(tuple(ill), tuple(between), tuple(untold))
