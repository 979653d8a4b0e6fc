"""Two hundred gates of a healthy lab in one process: no false no-go, no file left open, and how long they take.

    python tests/benchmarks/gate_many.py [GATES] [--most SECONDS]      (200 gates; 90 s at most together)

Exits 1 for a gate that is no go, above the most, or where files stay open. Changes nothing but this process.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    """Ask and count; 1 when something is not as it should be."""
    sys.path.insert(0, str(ROOT))
    from fabricdoc.lab import LabSpec, open_lab
    from tests.lab.gate_lab import GateLab

    words = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    words.add_argument("gates", nargs="?", type=int, default=200)
    words.add_argument("--most", type=float, default=90.0)
    asked = words.parse_args()
    with tempfile.TemporaryDirectory() as folder, open_lab(LabSpec()) as lab:
        pair = GateLab(lab, Path(folder))
        pair.gate()
        before, begun = _open_files(), time.perf_counter()
        gates = [pair.gate() for _ in range(asked.gates)]
        took, after = time.perf_counter() - begun, _open_files()
    answers = Counter(gate.answer for gate in gates)
    print(f"{asked.gates} gates in {took:.1f} s, load {os.getloadavg()[0]:.1f}: {dict(answers)}")
    print(f"open files before and after: {before}, {after}")
    for reason, count in Counter(gate.reason for gate in gates if gate.answer != "go").items():
        print(f"{count} x {reason}")
    return 0 if set(answers) == {"go"} and took <= asked.most and after <= before else 1


def _open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


if __name__ == "__main__":
    sys.exit(main())
