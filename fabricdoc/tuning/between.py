"""The time of a size that was not measured, from its measured neighbours; or why it can't be told.

Between two measured sizes it lies on the straight line in logarithms of size and time, unless NCCL's own log shows
that it chose another algorithm or protocol at one of them: the step between two protocols lies anywhere. Beyond the
smallest it takes the smallest's time, above the largest it grows in proportion to bytes, both not further than FAR.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fabricdoc.tuning.blocks import CellKey
from fabricdoc.tuning.wording import shape_text, size_text

FAR = 8
"""Further than this factor from the nearest measured size nothing is guessed: LL, LL128 and Simple share six decades of
sizes on a fabric (graph/tuning.cc), so that a factor of eight may hold a whole protocol."""
LATENCY_BOUND = 8 * 1024
"""Bytes up to which a time is latency alone (flat within noise from 8 B to 8 KiB on every recorded launch)."""

Choices = Mapping[tuple[str, int], str]
"""What NCCL chose by op and size, as one word: "ring/ll"."""


@dataclass(frozen=True)
class Call:
    """`count` calls whose log time is `plus` and the weighted sum of measured cells.

    `size` is the message's where it was not measured itself (0 where it was).
    """

    count: int
    parts: tuple[tuple[CellKey, float], ...]
    plus: float = 0.0
    size: int = 0


@dataclass(frozen=True)
class Told:
    """How one size is told: the call, or in `gap` why it can't be; `beyond` where it lies outside what was measured."""

    call: Call | None = None
    gap: str = ""
    beyond: str = ""


def told(op: str, size: int, count: int, like: CellKey, sizes: Sequence[int], choices: Choices) -> Told:
    """The time of `count` calls of `size` bytes from the ascending measured `sizes` of cells like `like`."""
    place = bisect_left(sizes, size)
    if place == len(sizes):
        return _above(op, size, count, like, sizes[-1])
    if sizes[place] == size:
        return Told(Call(count, ((like._replace(size=size), 1.0),)))
    if place == 0:
        return _below(op, size, count, like, sizes[0])
    low, high = sizes[place - 1], sizes[place]
    if switch := switched(op, low, high, choices):
        return Told(gap=f"{shape_text(op, size)} ({switch})")
    part = math.log(size / low) / math.log(high / low)
    parts = ((like._replace(size=low), 1.0 - part), (like._replace(size=high), part))
    return Told(Call(count, parts, size=size))


def switched(op: str, low: int, high: int, choices: Choices) -> str:
    """How NCCL's choice at two sizes differs, as a clause; empty where it does not or the log does not show both."""
    one, other = choices.get((op, low)), choices.get((op, high))
    if one is None or other is None or one == other:
        return ""
    return f"NCCL takes {one} at {size_text(low)} and {other} at {size_text(high)}, and no size between was measured"


def gaps_of(calls: Sequence[Call], choices: Choices) -> tuple[str, ...]:
    """The calls that lie between two measured sizes across a switch of these choices, as clauses."""
    found = []
    for call in calls:
        if len(call.parts) == 2:
            (low, _), (high, _) = call.parts
            if switch := switched(low.op, low.size, high.size, choices):
                found.append(f"{shape_text(low.op, call.size)} can't be told: {switch}")
    return tuple(dict.fromkeys(found))


def _above(op: str, size: int, count: int, like: CellKey, largest: int) -> Told:
    if size > FAR * largest:
        return Told(gap=f"{shape_text(op, size)} (measured up to {size_text(largest)})")
    beyond = (
        f"{shape_text(op, size)} was not measured: its time is taken from {size_text(largest)} in proportion to bytes"
    )
    return Told(Call(count, ((like._replace(size=largest), 1.0),), math.log(size / largest), size), beyond=beyond)


def _below(op: str, size: int, count: int, like: CellKey, smallest: int) -> Told:
    if size * FAR < smallest and smallest > LATENCY_BOUND:
        return Told(gap=f"{shape_text(op, size)} (measured from {size_text(smallest)} on)")
    return Told(Call(count, ((like._replace(size=smallest), 1.0),), size=size))
