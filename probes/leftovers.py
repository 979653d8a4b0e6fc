"""Processes of ranks that may have outlived them: found by pid and start time, or by the session a rank began.

A rank begins a session of its own at its fork, so whatever it starts belongs to it, unless that begins another. The
agent is the reaper of such orphans (PR_SET_CHILD_SUBREAPER), and an agent that follows a killed one asks here. Ends
nothing but what these two marks say is ours; a process that SIGKILL does not end is told.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from .facts import listed

_PR_SET_CHILD_SUBREAPER = 36
_WAIT_S = 1.0
_STEP_S = 0.01


class Process(NamedTuple):
    """A line of /proc/PID/stat: state letter, parent, session and start in clock ticks since boot (proc(5))."""

    pid: int
    state: str
    parent: int
    session: int
    start: int


def read(pid: int) -> Process | None:
    """What /proc says of a process; None when it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        return Process(pid, fields[0].decode(), int(fields[1]), int(fields[3]), int(fields[19]))
    except (OSError, IndexError, ValueError):
        return None


def adopt() -> None:
    """Become the parent of what ranks leave behind (Linux 3.4)."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def children() -> set[int]:
    """This process's children, zombies included; empty where the kernel does not list them."""
    found: set[int] = set()
    for thread in listed("/proc/self/task"):
        with contextlib.suppress(OSError, ValueError):
            found |= {int(word) for word in Path(f"/proc/self/task/{thread}/children").read_bytes().split()}
    return found


def strays(known: set[int], sessions: set[int], *, alone: bool) -> list[Process]:
    """Children that are none of `known`: those of ended ranks' `sessions`, or any when no other launch runs."""
    found = [read(pid) for pid in sorted(children() - known)]
    return [one for one in found if one is not None and (alone or one.session in sessions)]


def left_by(ranks: Sequence[tuple[int, int]]) -> list[Process]:
    """Living processes that are one of these (pid, start), or belong to the session that one began."""
    begun = dict(ranks)
    found = [read(int(name)) for name in listed("/proc") if name.isdigit()] if begun else []
    return [one for one in found if one is not None and one.state not in "ZX" and _is_ours(one, begun)]


def _is_ours(one: Process, begun: dict[int, int]) -> bool:
    """A session's number is its first process's, which nobody else can get while the session has members."""
    if one.pid in begun:
        return one.start == begun[one.pid]
    return one.session in begun and one.start >= begun[one.session]


def end(processes: Sequence[Process], wait_s: float = _WAIT_S) -> list[int]:
    """Kill these, wait for their end and collect those that are our children; the pids that still live."""
    for one in processes:
        now = read(one.pid)
        if now is not None and now.start == one.start:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(one.pid, signal.SIGKILL)
    limit = time.monotonic() + wait_s
    left = list(processes)
    while left and time.monotonic() < limit:
        left = [one for one in left if not _is_over(one)]
        if left:
            time.sleep(_STEP_S)
    return [one.pid for one in left]


def _is_over(one: Process) -> bool:
    with contextlib.suppress(ChildProcessError):
        os.waitpid(one.pid, os.WNOHANG)
    now = read(one.pid)
    return now is None or now.start != one.start or now.state in "ZX"
