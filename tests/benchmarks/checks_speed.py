"""How long the checks take on a fabric of N eight-rail servers, and how much memory, for growing N.

    python tests/benchmarks/checks_speed.py [N...]      (250 500 1000 without)

Each size runs in a process of its own, healthy and with a fault on every node (so that findings are made, too). Prints
wall and CPU seconds of `check_fabric`, the size of the whole process with its fabric, and what the checks themselves
allocated at most. Reads and changes nothing but this process. Run from the root of a checkout.
"""

from __future__ import annotations

import gc
import os
import platform
import resource
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SIZES = (250, 500, 1000)
KINDS = ("healthy", "faulty")


def faulty(nodes: int) -> object:
    """Servers that are all odd in their own way: kernel, firmware, MTU, QoS, PCIe, addresses, clocks, one image."""
    from tests.fabrics.servers import eight_rail_servers

    fabric = eight_rail_servers(nodes)
    spoiled = []
    for number, node in enumerate(fabric.nodes):
        host = node.host.model_copy(update={"kernel": f"6.8.0-{number}", "hostname": "server", "machine_id": "m"})
        netdevs = tuple(
            one.model_copy(update={"mtu": 1500 if number % 2 else one.mtu, "speed_mbps": 100_000 if number % 3 else 1})
            for one in node.netdevs  # type: ignore[union-attr]
        )
        hcas = tuple(one.model_copy(update={"firmware": f"28.{number}"}) for one in node.hcas)  # type: ignore[union-attr]
        facts = {"host": host, "netdevs": netdevs, "hcas": hcas, "clock_offset_s": float(number)}
        spoiled.append(node.model_copy(update=facts))
    return fabric.model_copy(update={"nodes": tuple(spoiled)})


def measure(kind: str, nodes: int) -> str:
    """One row: the fabric is built first and its memory is told apart."""
    from fabricdoc.checks import check_fabric
    from fabricdoc.cli.program import GC_AFTER
    from tests.fabrics.servers import eight_rail_servers

    gc.set_threshold(GC_AFTER)  # as in the command
    build: Callable[[int], object] = faulty if kind == "faulty" else eight_rail_servers
    fabric = build(nodes)
    built = peak_mib()
    wall, cpu = time.perf_counter(), time.process_time()
    findings = check_fabric(fabric)  # type: ignore[arg-type]
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    whole = peak_mib()
    again = build(nodes)
    tracemalloc.start()
    check_fabric(again)  # type: ignore[arg-type]
    own = tracemalloc.get_traced_memory()[1] / (1 << 20)
    return (
        f"{kind:8} {nodes:6} nodes  {wall:6.2f} s wall  {cpu:6.2f} s CPU  {1000 * cpu / nodes:5.2f} ms a node  "
        f"{whole:5.0f} MiB process ({built:.0f} before)  {own:4.0f} MiB of the checks  {len(findings)} findings"
    )


def peak_mib() -> float:
    """The most memory this process ever had, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def reference() -> float:
    """Seconds of a fixed loop: how fast this machine is at this moment (0.3 s or so on an idle 3 GHz core)."""
    began, total = time.perf_counter(), 0
    for number in range(5_000_000):
        total += number
    return time.perf_counter() - began


def main() -> int:
    """Print the table; with KIND N as arguments one row (how this starts itself)."""
    if len(sys.argv) == 3 and sys.argv[1] in KINDS:
        sys.stdout.write(measure(sys.argv[1], int(sys.argv[2])) + "\n")
        return 0
    sizes = [int(text) for text in sys.argv[1:]] or SIZES
    load = os.getloadavg()[0]
    sys.stdout.write(f"{platform.platform()}, {os.cpu_count()} cores, Python {platform.python_version()}\n")
    sys.stdout.write(f"command   python {' '.join(sys.argv)}\n")
    sys.stdout.write(f"reference loop of 5 million additions: {reference():.2f} s; load average {load:.1f}\n")
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    for kind in KINDS:
        for nodes in sizes:
            sys.stdout.flush()
            subprocess.run([sys.executable, __file__, kind, str(nodes)], cwd=ROOT, env=env, check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
