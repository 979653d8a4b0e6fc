"""A whole bench: proof round, blocks, confirmation; every launch stored before the next one starts.

The decision which candidates go on to confirmation is handed in (`contenders`), so that measuring and judging
stay apart. Ctrl-C and failures keep what was measured.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from fabricdoc.bench.agents import Agents, Outcome
from fabricdoc.bench.launch import Place, run_launch
from fabricdoc.bench.plan import block_order
from fabricdoc.bench.samples import samples_of
from fabricdoc.errors import StoreError
from fabricdoc.model.run import Candidate, Launch, Plan, Run
from fabricdoc.store import RunStore, SampleKey, rescue

Progress = Callable[[str], None]
Contenders = Callable[[Run], Sequence[str]]
Ended = Literal["complete", "interrupted", "failed"]
DROP_AFTER_FAILURES = 1


@dataclass
class Bench:
    """The moving parts of one run."""

    agents: Agents
    store: RunStore
    run: Run
    master: str
    progress: Progress
    rescue_folders: Sequence[Path]
    budget_s: float | None = None
    launches: list[Launch] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)
    cut_short: str = ""

    @property
    def plan(self) -> Plan:
        """The plan of this run."""
        return self.run.plan

    def so_far(self) -> Run:
        """The run with the launches made until now."""
        return self.run.model_copy(update={"launches": tuple(self.launches)})

    def over_budget(self) -> bool:
        """True once the time budget is spent (checked between blocks)."""
        return self.budget_s is not None and time.monotonic() - self.began > self.budget_s

    def launch(self, candidate: Candidate, round_: str, block: int, position: int) -> Launch:
        """One launch, stored before this returns."""
        place = Place(len(self.launches) + 1, round_, block, position)
        launch, outcome = run_launch(self.agents, self.plan, candidate, place, self.master)
        self.launches.append(launch)
        self._keep(launch, outcome)
        return launch

    def _keep(self, launch: Launch, outcome: Outcome) -> None:
        samples = samples_of(outcome.cells)
        try:
            self.store.append_launch(self.run.id, launch, samples)
        except StoreError as error:
            kept = self._rescued(launch, samples)
            raise StoreError(f"{error.message}; {kept}", fix=error.fix, id=error.id) from error

    def _rescued(self, launch: Launch, samples: Mapping[SampleKey, Sequence[float]]) -> str:
        """Where the launch that the store refused is kept now: in the first folder that takes it."""
        reasons = []
        for folder in self.rescue_folders:
            try:
                return f"this launch is kept in {rescue(self.run.id, launch, samples, folder).absolute()}"
            except StoreError as error:
                reasons.append(error.message)
        return "; ".join(reasons)

    def block(self, candidates: Sequence[Candidate], round_: str, block: int, total: int) -> None:
        """Every live candidate once and base twice, in this block's random order."""
        live = [candidate for candidate in candidates if candidate.name not in self.dropped()]
        order = block_order(live, block, self.plan.seed)
        for position, candidate in enumerate(order):
            self.progress(f"{round_} block {block}/{total}: {candidate.name} ({position + 1}/{len(order)})")
            self.launch(candidate, round_, block, position)

    def dropped(self) -> set[str]:
        """Candidates that failed: they are not launched again; base never is dropped."""
        names = [x.candidate for x in self.launches if x.status in ("failed", "timeout", "incorrect")]
        base = {candidate.name for candidate in self.plan.candidates if candidate.role == "base"}
        return {name for name in names if names.count(name) >= DROP_AFTER_FAILURES} - base


def run_bench(bench: Bench, contenders: Contenders) -> Run:
    """Measure the whole plan and return the complete run. KeyboardInterrupt and errors are stored, then go on up."""
    bench.store.begin(bench.run)
    status: Ended = "failed"
    reason = ""
    try:
        _measure(bench, contenders)
        status, reason = "complete", bench.cut_short
    except KeyboardInterrupt:
        status, reason = "interrupted", "stopped by the user; work so far is kept"
        raise
    except Exception as error:
        reason = str(error)
        raise
    finally:
        _finish(bench, status, reason)
    return bench.store.load(bench.run.id)


def _finish(bench: Bench, status: Ended, reason: str) -> None:
    try:
        bench.store.finish(bench.run.id, status, reason)
    except StoreError:
        if status == "complete":
            raise


def _measure(bench: Bench, contenders: Contenders) -> None:
    for position, candidate in enumerate(bench.plan.candidates):
        bench.progress(f"proof {position + 1}/{len(bench.plan.candidates)}: {candidate.name}")
        bench.launch(candidate, "proof", 0, position)
    if "base" in {x.candidate for x in bench.launches if x.status != "ok"}:
        return
    for block in _blocks(bench):
        bench.block(bench.plan.candidates, "search", block, bench.plan.blocks)
    winners = set() if bench.over_budget() else set(contenders(bench.so_far()))
    again = [candidate for candidate in bench.plan.candidates if candidate.role == "base" or candidate.name in winners]
    if len(again) > 1:
        for block in _blocks(bench):
            bench.block(again, "confirm", bench.plan.blocks + block, 2 * bench.plan.blocks)


def _blocks(bench: Bench) -> Iterator[int]:
    for block in range(1, bench.plan.blocks + 1):
        if bench.over_budget():
            bench.cut_short = f"the time budget of {bench.budget_s:.0f} s was spent after block {block - 1}"
            bench.progress(f"{bench.cut_short}: no further block")
            return
        yield block
