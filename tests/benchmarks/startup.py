"""How long the commands a user types first take, as whole processes with warm bytecode.

    python tests/benchmarks/startup.py [RUNS]

Prints machine, versions and per command the minimum, median and maximum of wall seconds. Starts nothing but the
commands named. Run from the root of a checkout with the python of its environment.
"""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = (["--help"], ["bench", "--help"], ["scan"], ["scan", "--json"], ["runs", "list"])


def timed(words: list[str]) -> float:
    """Seconds of one command as a whole process (waited for without a time limit: that would poll every 50 ms)."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    began = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "fabricdoc", *words],
        cwd=ROOT,
        env={**env, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    return time.perf_counter() - began


def reference() -> float:
    """Seconds of a fixed loop: how fast this machine is at this moment (0.3 s or so on an idle 3 GHz core)."""
    began, total = time.perf_counter(), 0
    for number in range(5_000_000):
        total += number
    return time.perf_counter() - began


def main() -> int:
    """Time every command, warm bytecode first."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    sys.stdout.write(f"{platform.platform()}, {os.cpu_count()} cores, Python {platform.python_version()}\n")
    sys.stdout.write(f"command   python {' '.join(sys.argv)}\n")
    sys.stdout.write(f"reference loop of 5 million additions: {reference():.2f} s before, ")
    sys.stdout.flush()
    rows = []
    for words in COMMANDS:
        timed(words)
        times = [timed(words) for _ in range(runs)]
        row = f"min {min(times):.3f}  median {statistics.median(times):.3f}  max {max(times):.3f} s"
        rows.append(f"fabricdoc {' '.join(words):14} {row}  ({runs} runs)\n")
    sys.stdout.write(f"{reference():.2f} s after\n{''.join(rows)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
