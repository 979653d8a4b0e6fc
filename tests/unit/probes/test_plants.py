"""Planted faults go exactly where they were asked for, and nowhere without being asked."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.probes.plants import NOTHING, DeviceSpin, Flip, HostSpin, Plant
from fabricdoc.probes.shapes import Shape

pytestmark = pytest.mark.unit

SHAPE = Shape("all_reduce", 20480, "bfloat16")


def test_nothing_is_planted_unasked() -> None:
    assert Plant({}, 0, "gloo").within(SHAPE, "eager") == NOTHING
    NOTHING.before()
    NOTHING.after(None, 1, 1)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"flop": {}}, r"unknown plants \['flop'\]; known: flip, op, rank, size, spin_us, view"),
        ({"spin_us": -1}, "a spin of -1 us is not planted"),
        ({"spin_us": 1e9}, "is not planted"),
        ({"spin_us": float("nan")}, "is not planted"),
    ],
)
def test_what_can_not_be_planted_is_refused(asked: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Plant(asked, 0, "gloo")


@given(asked=st.integers(0, 3), here=st.integers(0, 3))
def test_a_flip_belongs_to_its_rank(asked: int, here: int) -> None:
    planted = Plant({"flip": {"rank": asked, "call": 7}}, here, "gloo").within(SHAPE, "graph")
    assert planted.flip == (Flip(7) if asked == here else None)
    assert planted.spin is None


@given(call=st.integers(1, 200), calls=st.integers(1, 100))
def test_a_flip_comes_once_in_every_series(call: int, calls: int) -> None:
    assert [n for n in range(1, calls + 1) if Flip(call).due(n, calls)] == [min(call, calls)]


@pytest.mark.parametrize(("rank", "planted"), [(None, True), (0, True), (1, False)])
def test_a_spin_without_a_rank_is_everybodys(rank: int | None, planted: bool) -> None:
    asked = {"spin_us": 50} | ({} if rank is None else {"rank": rank})
    assert isinstance(Plant(asked, 0, "gloo").within(SHAPE, "eager").spin, HostSpin) is planted


@pytest.mark.parametrize(
    ("where", "planted"),
    [
        ({"size": 20480}, True),
        ({"size": 8}, False),
        ({"op": "all_reduce", "view": "eager"}, True),
        ({"op": "all_reduce", "view": "graph"}, False),
    ],
)
def test_a_plant_is_narrowed_down_by_op_size_and_view(where: dict[str, Any], planted: bool) -> None:
    found = Plant({"spin_us": 50, "flip": {"rank": 0, "call": 1}, **where}, 0, "gloo").within(SHAPE, "eager")
    assert (found != NOTHING) is planted


def test_the_host_spins_at_least_so_long() -> None:
    began = time.perf_counter()
    HostSpin(2000)()
    assert time.perf_counter() - began >= 0.002


def test_a_gpu_spins_by_cycles_of_the_clock_it_runs_at(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    slept: list[int] = []

    class Event:
        def __init__(self, enable_timing: bool) -> None:
            assert enable_timing
            self.at = 0

        def record(self) -> None:
            self.at = sum(slept)

        def elapsed_time(self, later: Any) -> float:
            return (later.at - self.at) / 1_700_000  # 1.7 GHz, in ms

    cuda = SimpleNamespace(_sleep=slept.append, Event=Event, synchronize=lambda: None)
    monkeypatch.setattr(torch, "cuda", cuda)
    spin = DeviceSpin(5.0)
    slept.clear()
    spin()
    assert slept == [8500]
