"""Faults and delays planted into a launch by a test, inside the timed or captured part: never done unless asked.

work["plant"] = {"spin_us": N, "flip": {"rank": R, "call": C}, "rank": R, "op": ..., "size": ..., "view": ...}: every
call on rank R (without `rank`: on all) takes N µs longer, and after call C (counted from 1) of every series one bit
of what rank R received is turned. `op`, `size` and `view` narrow it down. torch is imported inside functions only.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .collectives import Collective
from .shapes import Shape

_FIELDS = {"spin_us", "flip", "rank", "op", "size", "view"}
_CALIBRATION_CYCLES = 2_000_000
_LONGEST_SPIN_US = 1e6


class HostSpin:
    """Keeps the host busy: right where a call blocks."""

    def __init__(self, spin_us: float) -> None:
        self._spin_ns = int(spin_us * 1000)

    def __call__(self) -> None:
        """Spin once."""
        end = time.perf_counter_ns() + self._spin_ns
        while time.perf_counter_ns() < end:
            pass


class DeviceSpin:
    """A kernel that waits so many GPU cycles on the current stream (torch.cuda._sleep); can be captured."""

    def __init__(self, spin_us: float) -> None:
        import torch

        self._sleep = torch.cuda._sleep
        self._cycles = max(1, int(spin_us * self._cycles_per_us()))

    def _cycles_per_us(self) -> float:
        """Measured at the clock the GPU now runs at, once it is warm."""
        import torch

        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        self._sleep(_CALIBRATION_CYCLES)
        start.record()
        self._sleep(_CALIBRATION_CYCLES)
        end.record()
        torch.cuda.synchronize()
        return _CALIBRATION_CYCLES / (float(start.elapsed_time(end)) * 1000)

    def __call__(self) -> None:
        """Spin once, in the order of the stream."""
        self._sleep(self._cycles)


@dataclass(frozen=True)
class Flip:
    """After which call (from 1) a bit is turned; later than a series is long means its last call."""

    call: int

    def due(self, number: int, calls: int) -> bool:
        """Whether it comes after call `number` of `calls`."""
        return number == min(self.call, calls)


class Plant:
    """What is planted on this rank; `spin` and `flip` are None where nothing is."""

    def __init__(self, asked: Mapping[str, Any], rank: int, backend: str) -> None:
        unknown = sorted(set(asked) - _FIELDS)
        if unknown:
            raise ValueError(f"unknown plants {unknown}; known: {', '.join(sorted(_FIELDS))}")
        self._where = {name: asked[name] for name in ("op", "size", "view") if name in asked}
        spin_us = float(asked.get("spin_us", 0))
        if not 0 <= spin_us <= _LONGEST_SPIN_US:
            raise ValueError(f"a spin of {spin_us:g} us is not planted")
        here = asked.get("rank", rank) == rank
        self._spin = (HostSpin if backend == "gloo" else DeviceSpin)(spin_us) if spin_us and here else None
        flip = asked.get("flip", {})
        self._flip = Flip(int(flip["call"])) if flip and int(flip["rank"]) == rank else None

    def within(self, shape: Shape, view: str) -> Planted:
        """What of it goes into one series."""
        about = {"op": shape.op, "size": shape.size, "view": view}
        here = all(about[name] == value for name, value in self._where.items())
        return Planted(self._spin if here else None, self._flip if here else None)


@dataclass(frozen=True)
class Planted:
    """What goes into the calls of one series."""

    spin: HostSpin | DeviceSpin | None = None
    flip: Flip | None = None

    def before(self) -> None:
        """In the timed part, before the call."""
        if self.spin:
            self.spin()

    def after(self, collective: Collective, number: int, calls: int) -> None:
        """After call `number` (from 1) of `calls`."""
        if self.flip and self.flip.due(number, calls):
            collective.flip()


NOTHING = Planted()
