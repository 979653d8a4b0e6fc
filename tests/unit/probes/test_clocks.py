"""The host clock on real time; the device clock's bookkeeping with events that only count."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from fabricdoc.probes import clocks

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.unit


class Event:
    """An event that knows its options and how often it was recorded."""

    def __init__(self, **options: Any) -> None:
        self.options = options
        self.recorded = 0

    def record(self) -> None:
        self.recorded += 1

    def elapsed_time(self, later: Event) -> float:
        return 0.0205


def test_host_marks_are_nanoseconds_apart() -> None:
    clock = clocks.HostClock()
    clock.begin()
    a, b = clock.mark(), clock.mark()
    clock.settle()
    assert b >= a
    assert clock.between_us(1_000, 3_500) == 2.5


def test_no_clock_marks_nothing() -> None:
    clock = clocks.NoClock()
    assert clock.mark() == clock.mark() == 0


def test_device_marks_are_events_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    settled: list[int] = []
    monkeypatch.setattr(torch, "cuda", SimpleNamespace(Event=Event, synchronize=lambda: settled.append(1)))
    clock = clocks.DeviceClock()
    clock.begin()
    first = [clock.mark() for _ in range(5)]
    clock.begin()
    assert [clock.mark() for _ in range(5)] == first
    assert len(set(map(id, first))) == 5
    assert {event.recorded for event in first} == {2}
    assert first[0].options == {"enable_timing": True}
    clock.settle()
    assert settled == [1]
    assert clock.between_us(first[0], first[1]) == pytest.approx(20.5)


def test_external_clock_asks_for_external_events(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "cuda", SimpleNamespace(Event=Event))
    clock = clocks.external_clock()
    assert clock is not None
    assert clock.mark().options == {"enable_timing": True, "external": True}


def test_a_torch_without_external_events_has_no_external_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    def old(enable_timing: bool = False) -> Event:
        return Event()

    monkeypatch.setattr(torch, "cuda", SimpleNamespace(Event=old))
    assert clocks.external_clock() is None


def test_host_marks_never_go_back() -> None:
    clock = clocks.HostClock()
    marks = [clock.mark() for _ in range(200)]
    assert marks == sorted(marks)
    assert clock.between_us(marks[0], marks[-1]) == (marks[-1] - marks[0]) / 1000 >= 0


def test_a_second_series_that_is_longer_makes_only_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Event] = []

    def event(**options: Any) -> Event:
        made.append(Event(**options))
        return made[-1]

    monkeypatch.setattr(torch, "cuda", SimpleNamespace(Event=event))
    clock = clocks.DeviceClock()
    for length, events in ((3, 3), (2, 3), (5, 5), (5, 5)):
        clock.begin()
        for _ in range(length):
            clock.mark()
        assert len(made) == events


def test_an_error_that_is_not_about_options_is_not_swallowed(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(**_options: Any) -> Event:
        raise RuntimeError("CUDA error: out of memory")

    monkeypatch.setattr(torch, "cuda", SimpleNamespace(Event=broken))
    with pytest.raises(RuntimeError, match="out of memory"):
        clocks.external_clock()
