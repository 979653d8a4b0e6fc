"""Starts a private CUDA MPS daemon and takes it down when stdin closes (`python -m fabricdoc.demo.mps_guard DIR`).

Runs as a process of its own so that the daemon also ends when the demo is killed. It becomes the reaper of its
descendants, since the daemon detaches itself. Answers "ready" or one line why not.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
from pathlib import Path

DAEMON = "nvidia-cuda-mps-control"
PR_SET_CHILD_SUBREAPER = 36
LIMIT_S = 20.0


def environment(folder: str) -> dict[str, str]:
    """The daemon's environment: its pipes and logs live in `folder` only."""
    return {**os.environ, "CUDA_MPS_PIPE_DIRECTORY": folder, "CUDA_MPS_LOG_DIRECTORY": folder}


def start(folder: str) -> str:
    """Start the daemon; "" or the reason it did not."""
    try:
        done = subprocess.run(
            [DAEMON, "-d"],
            env=environment(folder),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=LIMIT_S,
            text=True,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return "" if done.returncode == 0 else (done.stderr or done.stdout).strip() or f"status {done.returncode}"


def stop(folder: str) -> None:
    """Ask the daemon to quit, then end whatever of ours is left."""
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        subprocess.run(
            [DAEMON], env=environment(folder), input="quit\n", capture_output=True, timeout=LIMIT_S, text=True
        )
    for pid in children(os.getpid()):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def children(parent: int) -> list[int]:
    """Direct children of a process, from /proc."""
    listing = Path(f"/proc/{parent}/task/{parent}/children")
    return [int(word) for word in listing.read_text().split()] if listing.exists() else []


def main(folder: str) -> int:
    """Start, say so, wait for the end of stdin, stop."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    problem = start(folder)
    sys.stdout.write((problem.splitlines()[0] if problem else "ready") + "\n")
    sys.stdout.flush()
    sys.stdin.read()
    stop(folder)
    return 0 if not problem else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
