"""How long `fabricdoc explain` takes for large logs, how much memory, and that its time grows no faster than its input.

    python tests/benchmarks/reader_speed.py [--large MB] [--kinds NAME...] [--sizes A,B] [--events] [--list]

Without arguments (some minutes): one whole log of 1000 MB (`debug`), then the other large kinds and every storm of
`log_kinds` at two sizes. Each is read from a file by `explain_files` in a process of its own, on one core. `s/GB` is
processor time for a GB: of the whole run where only one size is read, else the slope between the two sizes, since
tables and rules are loaded once, and what is kept of a log is kept of its beginning. `grown` is time a byte at the
larger size over that at the smaller one: about 1, or below, where time grows with the input alone. `pace` is the
processor time of 5 million additions beside it: other work on the machine slows both. `--events` reads events alone,
and the timelines. Run from the root of a checkout.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from tests.benchmarks.log_kinds import KINDS, LARGE, STORMS  # noqa: E402 - run as a file

WANTED_S, WANTED_MIB = 25, 200
PIECE = 64 * 10**6
PEAK = re.compile(r"VmHWM:\s+(\d+) kB")
HEAD = (
    f"{'kind':18} {'MB':>6} {'CPU s':>7} {'wall s':>7} {'s/GB':>6} {'us/line':>8} {'grown':>6} {'MiB':>5} {'pace':>5}"
)


def write(path: Path, kind: str, megabytes: int) -> None:
    """A log of that many megabytes (10^6 bytes); repeated from 64 MB on, pieces of which are made anew."""
    source = KINDS[kind](random.Random(7))
    piece: list[str] = []
    size, left = 0, megabytes * 10**6
    while size < min(left, PIECE):
        piece.append(next(source))
        size += len(piece[-1]) + 1
    data = ("\n".join(piece) + "\n").encode()
    with path.open("wb") as file:
        while left > 0:
            left -= file.write(data)


def read(path: Path, what: str) -> str:
    """CPU s, wall s, lines, peak MiB and pace of one reading, in this process."""
    from fabricdoc.explain import explain_files
    from fabricdoc.nccl import LogFile, LogReader, read_timelines

    wall, cpu = time.perf_counter(), time.process_time()
    if what == "events":
        reader = LogReader(LogFile(path))
        lines = sum(0 for _ in reader) + reader.lines
    elif what == "timelines":
        lines = read_timelines([("log", LogFile(path))]).lines
    else:
        lines = explain_files([str(path)]).files[0].lines
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    mib = int(PEAK.findall(Path("/proc/self/status").read_text())[0]) / 1024
    return f"{cpu} {wall} {lines} {mib} {pace()}"


def pace() -> float:
    """Processor seconds of 5 million additions: what other work on the machine does to a number."""
    began, total = time.process_time(), 0
    for number in range(5_000_000):
        total += number
    return time.process_time() - began


def measured(folder: Path, kind: str, what: str, megabytes: int) -> tuple[float, ...]:
    """(GB, CPU s, wall s, lines, MiB, pace) of one kind at one size, in a process of its own on the first core."""
    path = folder / f"{kind}.log"
    write(path, kind, megabytes)
    call = [sys.executable, str(Path(__file__).resolve()), "--read", str(path), what]
    done = subprocess.run(call, check=True, capture_output=True, text=True, timeout=1800, preexec_fn=_first_core)
    size = path.stat().st_size / 10**9
    path.unlink()
    return size, *map(float, done.stdout.split())


def _first_core() -> None:
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def row(kind: str, runs: Sequence[tuple[float, ...]]) -> str:
    """A line of the table: the larger run, with the slope between both where there are two."""
    size, cpu, wall, lines, mib, slow = runs[-1]
    a_gb, a_line, grown = cpu / size, cpu / lines, "-"
    if len(runs) > 1:
        small, first, _wall, few, _mib, before = runs[0]
        a_gb, a_line = (cpu - first) / (size - small), (cpu - first) / (lines - few)
        grown = f"{(cpu / slow / size) / (first / before / small):.2f}"
    above = "" if a_gb <= WANTED_S and mib <= WANTED_MIB else "  above what is wanted"
    return (
        f"{kind:18} {size * 1000:6.0f} {cpu:7.1f} {wall:7.1f} {a_gb:6.1f} {a_line * 1e6:8.2f} {grown:>6} {mib:5.0f} "
        f"{slow:5.2f}{above}"
    )


def tell(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--read"]:
        tell(read(Path(arguments[1]), arguments[2]))
        return 0
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--large", type=int, default=1000, metavar="MB", help="size of the whole run, 0 for none")
    parser.add_argument("--kinds", nargs="+", choices=sorted(KINDS), metavar="NAME", help="only these, no whole run")
    parser.add_argument("--sizes", default="20,60", metavar="A,B", help="megabytes of the other runs")
    parser.add_argument("--events", action="store_true", help="the events alone and the timelines instead of explain")
    parser.add_argument("--list", action="store_true", help="name the kinds")
    given = parser.parse_args(arguments)
    if given.list:
        tell(" ".join(KINDS))
        return 0
    sizes = [int(size) for size in given.sizes.split(",")]
    tell(HEAD)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for what in ("events", "timelines") if given.events else ("explain",):
            if given.large and not given.kinds:
                tell(row(f"debug {what}", [measured(folder, "debug", what, given.large)]))
            for kind in given.kinds or [*LARGE, *(kind for kind in STORMS if kind not in LARGE)]:
                label = kind if what == "explain" else f"{kind} {what}"
                tell(row(label, [measured(folder, kind, what, size) for size in sizes]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
