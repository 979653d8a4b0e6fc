"""Runs resampled from the launches that benchmarks printed: base as it really was, with its blocks, drift and tails.

A recorded file has two launches of base in every block. A resampled run walks through the recorded blocks in their
order (from a random one on, round and round), so that drift and what neighbouring blocks share stay. Each of its
launches is either the block's level with a recorded difference of two base launches of one block laid over it
("differences": symmetric, all sizes together), or one of the launches recorded near that block ("launches": skew and
outliers as they were). Reads tests/benchmarks/results; launches nothing.
"""

from __future__ import annotations

import math
import random
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from fabricdoc.bench.plan import block_order, make_plan
from fabricdoc.model.run import Candidate, Cell, Launch, NodeContext, Plan, Rank, Run

RESULTS = Path(__file__).with_name("results")
FILES = ("gpu_main_job-decode-and-fresh.txt", "gpu_main_job-mix.txt", "gpu_main_job-rails.txt")
PROFILE = str(Path(__file__).with_name("layer_all_reduces.toml"))
ROW = re.compile(r"\s*\d+ (?P<round>search|confirm) +(?P<block>\d+) base +[\d.]+(?P<cells>(?: +[\d.]+| +-)+)$")
HEAD = re.compile(r"\s*no round +blk candidate +s(?P<sizes>(?: +\d+)+)$")
NEAR = 3  # blocks before and after from which a launch is drawn
BASE = Candidate(name="base", role="base")

Vector = Mapping[int, float]
"""Natural logarithm of µs by size in bytes."""


class Recorded(NamedTuple):
    """One recorded run: base's two launches of every block, in order."""

    name: str
    blocks: tuple[tuple[Vector, Vector], ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes that every launch has."""
        return tuple(sorted(set.intersection(*(set(one) for pair in self.blocks for one in pair))))


def recorded(folder: Path = RESULTS) -> tuple[Recorded, ...]:
    """Every recorded run of the files, in order; a file that holds two (tune, then fresh) gives two."""
    found: list[Recorded] = []
    for name in FILES:
        sizes: list[int] = []
        rows: dict[tuple[str, int], list[Vector]] = defaultdict(list)
        for line in [*(folder / name).read_text(encoding="utf-8").splitlines(), "no round   blk candidate s 0"]:
            if head := HEAD.match(line):
                pairs = tuple((two[0], two[1]) for two in rows.values() if len(two) == 2)
                if pairs:
                    found.append(Recorded(f"{name} ({len(found) + 1})", pairs))
                sizes, rows = [int(size) for size in head["sizes"].split()], defaultdict(list)
            elif row := ROW.match(line):
                cells = zip(sizes, row["cells"].split(), strict=True)
                times = {size: math.log(float(value)) for size, value in cells if value != "-"}
                rows[row["round"], int(row["block"])].append(times)
    return tuple(found)


def _level(pair: tuple[Vector, Vector], sizes: Sequence[int]) -> dict[int, float]:
    return {size: (pair[0][size] + pair[1][size]) / 2.0 for size in sizes}


class Resampler:
    """Makes runs of one recorded run. `kind` is "differences" or "launches" (see the module header)."""

    def __init__(self, source: Recorded, kind: str, seed: int) -> None:
        self.source, self.kind, self.chance = source, kind, random.Random(f"{source.name}/{kind}/{seed}")
        self.sizes = source.sizes

    def run(self, candidates: int, blocks: int, effects: Mapping[str, float] | None = None) -> Run:
        """A run of base and `candidates` others (c0, c1, ...), searched and confirmed in `blocks` each.

        `effects` are true ratios base / candidate by name; without, every candidate is base in disguise.
        """
        plan = plan_of(candidates, blocks, self.chance.getrandbits(31), self.sizes)
        first = self.chance.randrange(len(self.source.blocks))
        launches: list[Launch] = []
        for number in range(1, 2 * blocks + 1):
            place = (first + number) % len(self.source.blocks)
            for position, one in enumerate(block_order(plan.candidates, number, plan.seed)):
                gain = math.log((effects or {}).get(one.name, 1.0))
                times = {size: value - gain for size, value in self._launch(place).items()}
                launches.append(launch_of(one.name, number, position, times, number > blocks, len(launches) + 1))
        return run_of(plan, launches)

    def _launch(self, place: int) -> Vector:
        blocks = self.source.blocks
        if self.kind == "launches":
            near = blocks[(place + self.chance.randint(-NEAR, NEAR)) % len(blocks)]
            return {size: near[self.chance.randrange(2)][size] for size in self.sizes}
        first, second = self.chance.choice(blocks)
        side = self.chance.choice((-1.0, 1.0)) / math.sqrt(2.0)
        level = _level(blocks[place], self.sizes)
        return {size: level[size] + side * (first[size] - second[size]) for size in self.sizes}


def plan_of(candidates: int, blocks: int, seed: int, sizes: Sequence[int]) -> Plan:
    """A plan of base and so many candidates."""
    names = tuple(Candidate(name=f"c{n}", variables={f"V{n}": "1"}) for n in range(candidates))
    ranks = [Rank(rank=index, node=name, local_rank=0) for index, name in enumerate(("alpha", "beta"))]
    return make_plan(
        backend="nccl", ranks=ranks, candidates=(BASE, *names), shapes=(), blocks=blocks, seed=seed, profile=PROFILE,
        objective="mix",
    )  # fmt: skip


def launch_of(name: str, block: int, position: int, times: Vector, again: bool, number: int) -> Launch:
    """A launch with one graph cell per size; built without validation, since thousands are made."""
    cells = tuple(
        Cell.model_construct(
            view="graph", op="all_reduce", size=size, dtype="bfloat16", in_place=True, calls=50,
            median_us=math.exp(value), p95_us=0.0, p99_us=0.0, max_us=0.0, correct=True,
        )
        for size, value in times.items()
    )  # fmt: skip
    return Launch.model_construct(
        number=number, round="confirm" if again else "search", block=block, position=position, candidate=name,
        status="ok", seconds=2.2, started="2026-11-29T16:45:00Z", cells=cells, proof=None, disturbed="",
    )  # fmt: skip


def run_of(plan: Plan, launches: Sequence[Launch]) -> Run:
    """A complete run of these launches."""
    nodes = [NodeContext(name=name, target=f"netns:{name}", hostname="lab", kernel="6.18", torch="2.11", nccl="2.28.9",
                         nvidia_driver="580") for name in ("alpha", "beta")]  # fmt: skip
    whole = Run(id="resampled", status="complete", plan=plan, nodes=tuple(nodes))
    return whole.model_copy(update={"launches": tuple(launches)})
