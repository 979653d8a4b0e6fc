"""A lab to test in (`lab`), ways into its nodes (`enter`, `inside`, `start_inside`), proof of ends (`watch`)."""

from __future__ import annotations

import ctypes
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fabricdoc.lab import Lab, LabSpec, open_lab

SOURCE_ROOT = Path(__file__).resolve().parents[2]
CLONE_FLAGS = {"user": 0x10000000, "mnt": 0x00020000, "uts": 0x04000000, "net": 0x40000000}

Inside = Callable[..., "subprocess.CompletedProcess[str]"]
StartInside = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    """Two nodes, alpha and beta, two crossed rails; one lab per test module."""
    with open_lab(LabSpec()) as opened:
        yield opened


def _enter(pid: int) -> None:
    flags = 0
    for kind, flag in CLONE_FLAGS.items():
        if Path(f"/proc/{pid}/ns/{kind}").readlink() != Path(f"/proc/self/ns/{kind}").readlink():
            flags |= flag
    handle = os.pidfd_open(pid)
    if ctypes.CDLL(None, use_errno=True).setns(handle, flags) != 0:
        raise OSError(ctypes.get_errno(), "setns")


@pytest.fixture(scope="session")
def enter() -> Callable[[int], None]:
    """`enter(pid)` puts the calling (single-threaded) process into all namespaces of that node."""
    return _enter


def _command(code: str, words: tuple[object, ...]) -> list[str]:
    return [sys.executable, "-c", code, *(str(word) for word in words)]


@pytest.fixture(scope="session")
def inside() -> Inside:
    """`inside(pid, code, *argv)` runs Python code in a node and returns the finished process."""

    def run(pid: int, code: str, *words: object, timeout: float = 20) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            _command(code, words),
            preexec_fn=lambda: _enter(pid),
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
            cwd=SOURCE_ROOT,
        )

    return run


@pytest.fixture
def start_inside() -> Iterator[StartInside]:
    """As `inside`, but returns the running process; the test's end kills what still runs."""
    started: list[subprocess.Popen[str]] = []

    def start(pid: int, code: str, *words: object) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            _command(code, words),
            preexec_fn=lambda: _enter(pid),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=SOURCE_ROOT,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


class Watched:
    """Processes that must end: known by pidfd, so a reused pid can't pass for them."""

    def __init__(self, pids: list[int]) -> None:
        self._handles = {pid: os.pidfd_open(pid) for pid in pids}

    def wait_gone(self, within_s: float = 10.0) -> None:
        end = time.monotonic() + within_s
        for pid, handle in self._handles.items():
            ended = select.select([handle], [], [], max(0.0, end - time.monotonic()))[0]
            os.close(handle)
            assert ended, f"pid {pid} still lives"


@pytest.fixture(scope="session")
def watch() -> Callable[[list[int]], Watched]:
    """`watch(pids)` before their end, `.wait_gone(seconds)` after it."""
    return Watched


@pytest.fixture(scope="session")
def pauses() -> Callable[[str], set[int]]:
    """`pauses(prefix)`: the pause processes of nodes whose names start so (8 letters: the kernel keeps 15 bytes)."""

    def find(prefix: str) -> set[int]:
        found = set()
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if (folder / "comm").read_text().startswith(f"node-{prefix}"[:15]):
                    found.add(int(folder.name))
            except OSError:
                continue
        return found

    return find
