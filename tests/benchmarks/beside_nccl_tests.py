"""fabricdoc's bench beside nccl-tests: does it measure the same thing, and is a launch as quick?

    python tests/benchmarks/beside_nccl_tests.py agree      --perf FILE --mpiexec FILE [--launches 50]
    python tests/benchmarks/beside_nccl_tests.py turnaround --perf FILE --mpiexec FILE [--launches 8]

Two nodes in one machine, one GPU through MPS (or one each), one socket rail, the same environment and the same
libnccl for both. FILE is an all_reduce_perf of nccl-tests built with MPI, and the mpiexec (MPICH's hydra: its ranks
talk to it through inherited pipes, so they may live in other network namespaces) of the MPI it was built with.

agree: interleaved launches in random order. Like for like is the mean per call of a replay of 100 captured
in-place calls without an event after each, slowest rank: `-n 100 -w 20 -G 1 -a 3 -c 0`, in-place column, against a
cell's `replay_us`. Prints every launch, the geometric mean of the ratio over the sizes with its 95 % interval over
pairs of neighbours, and what the events behind the graph view's per-call times add.

turnaround: wall time of a launch of 12 sizes up to 1 MiB with 200 per-call samples in the graph and 100 eager, against
nccl-tests started by a loop for the same sizes, views and counts (-G 1 -n 200, then -n 100 -I 1).
Needs root, a torch with NCCL, an idle NVIDIA GPU. Run from the root of a checkout.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

AGREE = tuple(1024 << power for power in range(7))
TURNAROUND = tuple(512 << power for power in range(12))
SWEEP = ("-b", "512", "-e", "1M", "-f", "2")
PERF_WORDS = ("-g", "1", "-d", "bfloat16", "-w", "20", "-a", "3", "-c", "0")
LAUNCH_DEADLINE_S = 60


def say(text: str = "") -> None:
    """One line of the record."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


@dataclass
class Pair:
    """Two nodes under one environment, ready for launches of either tool."""

    agents: Any
    order: Any
    places: list[dict[str, Any]]
    perf: Path
    mpiexec: Path
    made: int = 0
    last: Any = None

    def ours(self, sizes: Sequence[int], views: Sequence[str], calls: Mapping[str, int]) -> tuple[float, list[Any]]:
        """One launch of the bench: wall seconds, and the raw cell events of both ranks."""
        shapes = [{"op": "all_reduce", "size": size, "dtype": "bfloat16"} for size in sizes]
        began = time.monotonic()
        cells = self.cells({"shapes": shapes, "views": list(views), "calls": dict(calls)})
        return time.monotonic() - began, cells

    def cells(self, work: Mapping[str, Any]) -> list[Any]:
        """The raw cell events of one launch of the bench with this work laid over the plan's."""
        one = replace(self.order, number=self.order.number + self.made, work=dict(self.order.work) | dict(work))
        self.made += 1
        self.last = outcome = self.agents.launch(one)
        bad = {rank: end.reason for rank, end in outcome.ends.items() if end.status != "ok"}
        if bad or outcome.lost:
            raise SystemExit(f"a launch failed: {bad or outcome.lost}")
        return outcome.cells

    def theirs(self, words: Sequence[str]) -> tuple[float, dict[int, float]]:
        """One launch of nccl-tests: wall seconds, and the in-place times in µs by size."""
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(self.places, file)
            file.flush()
            inner = [sys.executable, "-I", __file__, "rank", file.name, str(self.perf), *PERF_WORDS, *words]
            command = [str(self.mpiexec), "-n", "2", *inner]
            began = time.monotonic()
            done = subprocess.run(command, capture_output=True, text=True, timeout=LAUNCH_DEADLINE_S, check=False)
        took = time.monotonic() - began
        times = in_place(done.stdout)
        if done.returncode or not times:
            raise SystemExit(f"nccl-tests ended with {done.returncode}: {done.stdout[-1500:]}{done.stderr[-1500:]}")
        return took, times


