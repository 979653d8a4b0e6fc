"""Round trips by RDMA WRITE between two memories of one process: order, bytes, and what must not pass."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fabricdoc.probes.rdma_ping_end import BYTES, HEAD, Memory
from fabricdoc.probes.rdma_ping_laps import FIRST, LAPS, SIZES, TARGET_AT, WriteLaps

pytestmark = pytest.mark.unit


class Two:
    """Both sides; a write lands in the other's memory at once, through `on_the_way`."""

    def __init__(self, on_the_way: Callable[[bytes], bytes] = lambda data: data) -> None:
        self.written: list[tuple[int, int]] = []
        self.memories = [Memory(), Memory()]

        def to(side: int) -> Callable[[int], None]:
            def write(size: int) -> None:
                self.written.append((side, size))
                self.memories[1 - side].put(on_the_way(self.memories[side].at(0, size)), TARGET_AT)

            return write

        self.laps = [WriteLaps(self.memories[side], to(side), 77, side) for side in (0, 1)]

    def run(self, steps: int = 200) -> None:
        for one in self.laps[::-1]:
            one.begin()
        for _ in range(steps):
            for one in self.laps:
                if not one.over:
                    one.step()

    def close(self) -> None:
        for memory in self.memories:
            memory.close()


def test_every_lap_goes_there_and_back_small_sizes_first() -> None:
    two = Two()
    two.run()
    assert [one.done for one in two.laps] == [True, True]
    assert two.written == [(side, size) for size in SIZES for _ in range(LAPS) for side in (0, 1)]
    for one in two.laps:
        assert {int(size): len(laps) for size, laps in one.report().items()} == dict.fromkeys(SIZES, LAPS)
    two.close()


def test_no_lap_is_answered_before_it_is_here() -> None:
    two = Two()
    two.laps[1].begin()
    assert [two.laps[1].step() for _ in range(3)] == [False] * 3
    assert two.written == []
    assert two.laps[1].report() == {}
    two.close()


def test_the_mark_of_another_run_or_lap_is_no_lap() -> None:
    two = Two()
    two.laps[1].begin()
    for token, side, lap in ((78, 0, FIRST), (77, 1, FIRST), (77, 0, FIRST + 1)):
        two.memories[1].put(HEAD.pack(token, side, lap, SIZES[0]), TARGET_AT + SIZES[0] - HEAD.size)
        assert not two.laps[1].step()
    two.close()


@pytest.mark.parametrize("place", [0, 5000, -9])
def test_bytes_that_nobody_sent_end_it(place: int) -> None:
    def spoilt(data: bytes) -> bytes:
        return data[:place] + b"?" + data[place:][1:]

    two = Two(spoilt)
    two.run()
    assert two.laps[1].over
    assert not any(one.done for one in two.laps)
    assert two.written == [(0, SIZES[0])]
    two.close()


def test_it_needs_no_more_memory_than_the_ping_has() -> None:
    """Locked memory is 64 KiB where nobody raised it: sources and targets of the largest lap lie apart within it."""
    assert SIZES[-1] <= TARGET_AT
    assert TARGET_AT + SIZES[-1] == BYTES <= 49152
    assert FIRST + LAPS * len(SIZES) <= 256, "a lap's number is one byte of its mark"
