"""Samples as bytes: packed little-endian floats, 4 bytes each where that loses nothing, else 8.

Samples are microseconds with three decimals. A 32-bit float keeps those exactly up to 16 ms; longer calls
and any other number are kept as 64-bit. Reading gives back equal numbers either way. Knows nothing of SQLite.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

DECIMALS = 3
NARROW = 4
WIDE = 8


class SampleKey(NamedTuple):
    """What a series of samples belongs to; `size` in bytes, samples in µs per call."""

    view: str
    op: str
    size: int
    dtype: str
    rank: int
    in_place: bool = True


def pack(values: Sequence[float]) -> tuple[int, bytes]:
    """Bytes per sample (4 or 8) and the packed samples."""
    try:
        narrow = struct.pack(f"<{len(values)}f", *values)
    except OverflowError:  # beyond what 32 bits hold
        narrow = b""
    if narrow and _unpack_narrow(narrow) == tuple(values):
        return NARROW, narrow
    return WIDE, struct.pack(f"<{len(values)}d", *values)


def unpack(width: int, data: bytes) -> tuple[float, ...]:
    """The samples of `pack`. Raises ValueError when `width` or the length can't be ours."""
    if width not in (NARROW, WIDE) or len(data) % width:
        raise ValueError(f"{len(data)} bytes are no samples of {width} bytes each")
    if width == NARROW:
        return _unpack_narrow(data)
    return struct.unpack(f"<{len(data) // WIDE}d", data)


def _unpack_narrow(data: bytes) -> tuple[float, ...]:
    return tuple(round(value, DECIMALS) for value in struct.unpack(f"<{len(data) // NARROW}f", data))
