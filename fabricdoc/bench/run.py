"""A whole bench: the course's launches made one by one, every one stored before the next one starts.

What the measurements mean is handed in (`contenders`, `rank`), so that measuring and judging stay apart. Ctrl-C and
failures keep what was measured; a run that ended early is taken up again by going through the launches it has.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Literal

from fabricdoc.bench.agents import Agents
from fabricdoc.bench.budget import Purse
from fabricdoc.bench.cost import SOAK_S, launch_seconds
from fabricdoc.bench.course import Contenders, Course, Rank, Step
from fabricdoc.bench.disturbance import break_in_block, disturbance
from fabricdoc.bench.launch import Place, run_launch
from fabricdoc.bench.outcome import Outcome
from fabricdoc.bench.plan import block_order
from fabricdoc.bench.resume import refuse_other_course
from fabricdoc.bench.samples import samples_of
from fabricdoc.errors import StoreError
from fabricdoc.model.pruning import Pruning
from fabricdoc.model.run import Candidate, Launch, Plan, Round, Run
from fabricdoc.nccl import ll128_forced
from fabricdoc.store import RunStore, SampleKey, rescue

Progress = Callable[[str], None]
Ended = Literal["complete", "interrupted", "failed"]


@dataclass
class Bench:
    """The moving parts of one run. `earlier` are launches of an earlier sitting that the course has yet to pass."""

    agents: Agents
    store: RunStore
    run: Run
    master: str
    progress: Progress
    rescue_folders: Sequence[Path]
    budget_s: float | None = None
    launches: list[Launch] = field(default_factory=list)
    began: float = field(default_factory=lambda: time.monotonic())
    cut_short: str = ""
    earlier: list[Launch] = field(default_factory=list)
    spent_before: float = 0.0

    @property
    def plan(self) -> Plan:
        """The plan of this run."""
        return self.run.plan

    def so_far(self) -> Run:
        """The run with the launches made until now."""
        return self.run.model_copy(update={"launches": tuple(self.launches)})

    def purse(self) -> Purse:
        """What is left of the time: the user's limit, what all sittings spent, and what a launch takes here."""
        limit = self.budget_s if self.budget_s is not None else self.plan.budget_s
        timed = [x.seconds for x in self.launches if x.round != "proof" and x.status == "ok"]
        usual = median(timed) if timed else launch_seconds(self.plan)
        return Purse(limit, self.spent_before + time.monotonic() - self.began, usual)

    def affords(self, round_: Round, block: int, launches: int, reserve: int) -> bool:
        """Whether that block may start: as it was decided then for one of an earlier sitting, else by the purse."""
        if self.earlier:
            return (self.earlier[0].round, self.earlier[0].block) == (round_, block)
        return self.purse().holds(launches, reserve)

    def launch(self, candidate: Candidate, round_: Round, block: int, position: int) -> Launch:
        """One launch, stored before this returns."""
        place = Place(len(self.launches) + 1, round_, block, position)
        standstill = self._standstill(place)
        extra = {"soak_s": SOAK_S[self.plan.backend]} if self.soak_due(candidate, round_) else None
        launch, outcome = run_launch(self.agents, self.plan, candidate, place, self.master, extra)
        launch = self._allowed(candidate, launch)
        disturbed = launch.disturbed or standstill or disturbance(launch, self.launches)
        if disturbed:
            launch = launch.model_copy(update={"disturbed": disturbed})
            self.progress(f"block {block} will be left out: {disturbed}")
        self._keep(launch, outcome)
        self.launches.append(launch)
        return launch

    def soak_due(self, candidate: Candidate, round_: Round) -> bool:
        """Whether this launch goes on for a while with every result compared: the first of a set that may win.

        Base's own first launch in a block is soaked too where CPU and GPU share memory over C2C: NCCL turns LL128 on
        there by itself (2.27 and later), and its own link test was wrong on such paths before (nccl PR 2053).
        """
        first = not any(one.candidate == candidate.name and one.round == round_ for one in self.launches)
        suspect = candidate.role == "base" and round_ == "search" and bool(self.plan.unified_memory)
        return first and (suspect or (round_ == "confirm" and candidate.role == "candidate"))

    def _allowed(self, candidate: Candidate, launch: Launch) -> Launch:
        """The launch as it counts: one that ran with LL128 where NCCL's own table for base has it off is failed."""
        base = next((one.proof for one in self.launches if one.candidate == "base" and one.proof), None)
        if launch.status != "ok" or candidate.role == "base" or launch.proof is None:
            return launch
        forced = ll128_forced(launch.proof, base)
        return launch.model_copy(update={"status": "failed", "reason": forced}) if forced else launch

    def _standstill(self, place: Place) -> str:
        """Why a block that an earlier sitting began can't be ended by this one."""
        last = self.launches[-1] if self.launches else None
        if last is None or place.round == "proof" or (last.round, last.block) != (place.round, place.block):
            return ""
        return break_in_block(last, datetime.now(UTC))

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

    def block(self, candidates: Sequence[Candidate], round_: Round, block: int, total: int) -> None:
        """Every candidate once and base twice, in this block's random order."""
        order = block_order(candidates, block, self.plan.seed)
        for position, candidate in enumerate(order):
            self.progress(f"{round_} block {block}/{total}: {candidate.name} ({position + 1}/{len(order)})")
            self.launch(candidate, round_, block, position)

    def plan_for(self, candidate: Candidate) -> None:
        """Have a candidate that the search made in the stored plan before its first launch."""
        if candidate in self.plan.candidates:
            return
        plan = self.plan.model_copy(update={"candidates": (*self.plan.candidates, candidate)})
        self.run = self.run.model_copy(update={"plan": plan})
        self.store.rewrite(self.run)


