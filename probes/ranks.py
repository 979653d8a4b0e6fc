"""A forked rank as the agent sees it: what it says, when it must end, what became of it.

A rank ends by itself or is ended: a stuck one is asked for its Python stack, then its process group is killed; what
even SIGKILL does not end within 3 s (uninterruptible sleep) is reported and left. Everything it writes is untrusted:
bounded, and a line that is not one of ours ends it. No waiting here: the agent's loop calls `tick`.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from . import stacks
from .events import parse_event
from .forking import STACK_SIGNAL, Forked
from .leftovers import read as read_process

LOG_TAIL = 256 * 1024
LOG_LIMIT = 64 * 1024 * 1024
LINE_LIMIT = 8 * 1024 * 1024
STACK_S = 1.0  # on a busy machine 0.2 s was too little for the dump to be written
KILL_S = 3.0
_CHUNK = 1 << 16
_REASON_LENGTH = 500
_HELD = {"T": ": stopped (state T)", "t": ": traced (state t)", "D": " (state D)"}


class RankProcess:
    """One rank of a launch. `status` is empty while it lives, then ok, failed, died, timeout, stopped or garbage.

    A status without `reaped` means that the process could not be ended.
    """

    def __init__(
        self, rank: int, forked: Forked, started_s: float, limits_s: Mapping[str, float] | None = None
    ) -> None:
        self.rank = rank
        self.what = ""
        self.state = ""
        self.pid = forked.pid
        self.events_fd = forked.events_fd
        self.phase = "fork"
        self.status = ""
        self.reason = ""
        self._orders_fd = forked.orders_fd
        self._log_fd = forked.log_fd
        self._stack_fd = forked.stack_fd
        self._limits_s = limits_s or {}
        self._entered_s = time.monotonic()
        born = read_process(forked.pid)
        self.start = born.start if born else 0
        self._buffer = b""
        self._said: dict[str, Any] = {}
        self._verdict: tuple[str, str] | None = None
        self.reaped = False
        self._kill_at = math.inf
        self._give_up_at = math.inf
        self._timings = {"fork": round(time.monotonic() - started_s, 4)}

    def tell(self, order: dict[str, Any]) -> None:
        """Pass an order to the rank; one that is gone does not hear it."""
        try:
            os.write(self._orders_fd, json.dumps(order).encode() + b"\n")
        except OSError:
            return

    def read(self) -> tuple[list[dict[str, Any]], bool]:
        """(the events there now, each with its rank; whether the pipe may bring more). Garbage ends the rank."""
        events: list[dict[str, Any]] = []
        while True:
            try:
                chunk = os.read(self.events_fd, _CHUNK)
            except BlockingIOError:
                return events, True
            if not chunk:
                return events, False
            if self._verdict is None or self._verdict[0] != "garbage":
                events += self._take(chunk)

    def _take(self, chunk: bytes) -> list[dict[str, Any]]:
        *lines, self._buffer = (self._buffer + chunk).split(b"\n")
        events = []
        try:
            if len(self._buffer) > LINE_LIMIT:
                raise ValueError(f"a line longer than {LINE_LIMIT} bytes")
            for line in lines:
                event = parse_event(line)
                self._note(event)
                if event["event"] != "end":
                    events.append({**event, "rank": self.rank})
        except ValueError as problem:
            self.end_as("garbage", f"rank {self.rank} wrote what is no event in {self.where()}: {problem}")
        return events

    def _note(self, event: dict[str, Any]) -> None:
        if event["event"] == "phase":
            self.phase, self.what, self._entered_s = event["phase"], event["what"], time.monotonic()
        elif event["event"] == "end":
            self._said = event

    def overdue_s(self) -> float:
        """The limit of the phase it is in, where it has stayed longer; 0 otherwise. A fork counts as rendezvous."""
        limit = self._limits_s.get("rendezvous" if self.phase == "fork" else self.phase, math.inf)
        late = self._verdict is None and not self.reaped and time.monotonic() > self._entered_s + limit
        return limit if late else 0.0

    def where(self) -> str:
        """'phase measure (all_reduce 8 B bfloat16, graph)'."""
        return f"phase {self.phase}{f' ({self.what})' if self.what else ''}"

    def expire(self, deadline: str) -> None:
        """Its time is over: take its stack, then kill it. `deadline` is 'the deadline of 40 s' or its phase's limit."""
        self.end_with_stack("timeout", f"rank {self.rank} was in {self.where()} at {deadline}")

    def end_with_stack(self, status: str, reason: str) -> None:
        """Ask for its Python stack, and kill it a second later; a stopped process is continued to answer."""
        if self._verdict or self.reaped:
            return
        self.state = process_state(self.pid)
        self._verdict = (status, reason + _HELD.get(self.state, ""))
        self._kill_at = time.monotonic() + STACK_S
        self._signal(STACK_SIGNAL)
        if self.state == "T":
            self._signal(signal.SIGCONT)

    def end_as(self, status: str, reason: str) -> None:
        """Kill its process group; `status` and `reason` will be reported unless others were decided before."""
        self._verdict = self._verdict or (status, reason)
        if self._give_up_at == math.inf:
            self._kill_at, self._give_up_at = math.inf, time.monotonic() + KILL_S
            self._signal(signal.SIGKILL)

    def tick(self) -> None:
        """Move along what is due: a full log, the kill after the stack, giving up on what can't be killed."""
        if self.status:
            return
        now = time.monotonic()
        if self._verdict is None and os.fstat(self._log_fd).st_size > LOG_LIMIT:
            self.end_as("garbage", f"rank {self.rank} wrote more than {LOG_LIMIT >> 20} MiB of log")
        if now >= self._kill_at and self._verdict:
            self._add_stack(*self._verdict)
            self.end_as(*self._verdict)
        if now >= self._give_up_at:
            self._give_up()

    def reap(self) -> list[dict[str, Any]] | None:
        """None while the process lives. Once it has ended: what it still said, and `status` is decided."""
        if self.reaped:
            return None
        pid, wait_status = os.waitpid(self.pid, os.WNOHANG)
        if pid == 0:
            return None
        self.reaped = True
        events, _ = self.read()
        if self._verdict and self._kill_at < math.inf:  # it ended by itself in the time it had for its stack
            self._add_stack(*self._verdict, without=", and ended by itself just then")
        if not self.status:
            self.status, self.reason = self._verdict or self._own_end(wait_status)
        return events

    def _add_stack(self, status: str, reason: str, without: str = stacks.NO_STACK) -> None:
        """Add where it was; `without` where no stack came: a peer ended a moment earlier can end a rank before."""
        top = stacks.top(self.stack())
        self._verdict = (status, reason + (without if top == stacks.NO_STACK else top))

    def stack(self) -> list[str]:
        """Where it stood when it was asked, innermost call last; empty when it was not asked or did not answer."""
        return stacks.lines_of(os.pread(self._stack_fd, stacks.MOST_BYTES, 0).decode(errors="replace"))

    def _own_end(self, wait_status: int) -> tuple[str, str]:
        if self._said:
            return self._said["status"], self._said["reason"]
        if os.WIFSIGNALED(wait_status):
            how = f"was killed by {signal_name(os.WTERMSIG(wait_status))}"
        else:
            how = f"exited with status {os.WEXITSTATUS(wait_status)}"
        return "died", f"rank {self.rank} {how} in {self.where()}"

    def _give_up(self) -> None:
        status, reason = self._verdict or ("died", "")
        state = process_state(self.pid) or "unknown"
        left = f"process {self.pid} (state {state}) did not end within {KILL_S:g} s of SIGKILL and was left"
        self.status, self.reason = status, f"{reason}; {left}"

    def _signal(self, number: int) -> None:
        """Never another process's number: until it is reaped the child keeps its own. A kill goes to its group too."""
        if self.reaped:
            return
        if number == signal.SIGKILL:
            with contextlib.suppress(ProcessLookupError):  # so young that it has no group of its own yet
                os.killpg(self.pid, number)
        os.kill(self.pid, number)

    def log(self) -> str:
        """The last 256 KiB the rank wrote to its fds 1 and 2."""
        size = os.fstat(self._log_fd).st_size
        return os.pread(self._log_fd, LOG_TAIL, max(0, size - LOG_TAIL)).decode(errors="replace")

    def report(self) -> dict[str, Any]:
        """The message `rank_done` but for the launch's number."""
        return {
            "event": "rank_done",
            "rank": self.rank,
            "status": self.status,
            "phase": self.phase,
            "reason": self.reason[:_REASON_LENGTH],
            "stack": self.stack(),
            "state": self.state,
            "log": self.log(),
            "timings_s": {**self._timings, **self._said.get("timings_s", {})},
        }

    def close(self) -> None:
        """Let go of its pipes and log."""
        for fd in (self._orders_fd, self.events_fd, self._log_fd, self._stack_fd):
            os.close(fd)


def process_state(pid: int) -> str:
    """The state letter of /proc/PID/stat (proc(5)): R S D T t Z ...; empty when it can't be read."""
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0].decode()
    except (OSError, IndexError):
        return ""


def signal_name(number: int) -> str:
    """SIGKILL for 9; 'signal 64' where there is no name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
