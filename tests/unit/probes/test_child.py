"""Work in a forked child: what it said counts, a hang ends, nothing of ours leaks into it."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from fabricdoc.probes import child
from fabricdoc.probes.child import Say, start

pytestmark = [
    pytest.mark.unit,
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]


def finish(work: child.Work, limit_s: float = 10.0, left_s: float = 10.0) -> tuple[dict[str, Any], str]:
    return start(work, limit_s).finish(left_s)


def forever(_say: Say) -> None:
    while True:
        signal.pause()


def test_what_is_said_is_merged_in_order() -> None:
    def work(say: Say) -> None:
        say({"a": 1, "b": 1})
        say({"b": 2})

    assert finish(work) == ({"a": 1, "b": 2}, "")


def test_an_answer_larger_than_a_pipe_comes_whole() -> None:
    assert finish(lambda say: say({"long": "x" * 1_000_000}))[0] == {"long": "x" * 1_000_000}


def test_a_hang_is_ended_at_its_own_limit_and_what_was_said_before_stays() -> None:
    def work(say: Say) -> None:
        say({"before": True})
        forever(say)

    begun = time.monotonic()
    assert finish(work, limit_s=0.1) == ({"before": True}, "no answer within 0.1 s")
    assert time.monotonic() - begun < 5


def test_a_hang_is_ended_when_the_scan_has_no_time_left() -> None:
    one = start(forever, 60.0)
    said, reason = one.finish(0.0)
    assert (said, reason) == ({}, "no answer within 60 s")
    with pytest.raises(ProcessLookupError):
        os.kill(one.pid, 0)


def test_a_child_ends_itself_at_its_limit_without_a_parent_that_asks() -> None:
    one = start(forever, 0.05)
    pid, status = os.waitpid(one.pid, 0)
    assert (pid, os.WTERMSIG(status)) == (one.pid, signal.SIGALRM)


def test_a_crash_is_named() -> None:
    def work(say: Say) -> None:
        say({"before": 1})
        os.kill(os.getpid(), signal.SIGSEGV)

    assert finish(work) == ({"before": 1}, "ended by signal 11")


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (OSError(19, "No such device"), "No such device"),
        (AttributeError("undefined symbol: nvmlX"), "AttributeError: undefined symbol: nvmlX"),
        (TypeError("a mistake of ours"), "ended before it was done"),
    ],
)
def test_an_error_in_the_child_is_a_reason(error: Exception, reason: str) -> None:
    def work(_say: Say) -> None:
        raise error

    assert finish(work) == ({}, reason)


def test_the_child_holds_no_descriptor_of_ours_but_the_pipe(tmp_path: Path) -> None:
    held = os.open(tmp_path / "held", os.O_CREAT | os.O_RDWR)

    def work(say: Say) -> None:
        open_ones = [number for number in range(1024) if Path(f"/proc/self/fd/{number}").is_symlink()]
        say({"open": open_ones, "standard": [str(Path(f"/proc/self/fd/{n}").readlink()) for n in range(3)]})

    said, reason = finish(work)
    os.close(held)
    assert reason == ""
    assert said == {"open": [0, 1, 2, child.PIPE_FD], "standard": ["/dev/null"] * 3}


def test_a_line_cut_off_is_left_out() -> None:
    def work(say: Say) -> None:
        say({"whole": 1})
        os.write(child.PIPE_FD, b'{"cut": ')
        os.kill(os.getpid(), signal.SIGKILL)

    assert finish(work) == ({"whole": 1}, "ended by signal 9")


def test_an_endless_answer_is_cut() -> None:
    def work(say: Say) -> None:
        while True:
            say({"x": "y" * 100_000})

    said, reason = finish(work)
    assert said == {"x": "y" * 100_000}
    assert reason == "an answer above 4194304 bytes"


def test_a_reason_that_the_child_gave_stays_beside_what_it_said_before() -> None:
    def work(say: Say) -> None:
        say({"before": 1})
        raise OSError(5, "Input/output error")

    assert finish(work) == ({"before": 1}, "Input/output error")


def test_two_children_do_not_hear_each_other() -> None:
    first, second = start(lambda say: say({"one": 1}), 10.0), start(lambda say: say({"two": 2}), 10.0)
    assert second.finish(10.0) == ({"two": 2}, "")
    assert first.finish(10.0) == ({"one": 1}, "")


def test_no_descriptor_and_no_process_is_left() -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    made = [start(lambda say: say({"x": 1}), 10.0) for _ in range(3)]
    assert [one.finish(10.0)[1] for one in made] == ["", "", ""]
    assert len(list(Path("/proc/self/fd").iterdir())) == before
    for one in made:
        with pytest.raises(ProcessLookupError):
            os.kill(one.pid, 0)


def test_a_look_at_a_child_never_waits_and_loses_nothing() -> None:
    def work(say: Say) -> None:
        say({"one": 1})
        say({"two": "x" * 200_000})

    one = start(work, 10.0)
    end = time.monotonic() + 10
    while not one.poll():
        assert time.monotonic() < end
    assert one.finish(0.0) == ({"one": 1, "two": "x" * 200_000}, "")


def test_a_child_that_hangs_is_not_waited_for_once_its_limit_is_over() -> None:
    one = start(forever, 0.05)
    end = time.monotonic() + 10
    while not one.poll():
        assert time.monotonic() < end
    assert one.finish(0.0) == ({}, "no answer within 0.05 s")
