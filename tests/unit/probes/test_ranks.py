"""Ranks that are real forks but play their parts: each way to end, as the agent would see and tell it."""

from __future__ import annotations

import ctypes
import json
import math
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.probes import ranks
from fabricdoc.probes.forking import fork_rank
from fabricdoc.probes.leftovers import read
from fabricdoc.probes.ranks import RankProcess, process_state, signal_name

pytestmark = pytest.mark.lab  # whole processes with deadlines: too slow for every check

LIMIT_S = 20.0
Start = Callable[[Callable[[int, int], int]], RankProcess]


@pytest.fixture
def start() -> Iterator[Start]:
    """Forks ranks; whatever is left of them afterwards is killed."""
    started: list[RankProcess] = []

    def begin(entry: Callable[[int, int], int]) -> RankProcess:
        rank = RankProcess(1, fork_rank(entry, {}, []), time.monotonic())
        started.append(rank)
        return rank

    yield begin
    for rank in started:
        if not rank.reaped:
            os.kill(rank.pid, signal.SIGKILL)
            os.waitpid(rank.pid, 0)
        rank.close()


def say(fd: int, event: str, **fields: Any) -> None:
    os.write(fd, json.dumps({"event": event, **fields}).encode() + b"\n")


def until(rank: RankProcess, reached: Callable[[], bool]) -> list[dict[str, Any]]:
    """Drive the rank as the agent's loop does until `reached`; what it said meanwhile."""
    heard: list[dict[str, Any]] = []
    end = time.monotonic() + LIMIT_S
    while not reached():
        assert time.monotonic() < end, f"still {rank.phase}, {rank.status!r}"
        heard += rank.read()[0]
        rank.tick()
        heard += rank.reap() or []
        time.sleep(0.002)
    return heard


def ended(rank: RankProcess) -> tuple[str, str, list[dict[str, Any]]]:
    heard = until(rank, lambda: bool(rank.status))
    return rank.status, rank.reason, heard


def hang(orders_fd: int, events_fd: int) -> int:
    say(events_fd, "phase", phase="measure", what="", at_s=0.1)
    time.sleep(600)
    return 0


def test_a_rank_that_says_ok_is_ok(start: Start) -> None:
    def entry(orders_fd: int, events_fd: int) -> int:
        say(events_fd, "phase", phase="done", what="", at_s=0.5)
        say(events_fd, "end", status="ok", reason="", timings_s={"init": 0.25})
        return 0

    rank = start(entry)
    status, reason, heard = ended(rank)
    assert (status, reason, rank.phase) == ("ok", "", "done")
    assert heard == [{"event": "phase", "phase": "done", "what": "", "at_s": 0.5, "rank": 1}]
    report = rank.report()
    assert report["timings_s"]["init"] == 0.25
    assert set(report["timings_s"]) == {"fork", "init"}
    assert report["event"] == "rank_done"


def test_a_rank_that_fails_gives_its_reason_and_log(start: Start) -> None:
    def entry(orders_fd: int, events_fd: int) -> int:
        print("Traceback of it")
        say(events_fd, "end", status="failed", reason="RuntimeError: no route", timings_s={})
        return 1

    rank = start(entry)
    assert ended(rank)[:2] == ("failed", "RuntimeError: no route")
    assert rank.report()["log"] == "Traceback of it\n"


def test_a_rank_killed_by_others_died_of_that_signal(start: Start) -> None:
    rank = start(hang)
    until(rank, lambda: rank.phase == "measure")
    os.kill(rank.pid, signal.SIGKILL)
    assert ended(rank)[:2] == ("died", "rank 1 was killed by SIGKILL in phase measure")


def test_a_rank_that_just_exits_died(start: Start) -> None:
    rank = start(lambda orders, events: 3)
    assert ended(rank)[:2] == ("died", "rank 1 exited with status 3 in phase fork")


def test_what_was_said_right_before_the_end_is_heard(start: Start) -> None:
    def entry(orders_fd: int, events_fd: int) -> int:
        for port in range(2000):
            say(events_fd, "store", port=port)
        return 0

    assert len(ended(start(entry))[2]) == 2000


def test_what_was_said_but_not_yet_read_is_heard_when_it_has_ended(start: Start) -> None:
    def entry(orders_fd: int, events_fd: int) -> int:
        say(events_fd, "store", port=5)
        say(events_fd, "end", status="ok", reason="", timings_s={})
        return 0

    rank = start(entry)
    os.waitid(os.P_PID, rank.pid, os.WEXITED | os.WNOWAIT)
    assert rank.reap() == [{"event": "store", "port": 5, "rank": 1}]
    assert rank.status == "ok"


