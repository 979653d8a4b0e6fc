"""The decisions of an adaptive search: who can't win any more, what is worth combining with what.

Pure: from standings (how each candidate does so far, handed in) to names. Launches nothing, and its intervals only
drop: whether a candidate is better is for the verdict, on blocks of its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from fabricdoc.bench.combining import combined
from fabricdoc.bench.student import student_t_quantile
from fabricdoc.model.run import Candidate
from fabricdoc.model.standing import Standing, Standings

LEAST_LAUNCHES = 3  # fewer drop nobody
SURE = 0.99  # of a candidate that is dropped: that it is behind
STARTS = 3  # how many leading ones are combined on, so that one chosen by noise does not decide alone
TRIALS = 4  # how many combinations are tried beside the leader at once
STEPS = 3  # how often the leader may change by combining


def leaders(standings: Standings, names: Sequence[str]) -> list[str]:
    """Those of `names` that have a standing and do not lose somewhere, the fastest first (equal ones as given)."""
    known = [name for name in names if name in standings.of and name not in standings.lost]
    return sorted(known, key=lambda name: -standings.of[name].log_ratio)


def behind(standings: Standings, name: str, other: Standing) -> bool:
    """Whether the candidate is surely slower than the other, by the t interval of their difference."""
    one = standings.of[name]
    if min(one.launches, other.launches) < LEAST_LAUNCHES or standings.free < 1:
        return False
    error = standings.noise * math.sqrt(1.0 / one.launches + 1.0 / other.launches)
    return other.log_ratio - one.log_ratio > student_t_quantile(SURE, standings.free) * error


def survivors(standings: Standings, names: Sequence[str]) -> tuple[str, ...]:
    """Those that can still win: neither surely slower than the leader nor than base; the leader always stays."""
    ranked = leaders(standings, names)
    if not ranked:
        return tuple(names[:1])
    first = standings.of[ranked[0]]
    return tuple(
        name
        for name in ranked
        if name == first.name or not (behind(standings, name, first) or slower_than_base(standings, name))
    )


def worth_combining(standings: Standings, names: Sequence[str]) -> list[str]:
    """Those that are not surely slower than base, the fastest first: alone they need not win."""
    return [name for name in leaders(standings, names) if not slower_than_base(standings, name)]


def slower_than_base(standings: Standings, name: str) -> bool:
    """Whether the candidate is surely slower than base."""
    return behind(standings, name, Standing("base", 0.0, standings.base_launches))


def next_trials(
    standings: Standings,
    starts: Sequence[Sequence[Candidate]],
    partners: Sequence[Candidate],
    known: set[str],
    most: int = TRIALS,
) -> list[tuple[tuple[Candidate, ...], Candidate]]:
    """Combinations one step from the leading ones (each given as its members), the most promising first.

    A partner that clashes with members of a leader takes their place, and a member may be left out, so that a choice
    made early can be taken back. What is promised is that gains multiply: the leader's own, times those of the
    partners alone, over those of what is left out. `known` are the names of combinations that were tried already.
    """
    found: dict[str, tuple[float, tuple[Candidate, ...], Candidate]] = {}
    for start in starts:
        for members in _neighbours(start, partners):
            union = combined(members)
            if union is None or union.name in known:
                continue
            gone, new = [x for x in start if x not in members], [x for x in members if x not in start]
            promise = _gain(standings, start) + sum(_gain(standings, [x]) for x in new)
            promise -= sum(_gain(standings, [x]) for x in gone)
            if union.name not in found or found[union.name][0] < promise:
                found[union.name] = (promise, members, union)
    ranked = sorted(found.values(), key=lambda one: -one[0])
    return [(members, union) for _, members, union in ranked[:most]]


def _neighbours(start: Sequence[Candidate], partners: Sequence[Candidate]) -> Iterator[tuple[Candidate, ...]]:
    """The members of every combination one step away, in the order of their names."""
    for partner in partners:
        if partner not in start:
            kept = [one for one in start if combined([one, partner]) is not None]
            yield tuple(sorted((*kept, partner), key=lambda one: one.name))
    for gone in start:
        yield tuple(one for one in start if one is not gone)


def _gain(standings: Standings, members: Sequence[Candidate]) -> float:
    """The logarithm of what a candidate, or a combination that was tried, gains; 0.0 where it is unknown."""
    name = "+".join(one.name for one in members)
    return standings.of[name].log_ratio if name in standings.of else 0.0
