"""One launch of a run: from a candidate to a stored `Launch` record with status, cells and proof.

Says what happened (ok, failed, timeout, incorrect) and why; whether a candidate is better is not said here.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from fabricdoc.bench.agents import Agents
from fabricdoc.bench.arms import launch_limit
from fabricdoc.bench.memory import memory_limits
from fabricdoc.bench.order import LaunchOrder
from fabricdoc.bench.outcome import Outcome, RankEnd
from fabricdoc.bench.plan import PROOF_DEADLINE_S, environment_of, work_of
from fabricdoc.bench.samples import cells_of, wrong_of
from fabricdoc.bench.states import state_of
from fabricdoc.errors import NodeError
from fabricdoc.model.documents import Unknown, utc_now
from fabricdoc.model.run import Candidate, Launch, Plan, Proof, Stack
from fabricdoc.nccl import merge_proofs, path_problem, read_proof

TAIL_LINES = 12
HELD = ("T", "t", "D")
ORDER = {"died": 0, "garbage": 1, "failed": 2, "timeout": 3, "stopped": 4}
LOG_LEVEL = {"NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "INIT,BOOTSTRAP,ENV,NET"}
PROOF_LEVEL = {"NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "INIT,BOOTSTRAP,ENV,NET,GRAPH,TUNING"}


@dataclass(frozen=True)
class Place:
    """Where a launch stands in the run."""

    number: int
    round: str
    block: int
    position: int


def order_for(
    plan: Plan, candidate: Candidate, place: Place, master: str, extra: Mapping[str, Any] | None = None
) -> LaunchOrder:
    """The launch order: NCCL's log is asked for at INIT level, with TUNING only in the proof round.

    `extra` is laid over the plan's work: "soak_s", or what a test plants (see probes/worker).
    """
    more = dict(extra or {})
    proof = place.round == "proof"
    names = list(dict.fromkeys(rank.node for rank in plan.ranks))
    logging = {} if plan.backend != "nccl" else PROOF_LEVEL if proof else LOG_LEVEL
    return LaunchOrder(
        number=place.number,
        backend=plan.backend,
        world=len(plan.ranks),
        ranks={n: [{"rank": r.rank, "local_rank": r.local_rank} for r in plan.ranks if r.node == n] for n in names},
        environment={n: logging | environment_of(plan, candidate, n) for n in names},
        work=work_of(plan, proof=proof) | more,
        deadline_s=_deadline_s(plan, proof=proof) + float(more.get("soak_s", 0)),
        master=master,
        memory={n: memory_limits(plan, unified=n in plan.unified_memory) for n in names},
    )


def _deadline_s(plan: Plan, *, proof: bool) -> float:
    return launch_limit(plan.deadlines_s, PROOF_DEADLINE_S[plan.backend]) if proof else plan.launch_deadline_s


def run_launch(
    agents: Agents,
    plan: Plan,
    candidate: Candidate,
    place: Place,
    master: str,
    extra: Mapping[str, Any] | None = None,
) -> tuple[Launch, Outcome]:
    """Launch once and describe what happened. Lost agents are replaced before this returns."""
    started, began = utc_now(), time.monotonic()
    order = order_for(plan, candidate, place, master, extra)
    outcome = _launched_afresh(agents, order) if candidate.fresh_agent else agents.launch(order)
    seconds = time.monotonic() - began
    if outcome.lost and not candidate.fresh_agent:
        outcome.left |= agents.restart()
    return describe(plan, candidate, place, outcome, started, seconds, order), outcome


def _launched_afresh(agents: Agents, order: LaunchOrder) -> Outcome:
    """A launch by agents that have its environment themselves; one that does not start fails this launch alone."""
    outcome = Outcome()
    try:
        agents.restart(order.environment)
        outcome = agents.launch(order)
    except NodeError as gone:
        node = next((name for name in order.ranks if gone.message.startswith(f"{name}: ")), min(order.ranks))
        outcome.lost[node] = gone.message.removeprefix(f"{node}: ")
    outcome.left |= agents.restart()
    return outcome


def describe(
    plan: Plan, candidate: Candidate, place: Place, outcome: Outcome, started: str, seconds: float, order: LaunchOrder
) -> Launch:
    """The record of one launch. A forced IB that ran over sockets is `failed`, whatever its speed."""
    cells = cells_of(outcome.cells, len(plan.ranks), outcome.skews, outcome.directs)
    proof = proof_of(plan, outcome)
    status, rank, end = first_trouble(outcome)
    reason = end.reason
    wanted = next(iter(order.environment.values()), {}).get("NCCL_NET")
    if status == "ok" and proof is not None and (problem := path_problem(proof, wanted)):
        status, reason = "failed", problem
    if status == "ok" and (wrong := wrong_of([*outcome.cells, *by_itself(outcome), *soaked(outcome)])):
        status, reason = "incorrect", f"results were not bit-exact: {wrong}"
    return Launch.model_validate(
        {
            "number": place.number,
            "round": place.round,
            "block": place.block,
            "position": place.position,
            "candidate": candidate.name,
            "status": status,
            "seconds": round(seconds, 3),
            "started": started,
            "phase": end.phase,
            "rank": rank,
            "reason": reason + left_alive(outcome),
            "log_tail": tuple(end.log.splitlines()[-TAIL_LINES:]) if status != "ok" else (),
            "cells": cells,
            "proof": proof,
            "timings_s": end.timings_s,
            "stacks": stacks_of(outcome),
            "states": tuple(state_of(name, said, outcome.pids) for name, said in sorted(outcome.states.items())),
        }
    )


def soaked(outcome: Outcome) -> list[dict[str, Any]]:
    """The soak of each shape on each rank as a cell event without samples."""
    return [{**soak, "view": "soak", "correct": soak.get("wrong") == 0} for soak in outcome.soaks]


def by_itself(outcome: Outcome) -> list[dict[str, Any]]:
    """NCCL's own calls of each shape on each rank as a cell event, under a view of their own."""
    return [{**one, "view": "direct", "correct": one.get("wrong") == 0} for one in outcome.directs]