def test_garbage_of_a_rank_that_has_ended_kills_nobody(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its number may belong to another process by then."""
    killed: list[int] = []

    def entry(orders_fd: int, events_fd: int) -> int:
        os.write(events_fd, b"garbage\n")
        return 0

    rank = start(entry)
    os.waitid(os.P_PID, rank.pid, os.WEXITED | os.WNOWAIT)
    monkeypatch.setattr(ranks.os, "kill", lambda pid, number: killed.append(pid))
    monkeypatch.setattr(ranks.os, "killpg", lambda pid, number: killed.append(pid))
    rank.reap()
    assert (rank.status, killed) == ("garbage", [])


@pytest.mark.parametrize("line", [b"NCCL WARN\n", b'{"event":"rank_done"}\n', b"\xff\xfe\n", b"\n"])
def test_a_rank_that_writes_garbage_is_killed(start: Start, line: bytes) -> None:
    def entry(orders_fd: int, events_fd: int) -> int:
        os.write(events_fd, line)
        time.sleep(600)
        return 0

    status, reason, _ = ended(start(entry))
    assert status == "garbage"
    assert reason.startswith("rank 1 wrote what is no event in phase fork: ")


def test_a_line_without_end_is_garbage(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranks, "LINE_LIMIT", 100_000)

    def entry(orders_fd: int, events_fd: int) -> int:
        while True:
            os.write(events_fd, b"x" * 4096)

    assert ended(start(entry))[0] == "garbage"


def test_a_half_line_of_a_dead_rank_is_not_garbage(start: Start) -> None:
    def entry(orders_fd: int, events_fd: int) -> int:
        os.write(events_fd, b'{"event":"ce')
        os.kill(os.getpid(), signal.SIGSEGV)
        return 0

    assert ended(start(entry))[:2] == ("died", "rank 1 was killed by SIGSEGV in phase fork")


def test_a_flood_of_log_is_garbage(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranks, "LOG_LIMIT", 1 << 20)

    def entry(orders_fd: int, events_fd: int) -> int:
        os.write(1, b"NCCL INFO\n" * 200_000)
        time.sleep(600)
        return 0

    rank = start(entry)
    assert ended(rank)[:2] == ("garbage", "rank 1 wrote more than 1 MiB of log")
    assert len(rank.report()["log"]) == ranks.LOG_TAIL


def test_a_hanging_rank_leaves_its_stack(start: Start) -> None:
    rank = start(hang)
    until(rank, lambda: rank.phase == "measure")
    rank.expire("the deadline of 30 s")
    status, reason, _ = ended(rank)
    assert status == "timeout"
    assert reason.startswith("rank 1 was in phase measure at the deadline of 30 s, in hang (test_ranks.py:")
    stack = rank.report()["stack"]
    assert stack[-1].endswith(" in hang") and any(" in fork_rank" in line for line in stack[:-1])
    assert "most recent call first" not in rank.report()["log"], "what it wrote stays as it wrote it"


def test_a_stopped_rank_is_said_to_be_stopped(start: Start) -> None:
    rank = start(hang)
    until(rank, lambda: rank.phase == "measure")
    os.kill(rank.pid, signal.SIGSTOP)
    os.waitid(os.P_PID, rank.pid, os.WSTOPPED)
    rank.expire("the deadline of 2.5 s")
    status, reason, _ = ended(rank)
    assert status == "timeout"
    told = "rank 1 was in phase measure at the deadline of 2.5 s: stopped (state T), in hang (test_ranks.py:"
    assert reason.startswith(told), "it is continued to tell where it stands"


def test_the_stack_is_the_working_threads(start: Start) -> None:
    def entry(orders_fd: int, events_fd: int) -> int:
        threading.Thread(target=threading.Event().wait, daemon=True).start()
        return hang(orders_fd, events_fd)

    rank = start(entry)
    until(rank, lambda: rank.phase == "measure")
    rank.expire("the deadline of 30 s")
    assert ", in hang (test_ranks.py:" in ended(rank)[1]


def test_a_stuck_rank_that_ends_while_asked_for_its_stack_still_has_one(start: Start) -> None:
    def entry(orders_fd: int, events_fd: int) -> int:
        say(events_fd, "phase", phase="measure", what="", at_s=0.1)
        os.read(orders_fd, 10)
        return 1

    rank = start(entry)
    until(rank, lambda: rank.phase == "measure")
    rank.expire("the deadline of 30 s")
    until(rank, lambda: rank.stack() != [])
    rank.tell({"address": "", "port": 0})
    status, reason, _ = ended(rank)
    assert status == "timeout"
    assert "at the deadline of 30 s, in entry (test_ranks.py:" in reason


def test_a_rank_deaf_to_signals_is_killed_without_a_stack(start: Start) -> None:
    def entry(orders_fd: int, events_fd: int) -> int:
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
        return hang(orders_fd, events_fd)

    rank = start(entry)
    until(rank, lambda: rank.phase == "measure")
    rank.expire("the deadline of 1 s")
    assert ended(rank)[1].endswith("at the deadline of 1 s, gave no stack")


def test_stopping_kills_the_whole_group(start: Start) -> None:
    def entry(orders_fd: int, events_fd: int) -> int:
        grandchild = os.fork()
        if grandchild == 0:
            time.sleep(600)
            os._exit(0)
        say(events_fd, "store", port=grandchild)
        return hang(orders_fd, events_fd)

    rank = start(entry)
    heard = until(rank, lambda: rank.phase == "measure")
    grandchild = next(event["port"] for event in heard if event["event"] == "store")
    rank.end_as("stopped", "as asked")
    assert ended(rank)[:2] == ("stopped", "as asked")
    end = time.monotonic() + LIMIT_S
    while process_state(grandchild) not in ("", "Z") and time.monotonic() < end:
        time.sleep(0.002)
    assert process_state(grandchild) in ("", "Z")


def test_the_first_verdict_stays(start: Start) -> None:
    rank = start(hang)
    until(rank, lambda: rank.phase == "measure")
    rank.end_as("stopped", "first")
    rank.end_as("garbage", "second")
    rank.expire("the deadline of 1 s")
    assert ended(rank)[:2] == ("stopped", "first")


def test_a_rank_that_sigkill_does_not_end_is_reported_and_left(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """No process here can be made uninterruptible, so the signal itself is held back."""
    monkeypatch.setattr(ranks, "KILL_S", 0.05)
    rank = start(hang)
    until(rank, lambda: rank.phase == "measure")
    monkeypatch.setattr(rank, "_signal", lambda number: None)
    rank.end_as("timeout", "stuck")
    status, reason, _ = ended(rank)
    assert status == "timeout"
    assert reason == f"stuck; process {rank.pid} (state S) did not end within 0.05 s of SIGKILL and was left"
    assert not rank.reaped


def test_orders_to_a_dead_rank_are_lost_quietly(start: Start) -> None:
    rank = start(lambda orders, events: 0)
    ended(rank)
    rank.tell({"port": 1})


def test_nothing_is_due_for_a_rank_that_runs(start: Start) -> None:
    rank = start(hang)
    until(rank, lambda: rank.phase == "measure")
    rank.tick()
    assert rank.reap() is None
    assert (rank._kill_at, rank._give_up_at, rank.status) == (math.inf, math.inf, "")


def test_a_rank_that_ends_at_its_deadline_by_itself_says_so(start: Start) -> None:
    """As when its peer was ended a moment earlier: it answers no signal any more, and was not killed."""

    def entry(orders_fd: int, events_fd: int) -> int:
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
        os.write(events_fd, b'{"event":"phase","phase":"measure","what":"","at_s":0.1}\n')
        os.read(orders_fd, 1)
        return 0

    rank = start(entry)
    until(rank, lambda: rank.phase == "measure")
    rank.expire("the deadline of 1 s")
    rank.tell({"address": "", "port": 0})
    status, reason, _ = ended(rank)
    assert status == "timeout"
    assert reason.endswith("at the deadline of 1 s, and ended by itself just then")


def test_process_states() -> None:
    assert process_state(os.getpid()) == "R"
    assert process_state(2**22 + 1) == ""


@given(number=st.integers(1, 64))
def test_every_signal_has_a_name(number: int) -> None:
    assert signal_name(number).startswith(("SIG", f"signal {number}"))


def test_a_rank_is_overdue_when_it_stays_too_long_in_its_phase(start: Start) -> None:
    rank = start(hang)
    rank._limits_s = {"rendezvous": 50.0, "measure": 30.0}
    assert rank.overdue_s() == 0
    rank._entered_s -= 51
    assert rank.overdue_s() == 50.0, "a fork that says nothing is a rendezvous that does not come about"
    until(rank, lambda: rank.phase == "measure")
    assert rank.overdue_s() == 0, "a phase begins anew"
    rank._entered_s -= 31
    assert rank.overdue_s() == 30.0
    rank.expire("its limit of 30 s")
    assert rank.overdue_s() == 0, "said once"
    assert "at its limit of 30 s" in ended(rank)[1]


def test_what_it_was_doing_is_named(start: Start) -> None:
    def entry(orders_fd: int, events_fd: int) -> int:
        say(events_fd, "phase", phase="measure", what="all_reduce 8 B bfloat16, graph", at_s=0.1)
        return 3

    rank = start(entry)
    assert ended(rank)[1] == "rank 1 exited with status 3 in phase measure (all_reduce 8 B bfloat16, graph)"


def test_one_stopped_with_its_stack_keeps_its_status(start: Start) -> None:
    rank = start(hang)
    until(rank, lambda: rank.phase == "measure")
    rank.end_with_stack("stopped", "rank 1 was stopped")
    status, reason, _ = ended(rank)
    assert status == "stopped"
    assert reason.startswith("rank 1 was stopped, in hang (test_ranks.py:")


def test_a_rank_that_hangs_in_c_without_the_interpreter_still_tells(start: Start) -> None:
    """A C call that holds the interpreter's lock: no Python code can run, faulthandler's handler does."""

    def entry(orders_fd: int, events_fd: int) -> int:
        say(events_fd, "phase", phase="connect", what="", at_s=0.1)
        while True:  # faulthandler's handler interrupts the sleep
            ctypes.PyDLL(None).sleep(600)

    rank = start(entry)
    until(rank, lambda: rank.phase == "connect")
    rank.expire("its limit of 1 s")
    assert ", in entry (test_ranks.py:" in ended(rank)[1]


def test_its_start_is_what_the_kernel_says(start: Start) -> None:
    rank = start(hang)
    born = read(rank.pid)
    assert born is not None and rank.start == born.start > 0
