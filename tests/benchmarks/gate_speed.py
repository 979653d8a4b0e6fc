"""How long a quick gate of two lab nodes takes here: in one process again and again, and as a command.

    python tests/benchmarks/gate_speed.py [GATES] [--most SECONDS]      (20 gates; 1 s at most for their median)

The lab's nodes are namespaces of this machine, so a connection costs nothing and both nodes share its cores: over ssh
a login is to be added, on two machines half of the work falls away. Exits 1 above the most, or where a gate is no go.
Changes nothing but this process.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = 5


def main() -> int:
    """Measure and print; 1 when it is slower than asked for, or no go."""
    sys.path.insert(0, str(ROOT))
    from fabricdoc.lab import LabSpec, open_lab
    from tests.lab.gate_lab import GateLab

    words = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    words.add_argument("gates", nargs="?", type=int, default=20)
    words.add_argument("--most", type=float, default=1.0)
    asked = words.parse_args()
    with tempfile.TemporaryDirectory() as folder, open_lab(LabSpec()) as lab:
        pair = GateLab(lab, Path(folder))
        pair.gate()  # what is loaded once is loaded now
        inside = [_timed(pair) for _ in range(asked.gates)]
        outside = [_command(pair) for _ in range(COMMANDS)]
    load = f"load {os.getloadavg()[0]:.1f}"
    print(f"{platform.machine()}, {os.cpu_count()} CPUs, {load}, python {platform.python_version()}")
    print(f"in one process, {len(inside)} gates: {_told(inside)}")
    print(f"as a command, {len(outside)} gates: {_told(outside)}")
    return 0 if statistics.median(inside) <= asked.most else 1


def _told(seconds: list[float]) -> str:
    return f"median {statistics.median(seconds):.3f} s, most {max(seconds):.3f} s"


def _timed(pair: object) -> float:
    begun = time.perf_counter()
    gate = pair.gate()  # type: ignore[attr-defined]
    took = time.perf_counter() - begun
    if gate.answer != "go":
        raise SystemExit(f"no go on a healthy lab: {gate.reason}")
    return took


def _command(pair: object) -> float:
    words = ["gate", "--preset", str(pair.file), "--presets", str(pair.folder)]  # type: ignore[attr-defined]
    words += ["--store", str(pair.store), "--line", "--deadline", "60"]  # type: ignore[attr-defined]
    begun = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "fabricdoc", *words], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    took = time.perf_counter() - begun
    if done.returncode:
        raise SystemExit(f"no go on a healthy lab: {done.stdout}{done.stderr}")
    return took


if __name__ == "__main__":
    sys.exit(main())
