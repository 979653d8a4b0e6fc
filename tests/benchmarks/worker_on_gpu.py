"""The bench worker on a real GPU: every op bit-exact, a turned bit found, a planted slowdown found, torch's share.

    python tests/benchmarks/worker_on_gpu.py ops      every op, dtype and form, graph, eager and throughput: bit-exact?
    python tests/benchmarks/worker_on_gpu.py flip     one bit turned on one rank inside the graph: told, and where?
    python tests/benchmarks/worker_on_gpu.py spin     every call 5 % longer at 20 KiB by a GPU spin: in how many blocks?
    python tests/benchmarks/worker_on_gpu.py layers   torch's calls against NCCL's own, graph and eager, at 8 and 20 KiB
    python tests/benchmarks/worker_on_gpu.py arms     gates, a product between calls, both paths in one launch

Two nodes in one machine, one GPU through MPS (or one each), one socket rail, base's environment. Prints machine,
versions and every figure. Needs root, a torch with NCCL, an idle NVIDIA GPU. Run from the root of a checkout.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import statistics
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from fabricdoc.bench.statistics import aa_floor, block_interval, blocks_needed, deviation  # noqa: E402
from fabricdoc.model.verdict import Interval  # noqa: E402
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
LEAST_BLOCKS, MOST_BLOCKS = 40, 200
DECIDING_BLOCKS = 6
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
    return view_median(cells, "graph", size)


def view_median(cells: list[dict[str, Any]], view: str, size: int) -> float:
    """Median over calls of the slowest rank."""
    ranks = [cell["samples"] for cell in cells if cell["size"] == size and cell["view"] == view]
    return statistics.median(max(call) for call in zip(*ranks, strict=True))


def flip(pair: Pair) -> None:
    """A bit turned on rank 1 after the seventh call of each graph: who says so."""
    say("\none bit turned on rank 1 after call 7 of every series of 20 KiB: elements found wrong, by view and rank")
    plant = {"flip": {"rank": 1, "call": 7}, "size": 20480}
    for op in ("all_reduce", "all_gather", "reduce_scatter"):
        work = {"shapes": [shape(op, 20480), shape(op, 65536)], "views": ["graph", "eager"], "plant": plant}
        for cell in pair.cells(work):
            say(f"{op:15}{cell['size']:>7} B {cell['view']:6} rank {cell['rank']}: {cell['wrong']} wrong")


class Planted(NamedTuple):
    """Blocks of base, base and base with a spin in every call: µs of the first, the spin, and per block (base, base,
    slow) as logarithms."""

    start_us: float
    spin_us: float
    blocks: list[tuple[float, float, float]]

    @classmethod
    def read(cls, path: Path | None) -> Planted | None:
        """What an earlier call left."""
        if path is None or not path.exists():
            return None
        start, spin_us, blocks = json.loads(path.read_text(encoding="utf-8"))
        return cls(start, spin_us, [tuple(block) for block in blocks])

    def keep(self, path: Path | None) -> None:
        """Write beside, then rename: a kill leaves the file as it was."""
        if path is not None:
            draft = path.with_suffix(".part")
            draft.write_text(json.dumps(self), encoding="utf-8")
            draft.rename(path)

    def found(self) -> Interval | None:
        """The interval once it clears the A/A floor with six blocks or more."""
        if len(self.blocks) < DECIDING_BLOCKS:
            return None
        interval = block_interval([[first - slow, second - slow] for first, second, slow in self.blocks])
        return interval if interval.high < 1 / (1 + self.floor()) else None

    def floor(self) -> float:
        """What base shows against itself, as a ratio minus 1."""
        return aa_floor([first - second for first, second, _ in self.blocks])

    def needed(self) -> int | None:
        """Blocks that the noise so far calls for; None where it can't be said yet, or 999 would not do."""
        spread = deviation([(first + second) / 2 - slow for first, second, slow in self.blocks])
        base = deviation([first - second for first, second, _ in self.blocks])
        return blocks_needed(spread, base, SLOWER) if math.isfinite(spread) else None


