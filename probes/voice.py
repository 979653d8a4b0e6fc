"""The worker's end of the pipe to its agent: one JSON object a line, and how long each phase took."""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass, field
from typing import Any

_REASON_LENGTH = 500
_WHAT_LENGTH = 100


@dataclass
class Voice:
    """Says events to the agent. Phases may be entered again: their times add up."""

    fd: int
    started_s: float
    timings_s: dict[str, float] = field(default_factory=dict)
    _phase: str = "fork"
    _since_s: float = -1.0

    def say(self, event: str, **fields: Any) -> None:
        """Send one event as a line; OSError when the agent is gone."""
        view = memoryview(json.dumps({"event": event, **fields}, separators=(",", ":")).encode() + b"\n")
        while view:
            view = view[os.write(self.fd, view) :]

    def phase(self, name: str, what: str = "") -> None:
        """Enter a phase (events.PHASES), with what is being done in it."""
        now = time.monotonic()
        self._close_phase(now)
        self._phase, self._since_s = name, now
        self.say("phase", phase=name, what=what[:_WHAT_LENGTH], at_s=round(now - self.started_s, 3))

    def end(self, status: str, reason: str) -> None:
        """The last event: ok or failed, with one line of reason."""
        self._close_phase(time.monotonic())
        self.say("end", status=status, reason=reason, timings_s=self.timings_s)

    def _close_phase(self, now: float) -> None:
        since = self.started_s if self._since_s < 0 else self._since_s
        self.timings_s[self._phase] = round(self.timings_s.get(self._phase, 0.0) + now - since, 4)


def one_line(problem: BaseException) -> str:
    """An exception as one bounded line: its type, its first line, and NCCL's last error where there is one."""
    lines = [line.strip() for line in str(problem).splitlines() if line.strip()] or ["no message"]
    said = lines[lines.index("Last error:") + 1 :][:1] if "Last error:" in lines else []
    return f"{type(problem).__name__}: {'; last error: '.join([lines[0], *said])}"[:_REASON_LENGTH]
