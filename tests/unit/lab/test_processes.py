"""Pids with start times: parsing /proc, and ending only the process that is meant."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.lab.processes import boot_id, end_process, parse_stat, readable, start_time

pytestmark = pytest.mark.unit

STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); signal.pause()"
SLEEPER = "import signal; print(flush=True); signal.pause()"


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    process = _child(SLEEPER)
    yield process
    process.kill()
    process.communicate()


def _child(code: str) -> subprocess.Popen[bytes]:
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    return process


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=20), st.integers(0, 2**63))
def test_a_command_name_of_any_kind_does_not_move_the_fields(name: str, start: int) -> None:
    fields = ["S", *(str(number) for number in range(4, 22)), str(start), "23", "24"]
    assert parse_stat(f"12 ({name}) {' '.join(fields)}\n") == ("S", start)


@given(st.text(max_size=200))
def test_any_text_is_parsed_or_none(text: str) -> None:
    found = parse_stat(text)
    assert found is None or found[1] >= 0


def test_our_own_start_is_known_and_a_missing_pid_has_none() -> None:
    own = start_time(os.getpid())
    assert own is not None
    assert own <= time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK")
    assert start_time(0) is None
    assert start_time(2**22 + 1) is None


def test_a_zombie_has_no_start_time(child: subprocess.Popen[bytes]) -> None:
    assert start_time(child.pid) is not None
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert start_time(child.pid) is None


def test_the_process_with_pid_and_start_is_ended(child: subprocess.Popen[bytes]) -> None:
    start = start_time(child.pid)
    assert start is not None
    assert end_process(child.pid, start, wait_s=5)
    assert child.wait(0) == -signal.SIGTERM


def test_a_process_with_another_start_is_left_alone(child: subprocess.Popen[bytes]) -> None:
    start = start_time(child.pid)
    assert start is not None
    assert end_process(child.pid, start + 1, wait_s=5), "ours is gone: that pid is someone else's now"
    assert child.poll() is None


def test_a_process_that_ignores_sigterm_is_killed() -> None:
    process = _child(STUBBORN)
    start = start_time(process.pid)
    assert start is not None
    assert end_process(process.pid, start, wait_s=0.1)
    process.communicate(timeout=5)
    assert process.returncode == -signal.SIGKILL


def test_a_pid_that_is_gone_counts_as_ended() -> None:
    process = _child("print(flush=True)")
    start = start_time(process.pid) or 0
    process.communicate()
    assert end_process(process.pid, start, wait_s=1)


def test_readable_sees_data_and_the_end_and_does_not_wait_longer() -> None:
    read_end, write_end = os.pipe()
    assert not readable(read_end, 0.01)
    assert not readable(read_end, -1)
    os.write(write_end, b"x")
    assert readable(read_end, 0)
    os.read(read_end, 1)
    os.close(write_end)
    assert readable(read_end, 0)
    os.close(read_end)


def test_boot_id_is_one_line() -> None:
    assert boot_id() == boot_id().strip()
    assert len(boot_id()) in (0, 36)
