"""What ranks leave behind: found by start time and session, ended, and nobody else's process ever touched."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fabricdoc.probes import leftovers
from fabricdoc.probes.leftovers import Process, end, left_by, read, strays

pytestmark = pytest.mark.unit

ROOT = Path(__file__).parents[3]
LIMIT_S = 20.0
# A rank with a session of its own that leaves a child behind; it says the child's number, and waits for a line.
LEAVES = """
import os, subprocess, sys, time
os.setsid()
nowhere = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], **nowhere)
print(child.pid, flush=True)
sys.stdin.readline()
os._exit(0)
"""


@pytest.fixture
def rank() -> Iterator[tuple[subprocess.Popen[str], int]]:
    process = subprocess.Popen([sys.executable, "-c", LEAVES], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    child = int(process.stdout.readline())
    yield process, child
    process.kill()
    process.communicate()
    end([one for one in [read(child)] if one is not None])


def gone(pid: int) -> bool:
    now = read(pid)
    return now is None or now.state in "ZX"


def wait_for(reached: Callable[[], bool]) -> None:
    limit = time.monotonic() + LIMIT_S
    while not reached():
        assert time.monotonic() < limit
        time.sleep(0.005)


def test_a_process_is_read_as_the_kernel_tells_it() -> None:
    me = read(os.getpid())
    assert me is not None
    assert (me.pid, me.state, me.parent, me.session) == (os.getpid(), "R", os.getppid(), os.getsid(0))
    assert me.start > 0
    assert read(2**22 + 1) is None


def test_a_rank_and_what_it_started_are_found_and_ended(rank: tuple[subprocess.Popen[str], int]) -> None:
    process, child = rank
    born = read(process.pid)
    assert born is not None
    found = left_by([(process.pid, born.start)])
    assert {one.pid for one in found} == {process.pid, child}
    assert end(found) == []
    assert gone(process.pid) and gone(child)


def test_what_an_ended_rank_started_is_found_by_its_session(rank: tuple[subprocess.Popen[str], int]) -> None:
    process, child = rank
    born = read(process.pid)
    assert born is not None
    process.communicate("end\n", LIMIT_S)
    found = left_by([(process.pid, born.start)])
    assert [one.pid for one in found] == [child]
    assert end(found) == []
    assert gone(child)


def test_a_number_given_anew_is_nobody_of_ours(rank: tuple[subprocess.Popen[str], int]) -> None:
    process, child = rank
    born, began = read(process.pid), read(child)
    assert born is not None and began is not None
    assert process.pid not in {one.pid for one in left_by([(process.pid, born.start - 1)])}
    assert child not in {one.pid for one in left_by([(process.pid, began.start + 1)])}
    assert left_by([]) == []
    assert end([began._replace(start=began.start - 1)]) == []
    assert not gone(child), "its start time says that it is another process"


def test_one_that_nothing_ends_is_told(
    rank: tuple[subprocess.Popen[str], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    process, _ = rank
    monkeypatch.setattr(os, "kill", lambda pid, number: None)
    born = read(process.pid)
    assert born is not None
    assert end([born], wait_s=0.05) == [process.pid]


def test_children_of_others_sessions_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    processes = {pid: Process(pid, "S", 1, session, 100) for pid, session in ((10, 10), (11, 7), (12, 8))}
    monkeypatch.setattr(leftovers, "children", lambda: {10, 11, 12, 13})
    monkeypatch.setattr(leftovers, "read", processes.get)
    assert [one.pid for one in strays({10}, {7}, alone=False)] == [11]
    assert [one.pid for one in strays({10}, {7}, alone=True)] == [11, 12]


@pytest.mark.long
def test_an_adopter_becomes_the_parent_of_what_a_rank_leaves() -> None:
    program = (
        "import os, subprocess, sys\n"
        "from probes import leftovers\n"
        "leftovers.adopt()\n"
        f"rank = subprocess.Popen([sys.executable, '-c', {LEAVES!r}], stdin=subprocess.PIPE, stdout=subprocess.PIPE)\n"
        "child = int(rank.stdout.readline())\n"
        "assert leftovers.children() == {rank.pid}\n"
        "rank.communicate(b'end\\n')\n"
        "found = leftovers.strays(set(), {rank.pid}, alone=False)\n"
        "assert [one.pid for one in found] == [child], found\n"
        "print(leftovers.end(found), leftovers.children())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout == "[] set()\n", done.stderr


def test_a_zombie_is_over() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    wait_for(lambda: gone(process.pid))
    born = read(process.pid)
    assert born is None or left_by([(process.pid, born.start)]) == []
    process.wait(LIMIT_S)
