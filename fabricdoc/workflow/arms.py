"""What a user asks of a launch besides plain calls, read into values: path, product, deadlines, a difference to find.

Refuses what can't be measured before a node is looked at. How it is measured is `bench`'s and the worker's business.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import get_args

from fabricdoc.bench import OWN_DEADLINE, blocks_for_effect
from fabricdoc.errors import UsageError
from fabricdoc.model.run import Path
from fabricdoc.workflow.words import read_duration

PATHS: tuple[Path, ...] = get_args(Path)
PHASES = ("rendezvous", "init", "connect", "check", "capture", "measure", "soak", "done")
"""As a rank tells them (probes/events.py)."""
GEMM = re.compile(r"(\d{1,5})[x,](\d{1,5})[x,](\d{1,5})", re.ASCII)
LARGEST_SIDE = 1 << 15
PERCENT = re.compile(r"(\d{1,3}(?:\.\d+)?) ?%?", re.ASCII)
LONGEST_S = 3600.0
MOST_BLOCKS = 999
"""As many as `bench.statistics` counts up to."""


def read_path(text: str) -> Path:
    """torch, direct or both; UsageError otherwise."""
    for path in PATHS:
        if text == path:
            return path
    raise UsageError(f"unknown path: {text!r}", fix=f"choose one of {', '.join(PATHS)}")


def read_gemm(text: str) -> tuple[int, int, int] | None:
    """(m, n, k) of "8x8192x8192": m x k by k x n; None for an empty text. UsageError for sides beyond 32768."""
    if not text:
        return None
    match = GEMM.fullmatch(text.strip().lower())
    sides = tuple(int(side) for side in match.groups()) if match else ()
    if len(sides) != 3 or not all(1 <= side <= LARGEST_SIDE for side in sides):
        raise UsageError(
            f"not a matrix product: {text!r}",
            fix=f"write MxNxK, each 1 to {LARGEST_SIDE}: --gemm 8x8192x8192 is 8 rows by a square weight",
        )
    m, n, k = sides
    return m, n, k


def read_deadlines(words: Iterable[str]) -> dict[str, float]:
    """Seconds by phase of "measure=120", "init=2m", "launch=5m"; UsageError for a phase that is none, or said twice."""
    found: dict[str, float] = {}
    for word in words:
        phase, _, limit = word.strip().partition("=")
        if phase not in (*PHASES, OWN_DEADLINE):
            raise UsageError(
                f"not a phase: {phase!r}",
                fix=f"--deadline PHASE=SECONDS with one of {', '.join(PHASES)}, or {OWN_DEADLINE} for all of a launch",
            )
        seconds = read_duration(limit)
        if seconds is None or seconds > LONGEST_S:
            raise UsageError(f"{phase}: not a deadline: {limit!r}", fix=f"write --deadline {phase}=120 (at most 1h)")
        if phase in found:
            raise UsageError(f"two deadlines for {phase}", fix="name each phase once")
        found[phase] = seconds
    return found


def read_effect(text: str) -> float | None:
    """A ratio minus 1 of "5%" or "5"; None for an empty text. UsageError outside 0.1 % to 100 %."""
    if not text:
        return None
    match = PERCENT.fullmatch(text.strip())
    effect = float(match[1]) / 100 if match else math.nan
    if not 0.001 <= effect <= 1.0:
        raise UsageError(f"not a difference: {text!r}", fix="write it in percent, 0.1 to 100: --effect 5%")
    return effect


def blocks_of(blocks: int, effect: float | None, candidates: int) -> tuple[int, str]:
    """The blocks to plan, raised where the difference to be found needs more, with a note that says so ("": as asked).

    `candidates` are judged at once. UsageError where more than 999 blocks were needed.
    """
    if effect is None:
        return blocks, ""
    needed = blocks_for_effect(effect, candidates)
    of = f"{candidates} candidates" if candidates > 1 else "one candidate"
    if needed is None:
        raise UsageError(
            f"a difference of {effect:.1%} between base and {of} is not to be seen in {MOST_BLOCKS} blocks",
            fix="ask for a larger --effect, or try fewer candidates",
            id="effect-too-small",
        )
    told = (
        f"to see {effect:.1%} of {of}, {needed} blocks are needed at the usual noise; {max(blocks, needed)} are planned"
    )
    return max(blocks, needed), told
