"""Commands of tests: every process that descends from one is found by a mark in its environment, and its namespaces."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO

TINY = """
name = "tiny"
summary = "one small all-reduce"
source = "this test"
[decode]
rows = 1
[[decode.collectives]]
role = "ar"
op = "all_reduce"
count = 1
size = 4096
send_bytes = 4096
[prefill]
rows = 1
"""
"""A profile whose launches last as short as launches can."""

MARK = "FABRICDOC_TEST_MARK"
ROOT = Path(__file__).resolve().parents[2]


def tiny_profile(folder: Path) -> str:
    """The tiny profile as a file in `folder`."""
    (folder / "tiny.toml").write_text(TINY)
    return str(folder / "tiny.toml")


def heed_signals() -> None:
    """In a child: what a shell ignores for a job in the background is not ignored."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)


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
            preexec_fn=heed_signals,
        )

    def pids(self) -> set[int]:
        """Every living process with this command's mark."""
        return {pid for pid in _all_pids() if f"{MARK}={self.mark}".encode() in _environ(pid) and _state(pid) != "Z"}

    def namespaces(self) -> set[str]:
        """Network namespaces of those processes that are not ours."""
        return {ns for pid in self.pids() if (ns := _netns(pid))} - {_netns(os.getpid())}

    def search_begins(self, limit_s: float) -> None:
        """With --json-lines: read stdout until the first launch of a block begins, proofs made before."""
        assert self.process.stdout is not None
        while True:
            event = json.loads(self._read(self.process.stdout, '"launch-begins"', limit_s))
            if event["round"] == "search":
                return

    def read_until(self, text: str, limit_s: float) -> str:
        """Read stderr until a line holds `text`; the line. What changes quickly is said there now and then only."""
        assert self.process.stderr is not None
        return self._read(self.process.stderr, text, limit_s)

    def _read(self, stream: IO[str], text: str, limit_s: float) -> str:
        """The next line that holds `text`. Fails the test after `limit_s`."""
        end, seen = time.monotonic() + limit_s, []
        for line in stream:
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
