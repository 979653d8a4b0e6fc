"""How long a quick gate of two lab nodes takes here: in one process again and again, and as a command.

    python tests/benchmarks/gate_speed.py [GATES] [--most SECONDS] [--beside CHECKOUT]
    (20 gates; 1 s at most for their median)

The lab's nodes are namespaces of this machine, so a connection costs nothing and both nodes share its cores: over ssh
a login is to be added, on two machines half of the work falls away. Processor time is user and system, the nodes'
pythons included; where others work on the machine it tells more than the wall clock. `--beside` measures another
checkout of this project in turns with this one. Exits 1 above the most, or where a gate is no go. Changes nothing but
this process and its children.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.lab.gate_lab import GateLab

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = 3
TURNS = 4
INSIDE = """
import json, resource, sys, time
from pathlib import Path
from fabricdoc.tuning import read_preset
from fabricdoc.workflow import Asked, check_gate
def spent():
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in both)
def once():
    begun, before = time.perf_counter(), spent()
    gate = check_gate(Asked(preset, deadline_s=60.0, store=Path(sys.argv[3]), folders=(Path(sys.argv[2]),)))
    assert gate.answer == "go", gate.reason
    return time.perf_counter() - begun, spent() - before
preset = read_preset(Path(sys.argv[1]))
once()  # what is loaded once is loaded now
print(json.dumps([once() for _ in range(int(sys.argv[4]))]))
"""
Taken = list[tuple[float, float]]
"""Wall and processor seconds of each gate."""


def main() -> int:
    """Measure and print; 1 when it is slower than asked for, or no go."""
    sys.path.insert(0, str(ROOT))
    from fabricdoc.lab import LabSpec, open_lab
    from tests.lab.gate_lab import GateLab

    words = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    words.add_argument("gates", nargs="?", type=int, default=20)
    words.add_argument("--most", type=float, default=1.0)
    words.add_argument("--beside", type=Path, default=None)
    asked = words.parse_args()
    checkouts = [ROOT] if asked.beside is None else [asked.beside.resolve(), ROOT]
    inside: dict[Path, Taken] = {one: [] for one in checkouts}
    outside: dict[Path, Taken] = {one: [] for one in checkouts}
    with tempfile.TemporaryDirectory() as folder, open_lab(LabSpec()) as lab:
        pair = GateLab(lab, Path(folder))
        for one in checkouts:
            _command(pair, one)  # bytecode is written now
        for _ in range(TURNS):
            for one in checkouts:
                inside[one] += _inside(pair, one, max(1, asked.gates // TURNS))
                outside[one] += [_command(pair, one) for _ in range(COMMANDS)]
    load = f"load {os.getloadavg()[0]:.1f}"
    print(f"{platform.machine()}, {os.cpu_count()} CPUs, {load}, python {platform.python_version()}")
    for one in checkouts:
        if len(checkouts) > 1:
            print("this checkout:" if one == ROOT else "the other one:")
        print(f"in one process, {len(inside[one])} gates: {_told(inside[one])}")
        print(f"as a command, {len(outside[one])} gates: {_told(outside[one])}")
    return 0 if statistics.median(wall for wall, _ in inside[ROOT]) <= asked.most else 1


def _told(taken: Taken) -> str:
    walls, spent = zip(*taken, strict=True)
    return (
        f"median {statistics.median(walls):.3f} s, least {min(walls):.3f} s, most {max(walls):.3f} s; "
        f"processor median {statistics.median(spent):.3f} s, least {min(spent):.3f} s"
    )


def _run(words: Sequence[str], checkout: Path) -> str:
    """Its output; a checkout runs with bytecode kept, as an installed program does."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        [sys.executable, *words],
        cwd=checkout,
        env={**env, "PYTHONPATH": str(checkout)},
        capture_output=True,
        text=True,
        check=False,  # and without a time limit, which would look for the end only every 50 ms
    )
    if done.returncode:
        raise SystemExit(f"no go on a healthy lab: {done.stdout}{done.stderr}")
    return done.stdout


def _inside(pair: GateLab, checkout: Path, gates: int) -> Taken:
    said = _run(["-c", INSIDE, str(pair.file), str(pair.folder), str(pair.store), str(gates)], checkout)
    return [(wall, spent) for wall, spent in json.loads(said)]


def _command(pair: GateLab, checkout: Path) -> tuple[float, float]:
    words = ["gate", "--preset", str(pair.file), "--presets", str(pair.folder)]
    words += ["--store", str(pair.store), "--line", "--deadline", "60"]
    begun, before = time.perf_counter(), _spent()
    _run(["-m", "fabricdoc", *words], checkout)
    return time.perf_counter() - begun, _spent() - before


def _spent() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return children.ru_utime + children.ru_stime


if __name__ == "__main__":
    sys.exit(main())
