"""Which process is meant: a pid with its start time, so that a reused pid is never taken for ours.

Reads /proc and ends processes through pidfds; knows nothing of labs. Linux only.
"""

from __future__ import annotations

import os
import select
import signal
from pathlib import Path


def parse_stat(text: str) -> tuple[str, int] | None:
    """State letter and start time (clock ticks since boot) of a /proc/PID/stat line, proc(5); None if malformed.

    The command name may hold spaces and brackets: fields are counted from the last bracket.
    """
    _, bracket, rest = text.rpartition(")")
    fields = rest.split()
    if not bracket or len(fields) < 20 or not (fields[19].isascii() and fields[19].isdigit()):
        return None
    return fields[0], int(fields[19])


def start_time(pid: int) -> int | None:
    """When a live process started, in clock ticks since boot; None if there is none, or only a zombie."""
    try:
        found = parse_stat(Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return None
    return found[1] if found and found[0] not in "ZX" else None


def boot_id() -> str:
    """This boot's id (the same in every namespace); empty where the kernel hides it."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def end_process(pid: int, start: int, *, wait_s: float) -> bool:
    """End the process that has this pid *and* start time: SIGTERM, after `wait_s` SIGKILL. True when it is gone.

    Raises PermissionError if it belongs to another user.
    """
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        if start_time(pid) != start:
            return True
        return any(_signalled(handle, number, wait_s) for number in (signal.SIGTERM, signal.SIGKILL))
    finally:
        os.close(handle)


def _signalled(handle: int, number: signal.Signals, wait_s: float) -> bool:
    """Send a signal to the process behind a pidfd; whether it ended within `wait_s`."""
    try:
        signal.pidfd_send_signal(handle, number)
    except ProcessLookupError:
        return True
    return readable(handle, wait_s)


def readable(descriptor: int, timeout_s: float) -> bool:
    """Whether a descriptor has data, is at its end, or (a pidfd) its process ended, within `timeout_s`."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(max(0.0, timeout_s) * 1000))
