"""How every candidate does so far, for a search that has to decide before there is a verdict.

The objective's time of each launch is fitted as candidate + block, so that candidates that shared few blocks can still
be ranked; a launch far off counts as one at the edge of the others. Only ranks and drops rest on it, never a verdict.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean, median
from typing import NamedTuple

from fabricdoc.model.profile import Profile, Stage
from fabricdoc.model.run import Objective, Run
from fabricdoc.model.standing import Standing, Standings
from fabricdoc.tuning.aim import Aim
from fabricdoc.tuning.blocks import CONFIRMED, SEARCHED, Block, LogTimes, blocks_of
from fabricdoc.tuning.comparing import Quantity
from fabricdoc.tuning.objective import due_phases
from fabricdoc.tuning.weighing import Scales, weigh

ROUNDS = 30
EDGE = 2.5  # standard deviations (from the median distance) beyond which a launch is drawn in
LEAST_NOISE = 1e-4


class Seen(NamedTuple):
    """One launch: its candidate, its block, the logarithm of its time."""

    name: str
    block: int
    log_time: float


def standings(
    run: Run,
    profile: Profile,
    objective: Objective,
    *,
    batches: Sequence[Stage] = (),
    weights: Mapping[str, float] | None = None,
) -> Standings:
    """The standings of every candidate that was launched in a complete block (search, combining, confirmation).

    `batches` and `weights` as for `judge`.
    """
    base = next(one.name for one in run.plan.candidates if one.role == "base")
    rounds = (*SEARCHED, *CONFIRMED)
    blocks = blocks_of(run, rounds, base)
    aim = Aim(profile, objective, tuple(batches), weights)
    scales = Scales.of(blocks, aim, blocks_of(run, rounds, base, "p99_us"))
    due = due_phases(objective, scales.recipes)
    seen = list(_seen(blocks, base, _score([scales.recipes[phase].log_time for phase in due])))
    if not seen:
        return Standings({}, math.inf, 0.0, 0)
    times, noise, free = _fitted(seen)
    launches = {name: sum(one.name == name for one in seen) for name in times}
    of = {name: Standing(name, times[base] - time, launches[name]) for name, time in times.items() if name != base}
    lost = _lost(scales, sorted(of)) if objective == "mix" and not aim.weighted else frozenset()
    return Standings(of, noise, free, launches.get(base, 0), lost)


def _score(parts: Sequence[Quantity]) -> Quantity:
    """The mean of the logarithms of the weighed stages: one number to rank by."""

    def log_time(times: LogTimes) -> float | None:
        values = [part(times) for part in parts]
        known = [value for value in values if value is not None]
        return fmean(known) if known and len(known) == len(values) else None

    return log_time


def _seen(blocks: Sequence[Block], base: str, score: Quantity) -> Iterator[Seen]:
    for number, block in enumerate(blocks):
        for name, times in [(base, one) for one in block.base] + sorted(block.others.items()):
            if (value := score(times)) is not None:
                yield Seen(name, number, value)


def _fitted(seen: Sequence[Seen]) -> tuple[dict[str, float], float, float]:
    """Each candidate's time with the blocks' effects taken out, the noise left, and its degrees of freedom."""
    names, blocks = sorted({one.name for one in seen}), sorted({one.block for one in seen})
    times, effects = dict.fromkeys(names, 0.0), dict.fromkeys(blocks, 0.0)
    edge = math.inf
    for _ in range(ROUNDS):
        rests = [one.log_time - times[one.name] - effects[one.block] for one in seen]
        drawn = [min(max(rest, -edge), edge) for rest in rests]
        for key in names:
            times[key] += fmean(rest for rest, one in zip(drawn, seen, strict=True) if one.name == key)
        rests = [one.log_time - times[one.name] - effects[one.block] for one in seen]
        drawn = [min(max(rest, -edge), edge) for rest in rests]
        for number in blocks:
            effects[number] += fmean(rest for rest, one in zip(drawn, seen, strict=True) if one.block == number)
        edge = max(EDGE * 1.4826 * median(map(abs, rests)), LEAST_NOISE)
    free = len(seen) - len(names) - len(blocks) + 1
    rests = [one.log_time - times[one.name] - effects[one.block] for one in seen]
    spread = math.sqrt(sum(min(abs(rest), edge) ** 2 for rest in rests) / free) if free > 0 else math.inf
    return times, max(spread, LEAST_NOISE), float(max(free, 0))


def _lost(scales: Scales, names: Sequence[str]) -> frozenset[str]:
    """Candidates that are worse at a size, a batch or the slowest calls of the profile, by the rules of a verdict."""
    weighed = [weigh(name, scales, len(names)) for name in names]
    return frozenset(one.name for one in weighed if one.lost or one.breached)
