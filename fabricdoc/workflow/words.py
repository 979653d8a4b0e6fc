"""What a user writes on the command line, read into numbers: durations, sizes, objectives."""

from __future__ import annotations

import re
from collections.abc import Iterable

from fabricdoc.errors import UsageError
from fabricdoc.model.run import Objective

DURATION = re.compile(r"(\d+(?:\.\d+)?)(s|m|h)?")
SIZE = re.compile(r"(\d+(?:\.\d+)?)([KMG]?)I?B?", re.IGNORECASE)
SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0}
BYTES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
LARGEST = 1 << 30
GRANULE = 8
OBJECTIVES: tuple[Objective, ...] = ("decode", "prefill", "mix")


def read_duration(text: str) -> float | None:
    """Seconds of "90s", "10m" or "1h"; None for an empty text. UsageError otherwise."""
    if not text:
        return None
    match = DURATION.fullmatch(text.strip())
    if match is None or float(match[1]) <= 0:
        raise UsageError(f"not a duration: {text!r}", fix="write it like 90s, 10m or 1h")
    return float(match[1]) * SECONDS[match[2] or "s"]


def read_size(text: str) -> int:
    """Bytes of "8", "20K" or "42M" (powers of 1024), rounded up to 8 bytes so that every type fits."""
    match = SIZE.fullmatch(text.strip())
    size = round(float(match[1]) * BYTES[match[2].upper()]) if match else 0
    if not 0 < size <= LARGEST:
        raise UsageError(f"not a message size: {text!r}", fix="write sizes like 8,20K,1M,42M (8 B to 1 GiB)")
    return -(-size // GRANULE) * GRANULE


def read_sizes(words: Iterable[str]) -> tuple[int, ...]:
    """Every size of a list, smallest first, each once."""
    return tuple(sorted({read_size(word) for word in words}))


def read_objective(text: str) -> Objective:
    """decode, prefill or mix; UsageError otherwise."""
    for objective in OBJECTIVES:
        if text == objective:
            return objective
    raise UsageError(f"unknown objective: {text!r}", fix=f"choose one of {', '.join(OBJECTIVES)}")
