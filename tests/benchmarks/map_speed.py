"""How long the cable map of N eight-rail servers takes here, from what their ports heard to the drawing.

    python tests/benchmarks/map_speed.py [N...] [--most SECONDS]      (64 256 1024 without; 5 s at most for the last)

Each rail is one switch; a port names as many senders as a beacon report keeps (64). Stages: hearings to links, traits,
rails, selectors, the checks that use links, the drawing, and (told apart) both graphs. The nodes' documents are built
first and not timed, as they come from a scan. Exits 1 above the most. Changes nothing but this process.
"""

from __future__ import annotations

import io
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

ROOT = Path(__file__).resolve().parents[2]
SIZES = (64, 256, 1024)
MOST_S = 5.0
HEARD = 64
LINK_CHECKS = (
    "crossed", "device_order", "foreign_ports", "hca_sets", "link_addresses", "link_pairs", "mtu", "rail_subnets",
    "rings", "cages",
)  # fmt: skip
T = TypeVar("T")


def hearings(fabric: object) -> Iterator[object]:
    """Every port hears the 32 before and the 32 after it on its rail, as a report with 64 senders keeps them."""
    from fabricdoc.fabric.heard import Hearing

    nodes = fabric.nodes  # type: ignore[attr-defined]
    for rail in range(8):
        ports = [(node.name, node.hcas[rail].ports[0].netdev) for node in nodes]
        for at, port in enumerate(ports):
            steps = range(1, min(HEARD // 2, (len(ports) - 1) // 2) + 1)
            for step in steps:
                for other in (at + step, at - step):
                    yield Hearing(port, ports[other % len(ports)], 6)


class Clock:
    """Stages with the seconds each took, by the clock and of this process's CPU time."""

    def __init__(self) -> None:
        self.stages: dict[str, float] = {}
        self.cpu: dict[str, float] = {}

    def timed(self, stage: str, work: Callable[[], T]) -> T:
        """The answer of `work`, its time kept under `stage`."""
        began, cpu = time.perf_counter(), time.process_time()
        answer = work()
        self.stages[stage] = time.perf_counter() - began
        self.cpu[stage] = time.process_time() - cpu
        return answer


def measure(count: int) -> tuple[Clock, str]:
    """The map of `count` servers, timed by stage, with a line on what came out."""
    import gc
    from importlib import import_module

    from fabricdoc.cli.program import GC_AFTER
    from fabricdoc.fabric.cabling import links_from
    from fabricdoc.fabric.heard import Heard
    from fabricdoc.fabric.rails import rails_of
    from fabricdoc.fabric.selecting import selected
    from fabricdoc.fabric.traits import traced
    from fabricdoc.report import Screen, graph_text
    from tests.fabrics.servers import eight_rail_servers

    gc.set_threshold(GC_AFTER)  # as in the command
    built = eight_rail_servers(count)
    heard = Heard(hearings=list(hearings(built)))  # type: ignore[arg-type]
    checks = [getattr(import_module(f"fabricdoc.checks.{name}"), f"check_{name}") for name in LINK_CHECKS]
    clock = Clock()
    links = clock.timed("links", lambda: links_from(heard, built.nodes))
    fabric = clock.timed("traits", lambda: traced(built.model_copy(update={"links": links})))
    rails = clock.timed("rails", lambda: rails_of(fabric))
    fabric = clock.timed("selectors", lambda: selected(fabric))
    found = clock.timed("checks", lambda: [finding for check in checks for finding in check(fabric)])
    text = clock.timed("drawing", lambda: drawn(Screen, fabric))
    graphs = {form: clock.timed(form, lambda form=form: graph_text(fabric, form)) for form in ("dot", "mermaid")}  # type: ignore[misc]
    lengths = ", ".join(f"{form} {len(graph):,} characters" for form, graph in graphs.items())
    return clock, (
        f"{len(heard.hearings):,} hearings, {len(links):,} links, {len(rails)} rails, {len(found)} findings, "
        f"{len(text.splitlines())} lines drawn, {lengths}, {peak_mib():.0f} MiB process"
    )


def drawn(screen: Callable[..., object], fabric: object) -> str:
    """What `fabricdoc cables` prints."""
    out = io.StringIO()
    shown = screen(out, io.StringIO(), {"COLUMNS": "80"})
    shown.show(fabric, "links")  # type: ignore[attr-defined]
    shown.close()  # type: ignore[attr-defined]
    return out.getvalue()


def peak_mib() -> float:
    """The most memory this process ever had, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def one(count: int, most_s: float) -> int:
    """Print the row of one size; 1 where the map took longer than `most_s`."""
    clock, told = measure(count)
    graphs = {"dot", "mermaid"}
    total = sum(seconds for stage, seconds in clock.stages.items() if stage not in graphs)
    stages = "  ".join(f"{stage} {seconds:.2f}" for stage, seconds in clock.cpu.items() if stage not in graphs)
    apart = "  ".join(f"{stage} {clock.cpu[stage]:.2f}" for stage in sorted(graphs))
    cpu = sum(seconds for stage, seconds in clock.cpu.items() if stage not in graphs)
    sys.stdout.write(f"{count:5} nodes  {total:6.2f} s wall  {cpu:6.2f} s CPU: {stages}   apart: {apart}\n")
    sys.stdout.write(f"             {told}\n")
    return 0 if total <= most_s else 1


def reference() -> float:
    """Seconds of a fixed loop: how fast this machine is at this moment (0.3 s or so on an idle 3 GHz core)."""
    began, total = time.perf_counter(), 0
    for number in range(5_000_000):
        total += number
    return time.perf_counter() - began


def main() -> int:
    """Print the table, each size in a process of its own (started as `one N SECONDS`)."""
    words = sys.argv[1:]
    if words[:1] == ["one"]:
        return one(int(words[1]), float(words[2]))
    most = MOST_S
    if "--most" in words:
        at = words.index("--most")
        most, words = float(words[at + 1]), words[:at] + words[at + 2 :]
    sizes = [int(word) for word in words] or SIZES
    load = os.getloadavg()[0]
    import pydantic

    versions = f"Python {platform.python_version()}, pydantic {pydantic.VERSION}"
    sys.stdout.write(f"{platform.platform()}, {os.cpu_count()} cores, {versions}\n")
    sys.stdout.write(f"command   python {' '.join(sys.argv)}\n")
    sys.stdout.write(f"reference loop of 5 million additions: {reference():.2f} s; load average {load:.1f}\n")
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    status = 0
    for count in sizes:
        sys.stdout.flush()
        done = subprocess.run(
            [sys.executable, __file__, "one", str(count), str(most)], cwd=ROOT, env=env, check=False, timeout=600
        )
        status = status or done.returncode
    return status


if __name__ == "__main__":
    sys.exit(main())