def run_bench(
    bench: Bench,
    contenders: Contenders,
    rank: Rank | None = None,
    *,
    pruning: Pruning | None = None,
    resume: bool = False,
) -> Run:
    """Measure the whole plan and return the run. KeyboardInterrupt and errors are stored, then go on up.

    `rank` is needed for an adaptive search; `pruning` makes the drop-one round after the confirmation. With `resume`,
    the run of `bench` is one that the store has and that ended early: its launches are gone through, and the first one
    it lacks is the next to be made. Raises StoreError when
    another process writes that run, InputError when its launches are not those of its plan.
    """
    if resume:
        _take_up(bench)
    else:
        bench.store.begin(bench.run)
    status: Ended = "failed"
    reason = ""
    try:
        _measure(bench, contenders, rank, pruning)
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


def _take_up(bench: Bench) -> None:
    run = bench.store.resume(bench.run.id)
    bench.earlier = list(run.launches)
    bench.spent_before = sum(launch.seconds for launch in run.launches)
    bench.run = run.model_copy(update={"launches": ()})


def _finish(bench: Bench, status: Ended, reason: str) -> None:
    try:
        bench.store.finish(bench.run.id, status, reason)
    except StoreError:
        if status == "complete":
            raise


def _measure(bench: Bench, contenders: Contenders, rank: Rank | None, pruning: Pruning | None = None) -> None:
    course = Course(bench.run, bench.affords, contenders, rank, pruning, launches=bench.launches)
    for step in course.steps():
        if bench.earlier:
            refuse_other_course(bench.earlier[0], *_named(step))
            bench.launches.append(bench.earlier.pop(0))
            continue
        bench.plan_for(step.candidate)
        bench.progress(_where(step, bench))
        bench.launch(*step)
    if bench.earlier:
        refuse_other_course(bench.earlier[0], "nothing", "", 0, 0)
    if course.cut:
        bench.cut_short = f"the time budget of {bench.purse().limit or 0.0:.0f} s left no room for {course.cut}"
        bench.progress(bench.cut_short)


def _named(step: Step) -> tuple[str, Round, int, int]:
    return step.candidate.name, step.round, step.block, step.position


def _where(step: Step, bench: Bench) -> str:
    """Where the run is, in one line."""
    if step.round == "proof":
        return f"proof {step.position + 1}/{max(len(bench.plan.candidates), step.position + 1)}: {step.candidate.name}"
    total = {"search": bench.plan.blocks, "confirm": 2 * bench.plan.blocks}.get(step.round, 0)
    of = f"/{max(total, step.block)}" if total and bench.plan.search == "grid" else ""
    return f"{step.round} block {step.block}{of}: {step.candidate.name} (place {step.position + 1})"
