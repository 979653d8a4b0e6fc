"""Find every process that descends from a test's command, by a mark in its environment, and its namespaces."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path

MARK = "FABRICDOC_TEST_MARK"
ROOT = Path(__file__).resolve().parents[2]


class Command:
    """A `fabricdoc` command running as a child, findable with all its descendants by its mark."""

    def __init__(self, words: Sequence[str], **environment: str) -> None:
        self.mark = uuid.uuid4().hex
        env = {**os.environ, MARK: self.mark, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1", **environment}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "fabricdoc", *words],
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def pids(self) -> set[int]:
        """Every living process with this command's mark."""
        return {pid for pid in _all_pids() if f"{MARK}={self.mark}".encode() in _environ(pid) and _state(pid) != "Z"}

    def namespaces(self) -> set[str]:
        """Network namespaces of those processes that are not ours."""
        return {ns for pid in self.pids() if (ns := _netns(pid))} - {_netns(os.getpid())}

    def read_until(self, text: str, limit_s: float) -> str:
        """Read stderr until a line holds `text`; the line. Fails the test after `limit_s`."""
        assert self.process.stderr is not None
        end, seen = time.monotonic() + limit_s, []
        for line in self.process.stderr:
            seen.append(line)
            if text in line:
                return line
            assert time.monotonic() < end, f"{text!r} did not come: {''.join(seen[-20:])}"
        raise AssertionError(f"ended before {text!r}: {''.join(seen[-20:])}")


def wait_until(condition: Callable[[], bool], limit_s: float, what: str) -> None:
    """Poll a condition with a deadline."""
    end = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < end, f"not within {limit_s} s: {what}"
        time.sleep(0.05)


def namespaces_alive(inodes: set[str]) -> set[str]:
    """Those network namespaces that some process still lives in."""
    return inodes & {_netns(pid) for pid in _all_pids()}


def _all_pids() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def _environ(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return "Z"


def _netns(pid: int) -> str:
    try:
        return str(Path(f"/proc/{pid}/ns/net").readlink())
    except OSError:
        return ""