def in_place(text: str) -> dict[int, float]:
    """The in-place time column of nccl-tests' table: size, count, type, redop, root, 4 out-of-place, 4 in-place."""
    rows = [line.split() for line in text.splitlines() if line.strip()[:1].isdigit()]
    return {int(row[0]): float(row[9]) for row in rows if len(row) >= 13}


def become_rank() -> None:
    """Enter the node's network, take its environment, and be the program."""
    _, _, file, *command = sys.argv
    place = json.loads(Path(file).read_text(encoding="utf-8"))[int(os.environ["PMI_RANK"])]
    with Path(place["netns"]).open("rb") as namespace:
        os.setns(namespace.fileno(), os.CLONE_NEWNET)  # type: ignore[attr-defined]
    os.environ.update(place["env"])
    os.execv(command[0], command)


def opened(stack: ExitStack, words: argparse.Namespace) -> Pair:
    """Nodes, agents, and the environment of base for both tools."""
    from fabricdoc.bench.launch import Place, order_for
    from fabricdoc.demo.gpu import share_gpus
    from fabricdoc.lab import LabSpec, open_lab
    from fabricdoc.transport import NodeSpec
    from fabricdoc.workflow import Request, look, opened_agents, prepare

    share = share_gpus(stack, 2)
    lab = stack.enter_context(open_lab(LabSpec()))
    specs = [
        NodeSpec(name=n.name, target=n.target, ports=n.ports, env=share.environment(i)) for i, n in enumerate(lab.nodes)
    ]
    request = Request(specs=specs, backend="nccl", sizes=AGREE)
    fabric = look(specs, lambda _: None)
    agents = stack.enter_context(opened_agents(request, fabric, lambda _: None))
    prepared = prepare(request, fabric, agents)
    plan = prepared.run.plan
    base = next(c for c in plan.candidates if c.role == "base")
    order = order_for(plan, base, Place(1, "search", 1, 0), prepared.master)
    quiet = {
        name: {k: v for k, v in env.items() if not k.startswith("NCCL_DEBUG")}
        for name, env in order.environment.items()
    }
    order = replace(order, environment=quiet)
    places = [_place(n, quiet[n.name] | share.environment(i)) for i, n in enumerate(lab.nodes)]
    header(prepared.run, words)
    return Pair(agents, order, places, words.perf, words.mpiexec)


def _place(node: Any, environment: Mapping[str, str]) -> dict[str, Any]:
    own = {"NCCL_HOSTID": node.name, "NCCL_TESTS_DEVICE": "0"}
    return {"netns": f"/proc/{node.target.split(':')[1]}/ns/net", "env": dict(environment) | own}


def header(run: Any, words: argparse.Namespace) -> None:
    """Date, command, machine, versions."""
    say(f"date      {datetime.now(UTC):%Y-%m-%d %H:%M} UTC")
    own = [*sys.argv[:2], "--launches", str(words.launches)] if words.launches else sys.argv
    say(f"command   python {' '.join(own)}")
    node = run.nodes[0]
    say(f"machine   {', '.join(node.gpus)}, {os.cpu_count()} cores, {platform.machine()}, kernel {node.kernel}")
    say(f"versions  torch {node.torch}, NCCL {node.nccl}, driver {node.nvidia_driver}")
    say("lab       two namespaces, one veth rail, sockets; the GPU shared through MPS where there is one")


def times_of(cells: Sequence[Any], key: str) -> dict[int, float]:
    """Mean per call by size, the slowest rank's: of bare replays ("replays") or of per-call times ("samples")."""
    ranks: dict[int, list[float]] = {}
    for cell in cells:
        ranks.setdefault(int(cell["size"]), []).append(statistics.fmean(cell[key]))
    return {size: max(means) for size, means in ranks.items()}


