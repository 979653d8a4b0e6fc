"""Who wrote a line: host, process, thread and GPU, and when, from what stands in front of NCCL's level word.

Launchers' prefixes (docker, kubectl, ray, slurm's "0: ", mpirun's "[1,0]<stdout>:", journald) may stand in front of it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

MAX_HEAD = 300
"""Characters, counted from the level word backwards, in which the front is looked for."""

_FRONT = re.compile(
    r"(?!\d\d?:\d\d:\d\d$)(?P<host>[^\s:\[\]>|]{1,255}):(?P<pid>\d{1,10}):(?P<tid>\d{1,10})(?: \[(?P<gpu>-?\d{1,4})\])?"
    r"(?: (?:\d+\.\d+ )?(?P<file>[^\s:]{1,120}):(?P<line>\d{1,6})(?: \((?P<function>\w{0,120})\))?)?$",
    re.ASCII,
)
_TIME = re.compile(
    r"(?P<date>\d{4}-\d\d-\d\d)[ T](?P<clock>\d\d:\d\d:\d\d(?:[.,]\d{1,9})?)"
    r"|\b(?P<alone>\d\d:\d\d:\d\d(?:[.,]\d{1,9})?)",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class Speaker:
    """A thread of a rank's process. `gpu` is CUDA's number of the device, -1 where the line names none.

    `place` is "file:line" of NCCL's source for WARN lines, "" elsewhere.
    """

    host: str
    pid: int
    tid: int
    gpu: int = -1
    place: str = ""

    @property
    def process(self) -> tuple[str, int, int]:
        """What all threads that serve one rank share: host, pid and GPU."""
        return self.host, self.pid, self.gpu


def front_of(head: str) -> str:
    """The end of a head that says who speaks: clocks, which change with every line, stand before it.

    "HOST:PID:TID [GPU]", and where a WARN names its place what follows: " FILE:LINE", " FILE:LINE (FUNCTION)". What
    `speaker` says of it holds for every head that ends in it behind a blank, a "|" or a ">".
    """
    last = head.rfind(" ")
    if head[-1:] != "]" and (gpu := head.rfind(" [")) >= 0:
        last = gpu
    front = head[head.rfind(" ", 0, last) + 1 :] if last > 0 else head
    if "|" in front or ">" in front:
        front = front[max(front.rfind("|"), front.rfind(">")) + 1 :]
    return front


@lru_cache(maxsize=4096)
def speaker(head: str) -> Speaker | None:
    """Who a line's `head` names, or None where it has not NCCL's form."""
    match = _FRONT.search(head[-MAX_HEAD:])
    if not match:
        return None
    place = f"{match['file']}:{match['line']}" if match["file"] else ""
    return Speaker(match["host"], int(match["pid"]), int(match["tid"]), int(match["gpu"] or -1), place)


@lru_cache(maxsize=4096)
def moment(head: str) -> str:
    """The time in front of a line as it stands there ("2026-11-29 15:12:36", "15:12:36.5"), "" where there is none."""
    match = _TIME.search(head[-MAX_HEAD:])
    if not match:
        return ""
    clock = (match["clock"] or match["alone"]).replace(",", ".")
    return f"{match['date']} {clock}" if match["date"] else clock
