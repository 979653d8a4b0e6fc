"""From a prepared bench to a measured run with its verdict and preset: start the agents, run the plan, judge it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from fabricdoc.bench import CONFIRMED, Agents, Bench, run_bench
from fabricdoc.errors import StoppedError, StoreError
from fabricdoc.model.fabric import Fabric
from fabricdoc.model.run import Objective, Run
from fabricdoc.model.verdict import Verdict
from fabricdoc.store import RunStore, default_path
from fabricdoc.workflow.judging import Judge
from fabricdoc.workflow.planning import Prepared, refuse_incomplete
from fabricdoc.workflow.readiness import obstacles
from fabricdoc.workflow.recommending import Recommended, recommend
from fabricdoc.workflow.requests import Request, check_request
from fabricdoc.workflow.watching import Tell, Watch

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Measured:
    """A finished run with what was concluded from it; `rails` are the verdicts for decode and for prefill alone,
    where single rails were weighed against all of them."""

    run: Run
    recommended: Recommended
    rails: tuple[Verdict, ...] = ()


def opened_agents(request: Request, fabric: Fabric, progress: Progress) -> Agents:
    """Bench agents for every node of the fabric (enter it to start them); refuses a fabric with nothing to measure."""
    refuse_incomplete(request, fabric)
    check_request(request)
    progress("starting the bench agents (importing torch)")
    return Agents(request.specs)


def unready(request: Request, fabric: Fabric, prepared: Prepared) -> tuple[str, ...]:
    """Why `measure` would refuse to start now, as sentences; empty where it would start."""
    return tuple(
        f"not to be started now: {error.message}; {error.fix}"
        for error in obstacles(prepared.run.plan, fabric, request.specs)
    )


def measure(
    request: Request,
    fabric: Fabric,
    agents: Agents,
    prepared: Prepared,
    store: RunStore,
    progress: Progress,
    *,
    tell: Tell | None = None,
    every_launch: bool = True,
) -> Measured:
    """Run the plan, then judge it and build the preset; all three documents are stored under the run's id.

    `progress` gets a line for every launch (or, without `every_launch`, for every block), `tell` every event. Raises
    NodeError, before anything is started, where memory is short or a GPU is in use.
    """
    for obstacle in obstacles(prepared.run.plan, fabric, request.specs):
        raise obstacle
    judge = judge_of(request, prepared)
    watch = Watch(prepared.run, progress, judge.verdict, tell, every_launch=every_launch)
    bench = Bench(
        agents=agents,
        store=store,
        run=prepared.run,
        master=prepared.master,
        progress=watch,
        rescue_folders=rescue_folders(store),
        budget_s=request.budget_s,
    )

    watch.follow(bench.so_far)

    def contenders(so_far: Run) -> Sequence[str]:
        eligible = {c.name for c in so_far.plan.candidates if c.role == "candidate"}
        ranked = best_first(judge.verdict(so_far))
        return [name for name in ranked if name in eligible][:CONFIRMED]

    try:
        run = run_bench(bench, contenders, judge.standings, pruning=judge.pruning(), resume=prepared.resumes)
    except KeyboardInterrupt:
        raise _stopped(bench) from None
    watch.finish()
    store.save_document(run.id, "fabric", fabric.model_dump_json())
    recommended = recommend(
        store, run.id, objective=request.objective, presets=request.presets, step=request.step, weights=request.weights
    )
    return Measured(run, recommended, _rails_judged(run, judge) if request.weighs_rails else ())


def rescue_folders(store: RunStore) -> tuple[Path, ...]:
    """Where a launch goes that the store refuses: beside it, to the user's state, to /tmp; never the working folder."""
    beside = store.path.absolute().parent
    try:
        state = default_path().parent
    except StoreError:  # a user without any home
        state = beside
    kept = (beside if beside.is_dir() else state, state, Path(tempfile.gettempdir()))
    return tuple(dict.fromkeys(kept))


def _rails_judged(run: Run, judge: Judge) -> tuple[Verdict, ...]:
    """The same launches judged for decode and for prefill: a second port may help one and not the other."""
    phases: tuple[Objective, ...] = ("decode", "prefill")
    return tuple(judge.verdict(run, phase) for phase in phases)


def judge_of(request: Request, prepared: Prepared) -> Judge:
    """How a run of this request is judged."""
    return Judge(prepared.profile, request.objective, request.profile, request.weights)


def _stopped(bench: Bench) -> StoppedError:
    """Ctrl-C after the run was begun: what is kept, and how to look at it."""
    kept = len(bench.launches)
    if not kept:
        return StoppedError("stopped before the first launch was measured")
    where = bench.store.words
    return StoppedError(
        f"stopped; {kept} launch{'' if kept == 1 else 'es'} measured so far {'is' if kept == 1 else 'are'} kept",
        fix=f"go on with them: fabricdoc bench --resume {bench.run.id}{where}",
    )


def best_first(verdict: Verdict) -> list[str]:
    """The better candidates of a verdict, the largest gain on the score first."""
    better = [(c.score.ratio, c.name) for c in verdict.candidates if c.verdict == "better" and c.score is not None]
    return [name for _, name in sorted(better, reverse=True)]
