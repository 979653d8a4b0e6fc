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

import random
from collections.abc import Sequence
from functools import lru_cache

MOST_SETS = 2187  # 3^7; where there are more sets, one less than as many are drawn
SEED = 1969
CHUNK = 4  # blocks whose sums are listed at once


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
    means = sorted(_means(differences))
    place = max(1, int(tail * (len(means) + 1) + 1e-9))
    return means[place - 1], means[-place]


def _means(differences: Sequence[Sequence[float]]) -> list[float]:
    launches = len(differences[0])
    if (launches + 1) ** len(differences) <= MOST_SETS:
        sums, sizes = _sums(differences), _sizes(len(differences), launches)
        return [total / size for total, size in zip(sums[1:], sizes[1:], strict=True)]
    sizes, drawn = _drawn(len(differences), launches)
    totals = [0.0] * len(sizes)
    for chunk, places in enumerate(drawn):
        sums = _sums(differences[chunk * CHUNK : (chunk + 1) * CHUNK])
        totals = [total + sums[place] for total, place in zip(totals, places, strict=True)]
    return [total / size for total, size in zip(totals, sizes, strict=True)]


def _sums(differences: Sequence[Sequence[float]]) -> list[float]:
    """The sums over all sets of these blocks, the empty one first, in one fixed order."""
    sums = [0.0]
    for block in differences:
        sums = [*sums, *(total + value for value in block for total in sums)]
    return sums


@lru_cache(maxsize=64)
def _sizes(blocks: int, launches: int) -> tuple[int, ...]:
    """How many blocks each set of `_sums` has."""
    sizes = [0]
    for _ in range(blocks):
        sizes = [*sizes, *([size + 1 for size in sizes] * launches)]
    return tuple(sizes)


@lru_cache(maxsize=64)
def _drawn(blocks: int, launches: int) -> tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]:
    """Sets drawn with one seed, none empty, none twice: their sizes, and per chunk of blocks the place in `_sums`."""
    chance = random.Random(SEED)
    found: set[tuple[int, ...]] = set()
    chunks = [_sizes(min(CHUNK, blocks - first), launches) for first in range(0, blocks, CHUNK)]
    while len(found) < MOST_SETS - 1:
        found.add(tuple(chance.randrange(len(sizes)) for sizes in chunks))
        found.discard((0,) * len(chunks))
    sets = sorted(found)
    counted = tuple(sum(sizes[place] for sizes, place in zip(chunks, one, strict=True)) for one in sets)
    return counted, tuple(zip(*sets, strict=True))
