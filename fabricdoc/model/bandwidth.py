"""Algorithm and bus bandwidth of a collective, by nccl-tests' definitions (its doc/PERFORMANCE.md, src/*.cu GetBw).

Algorithm bandwidth is the message's size over its time. Bus bandwidth multiplies it by what the op makes every link
carry, so that it can be held against a link's speed whatever the number of ranks. Pure arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from fabricdoc.model.run import Op

FACTORS: Mapping[Op, Callable[[int], float]] = {
    "all_reduce": lambda ranks: 2.0 * (ranks - 1) / ranks,
    "all_gather": lambda ranks: (ranks - 1) / ranks,
    "reduce_scatter": lambda ranks: (ranks - 1) / ranks,
    "all_to_all": lambda ranks: (ranks - 1) / ranks,
    "broadcast": lambda ranks: 1.0,
    "send_recv": lambda ranks: 1.0,
}
"""Bus bandwidth over algorithm bandwidth for a number of ranks (all_reduce.cu, all_gather.cu, ... in nccl-tests)."""


class Bandwidth(NamedTuple):
    """Both bandwidths in GB/s (10^9 bytes per second, as nccl-tests prints them)."""

    algbw: float
    busbw: float


def bandwidth(op: Op, size: int, ranks: int, micros: float) -> Bandwidth:
    """The bandwidths of one call of `size` bytes (nccl-tests' meaning, see `Shape`) that took `micros` µs.

    ValueError for fewer than two ranks or a time that is not above 0: such a call has no bandwidth.
    """
    if ranks < 2 or not micros > 0.0 or size < 0:
        raise ValueError("a bandwidth needs at least two ranks, a size and a time above 0")
    algbw = size / micros / 1e3
    return Bandwidth(algbw, algbw * FACTORS[op](ranks))
