"""A bench without nodes: every launch takes what a script says, and a kill can come at any place."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fabricdoc.bench import run as running
from fabricdoc.bench.launch import Place
from fabricdoc.bench.outcome import Outcome
from fabricdoc.bench.plan import make_plan
from fabricdoc.model.run import Candidate, Cell, Launch, NodeContext, Plan, Rank, Run, Shape
from fabricdoc.serving import load_profile
from fabricdoc.store import RunStore
from fabricdoc.tuning import judge, pruning_for, standings

PROFILE = load_profile("dense-small-tp2")
SIZES = {("all_reduce", 20480): 80.0, ("all_reduce", 2621440): 3000.0, ("all_gather", 64000): 60.0}
BASE = Candidate(name="base", role="base", variables={"NCCL_SOCKET_IFNAME": "eth0"})


class Killed(BaseException):
    """The process is no more: nothing after this runs in it."""


def candidates(count: int) -> tuple[Candidate, ...]:
    """Base and so many candidates, each of a variable of its own."""
    return (BASE, *(Candidate(name=f"c{n}", variables={f"V{n}": "1"}) for n in range(count)))


def plan_of(chosen: Sequence[Candidate], *, search: str = "grid", blocks: int = 6, budget: float | None = None) -> Plan:
    """A plan of two ranks on two nodes."""
    ranks = [Rank(rank=index, node=name, local_rank=0) for index, name in enumerate(("alpha", "beta"))]
    plan = make_plan(
        backend="gloo", ranks=ranks, candidates=chosen, blocks=blocks, seed=5, profile="dense-small-tp2",
        objective="decode", shapes=[Shape(op=op, size=size) for op, size in SIZES],  # type: ignore[arg-type]
    )  # fmt: skip
    return plan.model_copy(update={"search": search, "budget_s": budget})


def run_of(plan: Plan, run_id: str = "run-1") -> Run:
    """A run that is about to start."""
    nodes = [NodeContext(name=name, target=f"netns:{name}", hostname=name, kernel="6.1", torch="2.13", nccl="2.28.9",
                         nvidia_driver="580") for name in ("alpha", "beta")]  # fmt: skip
    return Run(id=run_id, plan=plan, nodes=tuple(nodes))


def timed(noise: float = 0.02, gains: dict[str, float] | None = None) -> Callable[[Candidate, Place], float]:
    """What a launch takes beside base's usual time (a factor), drawn from its place alone."""

    def factor(candidate: Candidate, place: Place) -> float:
        gain = math.prod((gains or {}).get(name, 1.0) for name in candidate.name.split("+"))
        chance = random.Random(f"{candidate.name}/{place.round}/{place.block}/{place.position}")
        return math.exp(chance.gauss(0.0, noise)) / gain

    return factor


class Script:
    """Stands for the agents: `place` by `place` a launch, until `kill_at` launches were made (None: never).

    `stored`: the kill comes after the launch is in the store, else before. `change` may alter a launch.
    """

    def __init__(
        self,
        factor: Callable[[Candidate, Place], float],
        kill_at: int | None = None,
        change: Callable[[Launch], Launch] = lambda launch: launch,
    ) -> None:
        self.factor, self.kill_at, self.change, self.made = factor, kill_at, change, 0
        self.soaked: list[tuple[str, str, int]] = []

    def run_launch(
        self,
        _agents: object,
        _plan: Plan,
        candidate: Candidate,
        place: Place,
        _master: str,
        extra: Mapping[str, Any] | None = None,
    ) -> tuple[Launch, Outcome]:
        """As fabricdoc.bench.launch.run_launch."""
        if self.kill_at is not None and self.made >= self.kill_at:
            raise Killed
        self.made += 1
        if extra:
            self.soaked.append((candidate.name, place.round, place.block))
        factor = self.factor(candidate, place)
        cells = tuple(
            Cell(view="eager", op=op, size=size, dtype="bfloat16", calls=9, median_us=us * factor, p95_us=us, p99_us=us,
                 max_us=us, correct=True)  # type: ignore[arg-type]
            for (op, size), us in SIZES.items()
        )  # fmt: skip
        launch = Launch(
            number=place.number, round=place.round, block=place.block, position=place.position,  # type: ignore[arg-type]
            candidate=candidate.name, status="ok", seconds=1.0, started="2026-11-29T10:00:00Z", cells=cells,
        )  # fmt: skip
        return self.change(launch), Outcome()


def contenders(so_far: Run) -> Sequence[str]:
    """As the workflow hands it in."""
    better = [(one.score.ratio, one.name) for one in judge(so_far, PROFILE, "decode").candidates
              if one.verdict == "better" and one.score is not None]  # fmt: skip
    return [name for _, name in sorted(better, reverse=True)][:2]


def sit(monkeypatch, path: Path, run: Run, script: Script, *, resume: bool = False) -> Run | None:  # type: ignore[no-untyped-def]
    """One sitting of a run with a store of its own; None when it was killed (its lock goes, its run is not ended)."""
    monkeypatch.setattr(running, "run_launch", script.run_launch)
    store = RunStore.open(path, write=True)
    bench = running.Bench(None, store, run, "", lambda _: None, ())  # type: ignore[arg-type]
    try:
        return running.run_bench(
            bench, contenders, lambda so_far: standings(so_far, PROFILE, "decode"),
            pruning=pruning_for(PROFILE, "decode"), resume=resume,
        )  # fmt: skip
    except Killed:
        return None
    finally:
        store.close()


def places(launches: Iterable[Launch]) -> list[tuple[int, str, str, int, int]]:
    """What each launch was, in order."""
    return [(one.number, one.candidate, one.round, one.block, one.position) for one in launches]
