"""The bench worker on a real GPU: every op bit-exact, a turned bit found, a planted slowdown found, torch's share.

    python tests/benchmarks/worker_on_gpu.py ops      every op, dtype and form, graph, eager and throughput: bit-exact?
    python tests/benchmarks/worker_on_gpu.py flip     one bit turned on one rank inside the graph: told, and where?
    python tests/benchmarks/worker_on_gpu.py spin     every call 5 % longer at 20 KiB by a GPU spin: in how many blocks?
    python tests/benchmarks/worker_on_gpu.py layers   torch's calls against NCCL's own, graph and eager, at 8 and 20 KiB

Two nodes in one machine, one GPU through MPS (or one each), one socket rail, base's environment. Prints machine,
versions and every figure. Needs root, a torch with NCCL, an idle NVIDIA GPU. Run from the root of a checkout.
"""

from __future__ import annotations

import argparse
import math
import random
import statistics
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.benchmarks.beside_nccl_tests import Pair, opened, say  # noqa: E402

SIZES = (8, 20480, 65536, 1048576, 4194304)
DTYPES = ("bfloat16", "float16", "float32", "int32")
FORMS = {
    "all_reduce": (True, False),
    "all_gather": (True, False),
    "reduce_scatter": (True, False),
    "broadcast": (True, False),
    "all_to_all": (False,),
    "send_recv": (False,),
}
SLOWER = 0.05
MOST_BLOCKS = 40
VIEWS = ("graph", "eager", "throughput")


def shape(op: str, size: int, dtype: str = "bfloat16", *, in_place: bool = True) -> dict[str, Any]:
    """A shape as the agent takes it."""
    return {"op": op, "size": size, "dtype": dtype, "in_place": in_place}


def ops(pair: Pair) -> None:
    """Every op in every dtype and form at five sizes; a line each with the graph medians."""
    say("\ngraph median in µs, slowest rank; 'exact' = bit-exact in every view, in the graph and after each series")
    say(f"{'':38}" + "".join(f"{size:>10}" for size in SIZES))
    for op, forms in FORMS.items():
        for dtype in DTYPES:
            shapes = [shape(op, size, dtype, in_place=form) for form in forms for size in SIZES]
            cells = pair.cells({"shapes": shapes, "views": list(VIEWS), "calls": {"graph": 20, "eager": 20}})
            for form in forms:
                mine = [cell for cell in cells if cell["in_place"] is form]
                exact = all(cell["correct"] is True for cell in mine) and len(mine) > 0
                graph = {c["size"]: max_median(mine, c["size"]) for c in mine if c["view"] == "graph"}
                row = "".join(f"{graph.get(size, math.nan):>10.1f}" for size in SIZES)
                say(f"{op:15}{dtype:9} {'in place' if form else 'out of':9}{'exact' if exact else 'WRONG'}{row}")


def max_median(cells: list[dict[str, Any]], size: int) -> float:
    """Median over calls of the slowest rank in the graph view."""
    ranks = [cell["samples"] for cell in cells if cell["size"] == size and cell["view"] == "graph"]
    return statistics.median(max(call) for call in zip(*ranks, strict=True))


def flip(pair: Pair) -> None:
    """A bit turned on rank 1 after the seventh call of each graph: who says so."""
    say("\none bit turned on rank 1 after call 7 of every series of 20 KiB: elements found wrong, by view and rank")
    plant = {"flip": {"rank": 1, "call": 7}, "size": 20480}
    for op in ("all_reduce", "all_gather", "reduce_scatter"):
        work = {"shapes": [shape(op, 20480), shape(op, 65536)], "views": ["graph", "eager"], "plant": plant}
        for cell in pair.cells(work):
            say(f"{op:15}{cell['size']:>7} B {cell['view']:6} rank {cell['rank']}: {cell['wrong']} wrong")


def spin(pair: Pair) -> None:
    """Blocks of base, base and base with a spin in every call, until its interval clears the floor."""
    from fabricdoc.bench.statistics import aa_floor, block_interval

    work: dict[str, Any] = {"shapes": [shape("all_reduce", 20480)], "views": ["graph"], "calls": {"graph": 50}}
    start = max_median(pair.cells(work), 20480)
    planted = work | {"plant": {"spin_us": SLOWER * start}}
    say(f"\n20 KiB takes {start:.1f} µs in the graph; planted: a GPU spin of {SLOWER * start:.2f} µs in every call")
    draw, rows = random.Random(20261130), []
    for number in range(1, MOST_BLOCKS + 1):
        order = draw.sample(("base", "base", "planted"), 3)
        times = [(name, max_median(pair.cells(planted if name == "planted" else work), 20480)) for name in order]
        base = [math.log(value) for name, value in times if name == "base"]
        slow = next(math.log(value) for name, value in times if name == "planted")
        rows.append((base, slow))
        say(f"block {number:2}  " + "  ".join(f"{name} {value:6.1f}" for name, value in times))
        if number < 6:
            continue
        interval = block_interval([[one - slow for one in base] for base, slow in rows])
        floor = aa_floor([base[0] - base[1] for base, _ in rows])
        if interval.high < 1 / (1 + floor):
            say(f"found after {number} blocks: {interval.ratio:.3f} [{interval.low:.3f}, {interval.high:.3f}]")
            say(f"A/A floor {floor:.3f}, interval by {interval.method}")
            return
    say(f"NOT found in {MOST_BLOCKS} blocks")


def layers(pair: Pair) -> None:
    """Ten interleaved launches of each path: medians at 8 and 20 KiB."""
    found: dict[tuple[str, str, int], list[float]] = {}
    for _ in range(10):
        for path in ("torch", "direct"):
            work = {
                "shapes": [shape("all_reduce", s) for s in (8192, 20480)],
                "views": ["graph", "eager"],
                "path": path,
            }
            for cell in pair.cells(work):
                if cell["rank"] == 0:
                    found.setdefault((path, cell["view"], cell["size"]), []).append(statistics.median(cell["samples"]))
                    if cell["replays"]:
                        bare = found.setdefault((path, "bare", cell["size"]), [])
                        bare.append(statistics.median(cell["replays"]))
    say("\nµs per all_reduce on rank 0, median of 10 launches (graph: per call; bare: replay without events / calls)")
    for (path, view, size), values in sorted(found.items()):
        say(f"{path:7}{view:6}{size:>7} B {statistics.median(values):8.1f}   {min(values):.1f} to {max(values):.1f}")


def main() -> int:
    """Run some parts."""
    parts = {"ops": ops, "flip": flip, "spin": spin, "layers": layers}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=sorted(parts), nargs="+")
    words = parser.parse_args()
    with ExitStack() as stack:
        pair = opened(stack, argparse.Namespace(perf=Path(), mpiexec=Path(), launches=0))
        for part in words.part:
            parts[part](pair)
    return 0


if __name__ == "__main__":
    sys.exit(main())
