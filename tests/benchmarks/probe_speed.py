"""How long the probe takes for the fabric part of a node, and as a whole in a fresh process.

    python tests/benchmarks/probe_speed.py [RUNS]

Measures this host as it is, and a recorded sysfs tree of an 8-rail server: 8 HCAs with GID tables of 256 slots, 8 of
them filled. The tree holds files, no mlx5: what a real driver needs to answer is not in these figures. The fabric part
is read one section after the other in one process; the scan itself reads ports and counters in children meanwhile.
Run from the root of a checkout with the python of its environment.
"""

from __future__ import annotations

import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from fabricdoc.probes import counters, hcas, neighbours, netdevs, pcie, routes, rules, scan  # noqa: E402
from fabricdoc.transport.zipapp import probe_zip  # noqa: E402
from tests.sysfs import server  # noqa: E402

TARGET_MS = {"this host": 50.0, "8 HCAs, 256 slots": 150.0}
FRESH = """import sys
sys.path[:] = [sys.argv[1]] + [path for path in sys.path if path]
from probes.scan import scan
scan(10, sys.argv[2])
"""


def sections(root: str) -> dict[str, Callable[[], object]]:
    """The sections of the fabric part; the network's own are this host's with any root."""
    interfaces = netdevs.read_netdevs(root)
    return {
        "hcas": lambda: hcas.read_hcas(root),
        "netdevs": lambda: netdevs.read_netdevs(root),
        "links": lambda: netdevs.ask(lambda _said: None, interfaces, root),
        "routes": routes.read_routes,
        "rules": rules.read_rules,
        "neighbours": neighbours.read_neighbours,
        "pcie": lambda: pcie.read_pcie(hcas.pci_addresses(root), root),
        "counters": lambda: counters.ask(lambda _said: None, root, 0.0),
    }


class Took(NamedTuple):
    """Milliseconds by the clock, and of processor time (what others do to the machine is not in that)."""

    wall: float
    cpu: float


def timed(work: Callable[[], object]) -> Took:
    """One call; a section that the kernel refuses counts with the time of its refusal."""
    begun, cpu = time.perf_counter(), processor_s()
    try:
        work()
    except OSError as error:
        sys.stderr.write(f"{error}\n")
    return Took((time.perf_counter() - begun) * 1000, (processor_s() - cpu) * 1000)


def processor_s() -> float:
    """Seconds of processor time of this process and of its children that ended."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime


def fresh(archive: str, root: str) -> None:
    """One scan by a new python that loads the probe from the zip as a node gets it (sources, no bytecode)."""
    subprocess.run([sys.executable, "-I", "-c", FRESH, archive, root], check=True, stdout=subprocess.DEVNULL)


def row(name: str, times: list[Took]) -> str:
    wall, cpu = [one.wall for one in times], min(one.cpu for one in times)
    return f"  {name:14} min {min(wall):7.2f}  median {statistics.median(wall):7.2f} ms  (processor {cpu:6.2f} ms)\n"


def measure(name: str, root: str, archive: str, runs: int) -> str:
    """The rows of one tree."""
    works = sections(root)
    times: dict[str, list[Took]] = {section: [] for section in works}
    for _ in range(runs + 1):
        for section, work in works.items():
            times[section].append(timed(work))
    warm = {section: each[1:] for section, each in times.items()}
    rounds = list(zip(*warm.values(), strict=True))
    whole = [Took(sum(one.wall for one in each), sum(one.cpu for one in each)) for each in rounds]
    held = "held" if statistics.median(one.wall for one in whole) <= TARGET_MS[name] else "MISSED"
    lines = [f"{name} ({runs} runs)\n", *(row(section, each) for section, each in warm.items())]
    lines += [row("fabric part", whole), f"  target {TARGET_MS[name]:g} ms for its median: {held}\n"]
    lines += [row("whole scan", [timed(lambda: scan.scan(10, root)) for _ in range(runs)])]
    lines += [row("fresh process", [timed(lambda: fresh(archive, root)) for _ in range(runs)])]
    return "".join(lines)


def processor() -> str:
    """The processor's name as /proc/cpuinfo has it."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.lower().startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def main() -> int:
    """Measure both trees and print machine, versions, command, load and rows."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    present = len(os.listdir("/sys/class/infiniband")) if Path("/sys/class/infiniband").is_dir() else 0  # noqa: PTH208
    load_before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        archive = Path(folder) / "probe.zip"
        archive.write_bytes(probe_zip("scan"))
        rows = measure("this host", "", str(archive), runs)
        rows += measure("8 HCAs, 256 slots", str(server(Path(folder) / "tree")), str(archive), runs)
    sys.stdout.write(
        f"{platform.platform()}, {processor()}, {os.cpu_count()} cores, Python {platform.python_version()}\n"
        f"command   python {' '.join(sys.argv)}\n"
        f"load of the last minute: {load_before:.2f} before, {os.getloadavg()[0]:.2f} after\n"
        f"this host has {present} HCAs; the other tree is recorded: files, no mlx5 driver, whose time is not in it\n"
        f"processor: the least time of it, children included; the rest of a wait is other work on this machine\n"
        f"fresh process: python starts, compiles the probe from its zip and scans once\n{rows}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
