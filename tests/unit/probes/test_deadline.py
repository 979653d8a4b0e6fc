"""The time limit of a scan: a read that blocks is ended, and the alarm leaves nothing behind."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from fabricdoc.probes.deadline import Deadline, TimeUp
from fabricdoc.probes.facts import read_text

pytestmark = pytest.mark.unit


def test_a_read_in_time_is_its_value_and_is_timed() -> None:
    deadline = Deadline(5)
    assert deadline.read("one", lambda: 7) == 7
    assert 0 <= deadline.timings_ms["one"] < 5000


def test_a_read_that_fails_is_its_reason() -> None:
    def fail() -> None:
        raise OSError(2, "No such file or directory", "/gone")

    assert Deadline(5).read("one", fail) == {"unknown": "/gone: No such file or directory"}


def test_a_blocked_read_is_ended_and_the_next_one_is_not_begun(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    begun: list[int] = []
    deadline = Deadline(0.05)
    start = time.monotonic()
    assert deadline.read("fifo", lambda: read_text(f"{tmp_path}/fifo")) == {"unknown": "time limit"}
    assert time.monotonic() - start < 30
    assert deadline.left() == 0
    assert deadline.read("next", lambda: begun.append(1)) == {"unknown": "time limit"}
    assert begun == []


def test_no_section_can_take_the_end_for_a_failed_read() -> None:
    assert not issubclass(TimeUp, Exception)


def test_the_alarm_and_its_handler_are_put_back() -> None:
    before = signal.getsignal(signal.SIGALRM)
    Deadline(5).read("one", lambda: 1)
    assert signal.getsignal(signal.SIGALRM) is before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_timed_work_keeps_its_value_and_its_time_also_when_it_raises() -> None:
    deadline = Deadline(5)
    assert deadline.timed("good", lambda: "x") == "x"
    with pytest.raises(KeyError):
        deadline.timed("bad", lambda: {}["no"])
    assert set(deadline.timings_ms) == {"good", "bad"}


def test_the_time_that_is_left_shrinks_and_ends_at_nought() -> None:
    deadline = Deadline(60)
    first = deadline.left()
    assert 0 < deadline.left() <= first <= 60
    assert Deadline(0).left() == Deadline(-5).left() == 0.0


def test_a_deadline_inside_another_keeps_to_its_own() -> None:
    outer, inner = Deadline(30), Deadline(0)
    assert outer.read("outer", lambda: inner.read("inner", lambda: 1)) == {"unknown": "time limit"}
