"""Work that may hang in a driver, done in a forked child with a deadline of its own.

The child says JSON objects, one a line, over a pipe; the parent merges them, so that what was said before a
hang still counts. The child holds no descriptor of ours but that pipe, and ends itself at its deadline even
when the parent is gone. A child that can't be killed (uninterruptible sleep) is reported and left.
"""

from __future__ import annotations

import json
import os
import select
import signal
import time
from collections.abc import Callable
from typing import Any, NoReturn

from .facts import READ_ERRORS, why

Say = Callable[[dict[str, Any]], None]
Work = Callable[[Say], None]

MAX_SAID = 4 * 1024 * 1024
PIPE_FD = 3
HIGHEST_FD = 65536
REAP_TRIES = 100
REAP_PAUSE_S = 0.002


class Child:
    """One piece of work in its own process, from `start` to `finish`."""

    def __init__(self, pid: int, pipe: int, limit_s: float) -> None:
        self.pid = pid
        self._pipe = pipe
        self._limit_s = limit_s
        self._end = time.monotonic() + limit_s
        self._early = b""

    def poll(self) -> bool:
        """Read what is there now, never waiting; whether `finish` will not wait either."""
        while len(self._early) <= MAX_SAID and select.select([self._pipe], [], [], 0)[0]:
            chunk = os.read(self._pipe, 65536)
            if not chunk:
                return True
            self._early += chunk
        return len(self._early) > MAX_SAID or time.monotonic() >= self._end

    def finish(self, left_s: float) -> tuple[dict[str, Any], str]:
        """What it said, merged, and why that may not be all ("" when it came to its end).

        Waits at most `left_s`, and never beyond the child's own limit; then the child is killed.
        """
        end = min(self._end, time.monotonic() + left_s)
        data, whole = _read_all(self._pipe, end, self._early)
        os.close(self._pipe)
        if not whole:
            os.kill(self.pid, signal.SIGKILL)
        status = _reap(self.pid)
        said = _merge(data)
        failed = said.pop("failed", "")
        if said.pop("done", False) is True:
            return said, str(failed)
        return said, self._reason(len(data), whole, status)

    def _reason(self, size: int, whole: bool, status: int | None) -> str:
        if size > MAX_SAID:
            return f"an answer above {MAX_SAID} bytes"
        if status is None and not whole:
            return f"no answer within {self._limit_s:g} s, and process {self.pid} can't be ended: it was left"
        if not whole or (status is not None and os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGALRM):
            return f"no answer within {self._limit_s:g} s"
        if status is not None and os.WIFSIGNALED(status):
            return f"ended by signal {os.WTERMSIG(status)}"
        return "ended before it was done"


def start(work: Work, limit_s: float) -> Child:
    """Fork, and run `work` in the child for at most `limit_s` seconds; raises OSError when there is no fork.

    Everything `work` imports from this package must be loaded before: the child loses the zip's descriptor.
    """
    read_end, write_end = os.pipe()
    try:
        pid = os.fork()
    except OSError:
        os.close(read_end)
        os.close(write_end)
        raise
    if pid == 0:
        _live(work, limit_s, write_end)
    os.close(write_end)
    return Child(pid, read_end, limit_s)


def _live(work: Work, limit_s: float, write_end: int) -> NoReturn:
    """The child's whole life: only the pipe stays open, and `os._exit` is the only way out."""
    status = 1
    try:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, limit_s)
        os.dup2(write_end, PIPE_FD)
        null = os.open(os.devnull, os.O_RDWR)
        for standard in (0, 1, 2):
            os.dup2(null, standard)
        os.closerange(PIPE_FD + 1, HIGHEST_FD)
        try:
            work(_say)
        except (*READ_ERRORS, AttributeError) as error:
            _say({"failed": why(error)})
        _say({"done": True})
        status = 0
    finally:
        os._exit(status)


def _say(message: dict[str, Any]) -> None:
    view = memoryview(json.dumps(message).encode() + b"\n")
    while view:
        view = view[os.write(PIPE_FD, view) :]


def _read_all(pipe: int, end: float, data: bytes = b"") -> tuple[bytes, bool]:
    """`data` and what came until the pipe's end (True), or until `end`, or 4 MiB (False)."""
    while len(data) <= MAX_SAID:
        if not select.select([pipe], [], [], max(0.0, end - time.monotonic()))[0]:
            return data, False
        chunk = os.read(pipe, 65536)
        if not chunk:
            return data, True
        data += chunk
    return data, False


def _merge(data: bytes) -> dict[str, Any]:
    """The said objects laid over one another; a line cut off in the middle is left out."""
    merged: dict[str, Any] = {}
    for line in data.split(b"\n")[:-1]:
        message = json.loads(line)
        merged.update(message)
    return merged


def _reap(pid: int) -> int | None:
    """The child's wait status, or None when it is still there after 0.2 s."""
    for _ in range(REAP_TRIES):
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return status
        select.select([], [], [], REAP_PAUSE_S)
    return None
