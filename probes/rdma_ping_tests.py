"""The messages of an RDMA ping over connected ends: both ways at once, small and large, then a few round trips.

Every end works through the same tests by itself: it sends its message and waits until that one is acknowledged and the
peer's has arrived whole. It stops at the first test that fails. Round trips come last: of 8 bytes by SEND here, of more
by WRITE in rdma_ping_laps. All ends of a node are driven by one loop that never
waits longer than it was told. What a result means is not judged here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from .rdma_ping_end import RECEIVED, RECEIVES, WRITTEN_AT, WROTE, Refused, message, test_of
from .rdma_ping_laps import TARGET_AT, WriteLaps

SMALL = 8
LAPS = 8
FIRST_LAP = 100
SPIN_S, NAP_S = 0.005, 0.0005
LOOK_UP_EVERY_S = 0.05


class Test(NamedTuple):
    """One message each way: `verb` is send or write, `size` in bytes (a multiple of 8)."""

    verb: str
    size: int


def tests_for(path_mtu: int) -> tuple[Test, ...]:
    """Small ones, a SEND of one whole packet and a WRITE of two; nothing above 8 KiB."""
    return (Test("send", SMALL), Test("write", SMALL), Test("send", path_mtu), Test("write", 2 * path_mtu))


class Running:
    """The tests of one end under way. `side` is 0 or 1; side 0 leads the round trips."""

    def __init__(self, id: int, end: Any, token: int, side: int, path_mtu: int) -> None:
        self.id, self.over = id, False
        self._end, self._token, self._side = end, token, side
        self._tests = tests_for(path_mtu)
        self._results: list[dict[str, Any]] = []
        self._arrived: dict[int, bool] = {}
        self._acknowledged: int | None = None
        self._until, self._wait_s = 0.0, 0.0
        self._laps: list[float] = []
        self._lap_began, self._is_lapping = 0.0, False
        self._writes, self._is_writing = WriteLaps(end.memory, self._write_lap, token, side), False
        self._posted = 0
        self._refused: dict[str, Any] | None = None

    def begin(self, now: float, wait_s: float) -> None:
        """Send the first message; `wait_s` is what each test, and all round trips of a kind together, may take."""
        self._wait_s = wait_s
        self._try(self._begin_test, now)

    def advance(self, now: float) -> bool:
        """Take what completed; true when something did."""
        return False if self.over else bool(self._try(self._step, now))

    def report(self) -> dict[str, Any]:
        """The tests begun, each with its bytes, the verbs' status (null: no completion) and whether the peer's came."""
        laps = [round(lap * 1e6, 1) for lap in self._laps]
        times = {"laps_us": laps, "writes_us": self._writes.report()}
        return {"id": self.id, "tests": self._results, **times, "failure": self._refused}

    def _try(self, what: Callable[[float], Any], now: float) -> Any:
        try:
            return what(now)
        except Refused as error:
            self._refused, self.over = error.fields(), True
            return True

    def _begin_test(self, now: float) -> None:
        number = len(self._results)
        verb, size = self._tests[number]
        self._results.append({"test": verb, "bytes": size, "status": None, "arrived": False})
        self._acknowledged, self._until = None, now + self._wait_s
        self._end.memory.put(message(self._token, self._side, number, size))
        (self._end.send if verb == "send" else self._end.write)(size)

    def _step(self, now: float) -> bool:
        done = self._end.poll()
        for work, status, length in done:
            self._take(work, status, length)
        if self._is_writing:
            return self._next_write(now) or bool(done)
        (self._next_lap if self._is_lapping else self._judge_test)(now)
        return bool(done)

    def _take(self, work: int, status: int, length: int) -> None:
        if work < RECEIVED:
            self._acknowledged = status
            self._posted -= work == WROTE and self._is_writing
        elif status == 0 and work - RECEIVED < RECEIVES:
            self._note(self._end.memory.received(work - RECEIVED, length))
            self._end.receive(work - RECEIVED)

    def _note(self, data: bytes) -> None:
        number = test_of(data, self._token, 1 - self._side)
        if number is not None:
            self._arrived[number] = data == message(self._token, 1 - self._side, number, len(data))

    def _has_arrived(self, number: int, test: Test) -> bool | None:
        """Whether the peer's message of this test is here and whole; None while it is not here."""
        if test.verb == "send":
            return self._arrived.get(number)
        data = self._end.memory.written(test.size)
        whole = message(self._token, 1 - self._side, number, test.size)
        return data == whole if data[-8:] == whole[-8:] else None

    def _judge_test(self, now: float) -> None:
        number = len(self._results) - 1
        result, arrived = self._results[number], self._has_arrived(number, self._tests[number])
        result["status"], result["arrived"] = self._acknowledged, arrived is True
        result["whole"] = arrived is not False
        passed = self._acknowledged == 0 and arrived is True
        if passed and number + 1 < len(self._tests):
            self._begin_test(now)
        elif passed:
            self._begin_laps(now)
        elif self._acknowledged or arrived is False or now >= self._until:
            self.over = True

    def _begin_laps(self, now: float) -> None:
        self._until, self._lap_began, self._is_lapping = now + self._wait_s, now, True
        if self._side == 0:
            self._send_lap(0)

    def _send_lap(self, lap: int) -> None:
        self._end.memory.put(message(self._token, self._side, FIRST_LAP + lap, SMALL))
        self._lap_began, self._acknowledged = time.monotonic(), None
        self._end.send(SMALL)

    def _next_lap(self, now: float) -> None:
        lap = len(self._laps)
        if self._arrived.get(FIRST_LAP + lap):
            self._laps.append(time.monotonic() - self._lap_began)
            if self._side == 1:
                self._send_lap(lap)
            elif lap + 1 < LAPS:
                self._send_lap(lap + 1)
        finished = len(self._laps) == LAPS and (self._side == 0 or self._acknowledged is not None)
        self.over = bool(self._acknowledged) or now >= self._until
        if finished and not self.over:
            self._is_writing, self._until = True, now + self._wait_s
            self._writes.begin()

    def _next_write(self, now: float) -> bool:
        moved = self._writes.step()
        finished = self._writes.done and (self._side == 0 or not self._posted)
        self.over = finished or self._writes.over or bool(self._acknowledged) or now >= self._until
        return moved

    def _write_lap(self, size: int) -> None:
        self._posted += 1
        self._end.write(size, TARGET_AT - WRITTEN_AT)


def run_all(running: Sequence[Running], wait_s: float, stop: Callable[[], bool]) -> None:
    """Drive all ends until each is over, or `stop()` (looked at 20 times a second) says so."""
    now = time.monotonic()
    quiet_since, looked_at = now, now
    for one in running:
        one.begin(now, wait_s)
    while not all(one.over for one in running):
        now = time.monotonic()
        if sum(one.advance(now) for one in running):
            quiet_since = now
        elif now - quiet_since > SPIN_S:
            time.sleep(NAP_S)
        if now - looked_at > LOOK_UP_EVERY_S:
            looked_at = now
            if stop():
                return