def stacks_of(outcome: Outcome) -> tuple[Stack, ...]:
    """Where each rank stood that was asked for it, in rank order."""
    return tuple(Stack(rank=rank, lines=end.stack) for rank, end in sorted(outcome.ends.items()) if end.stack)


def left_alive(outcome: Outcome) -> str:
    """What to say of processes of ours that even SIGKILL did not end; "" where there are none."""
    left = [f"{node}: process {', '.join(map(str, pids))}" for node, pids in sorted(outcome.left.items())]
    return f"; still alive after SIGKILL, on {'; '.join(left)}" if left else ""


def first_trouble(outcome: Outcome) -> tuple[str, int | None, RankEnd]:
    """Status, rank and end of what went wrong first: a lost agent, a rank's own failure, then those stopped for it.

    Of ranks that were overdue together, one that was held (stopped, traced or in the kernel) held up the others.
    """
    if outcome.lost:
        node, why = next(iter(outcome.lost.items()))
        return "failed", None, RankEnd("failed", _last_phase(outcome), f"{node}: {why}")
    bad = sorted((ORDER.get(end.status, 2), rank) for rank, end in outcome.ends.items() if end.status != "ok")
    if not bad:
        return "ok", None, next(iter(outcome.ends.values()), RankEnd("ok"))
    rank = bad[0][1]
    end = outcome.ends[rank]
    return ("failed", rank, end) if end.status != "timeout" else ("timeout", *_held_up(outcome, rank))


def _held_up(outcome: Outcome, overdue: int) -> tuple[int, RankEnd]:
    """The rank that held up the others, where one was held; else the first that was overdue.

    Nodes notice at almost the same time: a held rank may have been ended for another's limit, and says so then.
    """
    held = [rank for rank, end in sorted(outcome.ends.items()) if end.state in HELD]
    if not held or overdue in held:
        return overdue, outcome.ends[overdue]
    end = outcome.ends[held[0]]
    why = end.reason if end.status == "timeout" else f"{outcome.ends[overdue].reason}; {end.reason}"
    return held[0], replace(end, reason=why)


def _last_phase(outcome: Outcome) -> str:
    return next(reversed(outcome.phases.values()), "start") if outcome.phases else "start"


def proof_of(plan: Plan, outcome: Outcome) -> Proof | None:
    """NCCL's own log of every rank, merged; for gloo nothing in a log shows the path, and the proof says so."""
    if plan.backend == "nccl":
        logs = [outcome.ends[rank].log for rank in sorted(outcome.ends) if outcome.ends[rank].log]
        return merge_proofs([read_proof(log) for log in logs]) if logs else None
    unknown = Unknown(unknown="gloo writes no log of its path")
    return Proof(grade="none", version=unknown, network=unknown, gpu_direct=unknown)