def spin(pair: Pair, path: Path | None = None, until: float = math.inf) -> bool:
    """Blocks until the planted 5 % is found, as many as its own noise calls for; whether this came to its end.

    With `path` every block is kept there, and a later call goes on with them.
    """
    work: dict[str, Any] = {"shapes": [shape("all_reduce", 20480)], "views": ["graph"], "calls": {"graph": 50}}
    start = max_median(pair.cells(work), 20480)
    so_far = Planted.read(path) or Planted(start, SLOWER * start, [])
    planted = work | {"plant": {"spin_us": so_far.spin_us}}
    say(f"\n20 KiB takes {so_far.start_us:.1f} µs in the graph; planted: a GPU spin of {so_far.spin_us:.2f} µs a call")
    for number in range(len(so_far.blocks) + 1, MOST_BLOCKS + 1):
        if time.monotonic() > until:
            needed = so_far.needed() or "nobody knows how many"
            say(f"{len(so_far.blocks)} blocks are there, {needed} needed: call again")
            return False
        order = random.Random(f"spin/{number}").sample(("base", "base", "planted"), 3)
        times = [(name, max_median(pair.cells(planted if name == "planted" else work), 20480)) for name in order]
        first, second = (math.log(value) for name, value in times if name == "base")
        slow = next(math.log(value) for name, value in times if name == "planted")
        so_far.blocks.append((first, second, slow))
        so_far.keep(path)
        told = f"; {so_far.needed()} blocks needed by the noise so far" if number % 5 == 0 else ""
        say(f"block {number:2}  " + "  ".join(f"{name} {value:6.1f}" for name, value in times) + told)
        if interval := so_far.found():
            say(f"found after {number} blocks: {interval.ratio:.3f} [{interval.low:.3f}, {interval.high:.3f}]")
            say(f"A/A floor {so_far.floor():.3f}, interval by {interval.method}")
            return True
        if number >= 2 * (so_far.needed() or MOST_BLOCKS) and number >= LEAST_BLOCKS:
            break
    say(f"NOT found in {len(so_far.blocks)} blocks, twice what its noise calls for, or as many as are tried")
    return True


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


def arms(pair: Pair) -> None:
    """One launch with gates, one with a product between calls, one with both paths: what they give and add."""
    shapes = [shape("all_reduce", size) for size in (8, 8192, 20480)]
    extra = {
        "plain": {},
        "skew": {"skew": True},
        "gemm": {"gemm": {"m": 8, "n": 8192, "k": 8192}},
        "both": {"path": "both"},
    }
    say("\nµs per all_reduce of the slowest rank, graph and eager medians; a product of 8x8192x8192 before each call")
    for name, more in extra.items():
        cells = pair.cells({"shapes": shapes, "views": ["graph", "eager"], "calls": {"graph": 50, "eager": 50}, **more})
        exact = all(cell["correct"] is True for cell in cells)
        medians = [(view, one["size"], view_median(cells, view, one["size"])) for view in VIEWS[:2] for one in shapes]
        row = "  ".join(f"{view} {size} B {value:.1f}" for view, size, value in medians)
        say(f"{name:6} {'exact' if exact else 'WRONG'}  {row}")
        for event in (*pair.last.skews, *pair.last.directs):
            told = (
                f"waited {statistics.median(event['waits']):.1f} µs, behind gates" if "waits" in event else "directly"
            )
            value = statistics.median(event.get("gated") or event["samples"])
            say(f"       rank {event['rank']} {event['view']} {event['size']} B {told} {value:.1f} µs")


def main() -> int:
    """Run some parts."""
    parts: dict[str, Callable[[Pair], object]] = {
        "ops": ops,
        "flip": flip,
        "spin": spin,
        "layers": layers,
        "arms": arms,
    }
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
