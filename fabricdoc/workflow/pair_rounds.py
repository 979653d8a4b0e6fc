"""Who is tested with whom: rounds of pairs in which every node takes part once, until each has met each.

The circle method of a round-robin tournament: pairs of a round have no node in common, so they run at the same time,
and n nodes need n - 1 rounds (n when n is odd: one rests in each). Pure: starts nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

Pair = tuple[str, str]


def rounds_of(nodes: Sequence[str], most: int | None = None) -> tuple[tuple[Pair, ...], ...]:
    """The rounds in order, at most `most` of them; each pair in the order of `nodes`, each once in all rounds.

    () for fewer than two nodes. A name that is given twice counts once.
    """
    names = list(dict.fromkeys(nodes))
    if len(names) < 2:
        return ()
    place = {name: at for at, name in enumerate(names)}
    seats: list[str | None] = [*names, *([None] if len(names) % 2 else [])]
    rounds = []
    for _ in range(len(seats) - 1 if most is None else min(most, len(seats) - 1)):
        half = len(seats) // 2
        meeting = zip(seats[:half], reversed(seats[half:]), strict=True)
        pairs = [(a, b) if place[a] < place[b] else (b, a) for a, b in meeting if a is not None and b is not None]
        rounds.append(tuple(sorted(pairs, key=lambda pair: place[pair[0]])))
        seats = [seats[0], seats[-1], *seats[1:-1]]
    return tuple(rounds)