def agree(pair: Pair, launches: int) -> None:
    """Interleave launches of both, print them all, and the ratio with its interval."""
    from fabricdoc.bench import paired_interval

    draw = random.Random(20261130)
    rows: dict[str, list[dict[int, float]]] = {"ours": [], "theirs": [], "events": []}
    say("\nµs per in-place all_reduce (bf16), mean over a replay of 100 captured calls, slowest rank")
    say("  no tool        s " + "".join(f"{size:>9}" for size in AGREE))
    for number in range(launches):
        for tool in draw.sample(("ours", "theirs"), 2):
            if tool == "ours":
                took, cells = pair.ours(AGREE, ("graph",), {"graph": 100})
                times = times_of(cells, "replays")
                rows["events"].append(times_of(cells, "samples"))
            else:
                took, times = pair.theirs(("-b", "1K", "-e", "64K", "-f", "2", "-n", "100", "-G", "1"))
            rows[tool].append(times)
            name = "fabricdoc" if tool == "ours" else "nccl-tests"
            say(f"{number + 1:4} {name:10} {took:4.1f} " + "".join(f"{times[size]:>9.1f}" for size in AGREE))
    say("\nadded by an event after each call, µs (median over launches)")
    added = {
        s: statistics.median(a[s] - b[s] for a, b in zip(rows["events"], rows["ours"], strict=True)) for s in AGREE
    }
    say(f"{'':21}" + "".join(f"{value:>9.1f}" for value in added.values()))
    logs = {
        size: [math.log(b[size] / a[size]) for a, b in zip(rows["ours"], rows["theirs"], strict=True)] for size in AGREE
    }
    say("\nnccl-tests / fabricdoc, geometric mean over pairs of neighbours, 95 % interval")
    for size, values in logs.items():
        one = paired_interval(values)
        say(f"    {size:>9} B  {one.ratio:.3f} [{one.low:.3f}, {one.high:.3f}]  {one.blocks} pairs")
    whole = paired_interval([statistics.fmean(pair_) for pair_ in zip(*logs.values(), strict=True)])
    say(f"    1-64 KiB     {whole.ratio:.3f} [{whole.low:.3f}, {whole.high:.3f}]  {whole.blocks} pairs")
    right = whole.low <= 1 <= whole.high and whole.high <= 1.05 * whole.ratio and whole.low >= whole.ratio / 1.05
    say(f"contains 1 and is no wider than 5 % to either side: {'yes' if right else 'NO'}")


def turnaround(pair: Pair, launches: int) -> None:
    """Wall time of whole launches, interleaved."""
    seconds: dict[str, list[float]] = {"fabricdoc": [], "nccl-tests": []}
    say("\nwall seconds of 12 sizes 512 B to 1 MiB, 200 graph and 100 eager samples each (nccl-tests measures out of")
    say("place beside in place, which no option ends, and gives one mean where fabricdoc keeps every call)")
    for number in range(launches):
        took, cells = pair.ours(TURNAROUND, ("graph", "eager"), {"graph": 50, "eager": 100})
        counts = sorted({(cell["view"], len(cell["samples"])) for cell in cells})
        graph = pair.theirs((*SWEEP, "-n", "200", "-G", "1"))[0]
        eager = pair.theirs((*SWEEP, "-n", "100", "-I", "1"))[0]
        seconds["fabricdoc"].append(took)
        seconds["nccl-tests"].append(graph + eager)
        say(f"{number + 1:4} fabricdoc {took:5.2f}   nccl-tests {graph:5.2f} + {eager:5.2f}   samples {counts}")
    for name, values in seconds.items():
        say(f"{name:10} median {statistics.median(values):.2f} s, {min(values):.2f} to {max(values):.2f}")


def main() -> int:
    """Run one part."""
    if sys.argv[1:2] == ["rank"]:
        become_rank()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=["agree", "turnaround"])
    parser.add_argument("--perf", type=Path, required=True)
    parser.add_argument("--mpiexec", type=Path, required=True)
    parser.add_argument("--launches", type=int, default=50)
    words = parser.parse_args()
    with ExitStack() as stack:
        pair = opened(stack, words)
        (agree if words.part == "agree" else turnaround)(pair, words.launches)
    return 0


if __name__ == "__main__":
    sys.exit(main())
