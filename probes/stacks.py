"""A rank's Python stack as faulthandler wrote it: the thread that works, innermost call last, bounded.

A dump lists every thread, newest first, each with its innermost call first; the oldest is the one that works, whatever
thread the signal went to. It is what an untrusted process wrote: bounded, and never more than lines of text.
"""

from __future__ import annotations

import re

MOST_BYTES = 256 * 1024
MOST_LINES = 60
_LINE_LENGTH = 300
NO_STACK = ", gave no stack"
_THREAD = re.compile(r"^(?:Current thread|Thread) 0x[^\n]*\n", re.MULTILINE)
_FRAME = re.compile(r'^  (File "[^"\n]*", line \d+ in [^\n]*)', re.MULTILINE)
_PLACE = re.compile(r'^File "([^"\n]*)", line (\d+) in (.*)$')


def lines_of(dump: str) -> list[str]:
    """The frames of the last thread of the last dump, outermost first; at most 60, the innermost kept."""
    threads = _THREAD.split(dump)[1:]
    frames = _FRAME.findall(threads[-1]) if threads else []
    return [frame[:_LINE_LENGTH] for frame in reversed(frames[:MOST_LINES])]


def top(lines: list[str]) -> str:
    """', in all_reduce (distributed_c10d.py:3004)' for the innermost frame, else that there is none."""
    place = _PLACE.match(lines[-1]) if lines else None
    if place is None:
        return NO_STACK
    path, line, name = place.groups()
    return f", in {name} ({path.rpartition('/')[2]}:{line})"
