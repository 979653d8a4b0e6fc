"""The exact interval of an effect over blocks, by giving the launches of a block other names.

A block holds base twice and a candidate once, in an order drawn by chance. Without an effect any of the three could
as well have been the candidate's, so every choice of names is as likely as the true one. The effects which that test
does not refuse lie between two of the "typical values": the means, over sets of blocks, of one of base's launches
minus the candidate's (J. A. Hartigan, "Using subsample values as typical values", JASA 64, 1969, is the case of one
launch on each side, where names are swapped and the difference changes its sign: the sign-flip test). Nothing is
assumed about the noise: not that it is normal, nor that it falls to either side alike, nor that blocks are equal.
Knows nothing of runs; `statistics` decides where it is used.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Iterator, Sequence
from functools import lru_cache

MOST_SETS = 2187  # 3^7; where there are more sets, one less than as many are drawn
SEED = 1969


def resolves(blocks: int, tail: float, launches: int = 1) -> bool:
    """Whether so many blocks, with so many launches of base in each, can show a one-sided error of at most `tail`."""
    sets = min((launches + 1) ** min(blocks, 99), MOST_SETS)
    return 0.0 < tail < 0.5 and blocks > 0 and tail * sets >= 1.0


def typical_interval(differences: Sequence[Sequence[float]], tail: float) -> tuple[float, float]:
    """The ends of the interval that misses the effect with a chance of at most `tail` on each side.

    `differences` holds, for each block, each of base's launches minus the candidate's (one or two, as many in every
    block). Up to 2,187 sets are all taken, which is exact; else 2,186 are drawn with one fixed seed, which keeps the
    error and moves the ends a little. Raises ValueError where the blocks are too few for that error.
    """
    launches = {len(block) for block in differences}
    if len(launches) != 1 or not resolves(len(differences), tail, next(iter(launches))):
        raise ValueError(f"{len(differences)} blocks can't show an error of {tail} on each side")
    means = list(_means(differences))
    place = max(1, int(tail * (len(means) + 1) + 1e-9))
    return heapq.nsmallest(place, means)[-1], heapq.nlargest(place, means)[-1]


def _means(differences: Sequence[Sequence[float]]) -> Iterator[float]:
    launches = len(differences[0])
    if (launches + 1) ** len(differences) > MOST_SETS:
        pool = [value for block in differences for value in block]
        yield from (sum(map(pool.__getitem__, one)) / len(one) for one in _drawn(len(differences), launches))
        return
    sums, sizes = [0.0], [0]
    for block in differences:
        sums = [*sums, *(total + value for value in block for total in sums)]
        sizes += [size + 1 for size in sizes] * launches
    yield from (total / size for total, size in zip(sums[1:], sizes[1:], strict=True))


@lru_cache(maxsize=64)
def _drawn(blocks: int, launches: int) -> tuple[tuple[int, ...], ...]:
    """Sets of places in the pool of all differences, at most one of a block, none empty, the same at every call."""
    chance, found = random.Random(SEED), set()
    while len(found) < MOST_SETS - 1:
        names = [chance.randint(0, launches) for _ in range(blocks)]
        found.add(tuple(block * launches + name - 1 for block, name in enumerate(names) if name))
        found.discard(())
    return tuple(sorted(found))
