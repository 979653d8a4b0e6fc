"""What a bench costs: calls of each shape, launches, seconds, bytes on a link and memory of a node.

A bound printed before anything starts; arithmetic on counts and on what launches took where they were measured.
"""

from __future__ import annotations

from collections.abc import Sequence

from fabricdoc.bench.arms import PLAIN, Arms, arms_of
from fabricdoc.model.run import Backend, Candidate, Estimate, Plan, Shape, View

MIB = 1024 * 1024
CALLS = {  # a gloo call takes about ten times as long as one of NCCL, and its launches are for trying things
    "gloo": {"graph": 50, "eager": 60, "throughput": 10},
    "nccl": {"graph": 50, "eager": 100, "throughput": 20},
}
REPLAYS = 4
BUDGET_BYTES = {"gloo": 64 * MIB, "nccl": 256 * MIB}
LEAST_CALLS = 5
CONFIRMED = 2  # how many winners of the search are launched again in fresh blocks
THROUGHPUT_FROM = MIB
SECONDS_TO_START = {"gloo": 0.8, "nccl": 1.2}  # fork, init, first connection: measured on the lab and on an H200
SECONDS_PER_CALL = {"gloo": 0.5e-3, "nccl": 0.1e-3}
BYTES_PER_SECOND = {"gloo": 0.5e9, "nccl": 2.0e9}
REPETITIONS = {"graph": REPLAYS, "eager": 1, "throughput": 3}
SOAK_S = {"gloo": 0.5, "nccl": 5.0}  # every shape again and again with every result compared, before a set may win
MEMORY_PER_RANK = {"gloo": 512 * MIB, "nccl": 3584 * MIB}


def views_for(backend: Backend) -> tuple[View, ...]:
    """The views a backend has: CUDA graphs exist only under nccl."""
    return ("graph", "eager", "throughput") if backend == "nccl" else ("eager", "throughput")


def calls_for(backend: Backend, shape: Shape, view: View) -> int:
    """Calls of one shape in one view: cut so that calls x size stays within the byte budget, never under 5."""
    return max(LEAST_CALLS, min(CALLS[backend][view], BUDGET_BYTES[backend] // max(1, shape.size)))


def estimate(
    backend: Backend,
    candidates: Sequence[Candidate],
    shapes: Sequence[Shape],
    blocks: int,
    ranks_per_node: int,
    arms: Arms = PLAIN,
) -> Estimate:
    """Launches of proof, search and the largest confirmation, with seconds, bytes on a link and memory of a node."""
    launches = len(candidates) + blocks * (len(candidates) + 1) + blocks * _confirmed_per_block(candidates)
    per_launch = sum(calls_for(backend, s, v) * s.size * arms.calls(v) for s in shapes for v in _timed(backend, s))
    buffers = 4 * max((shape.size for shape in shapes), default=0) + arms.memory()
    memory = ranks_per_node * (MEMORY_PER_RANK[backend] + buffers)
    seconds = launches * seconds_per_launch(backend, shapes, arms) + CONFIRMED * SOAK_S[backend]
    return Estimate(
        launches=launches, seconds=round(seconds, 1), bytes_per_link=launches * per_launch, memory_per_node=memory
    )


def _confirmed_per_block(candidates: Sequence[Candidate]) -> int:
    """Base twice and as many winners as can be confirmed; base, default and current are not chosen."""
    winners = min(CONFIRMED, sum(candidate.role == "candidate" for candidate in candidates))
    return 2 + winners if winners else 0


def launch_seconds(plan: Plan) -> float:
    """What one launch of the plan takes on a slow fabric."""
    return seconds_per_launch(plan.backend, plan.shapes, arms_of(plan))


def seconds_per_launch(backend: Backend, shapes: Sequence[Shape], arms: Arms = PLAIN) -> float:
    """What a launch takes on a slow fabric: its start, then every call at an assumed latency and bandwidth."""
    return SECONDS_TO_START[backend] + sum(_series_s(backend, s, v, arms) for s in shapes for v in _timed(backend, s))


def _series_s(backend: Backend, shape: Shape, view: View, arms: Arms) -> float:
    """Seconds of all calls of one shape in one view, with what its arms add."""
    count = calls_for(backend, shape, view) * _repetitions(backend, shape, view)
    each = SECONDS_PER_CALL[backend] + shape.size / BYTES_PER_SECOND[backend]
    return count * (each * arms.calls(view) + arms.product_s(backend, view))


def _repetitions(backend: Backend, shape: Shape, view: View) -> int:
    """How often the series of a view is repeated; graph replays stay within the byte budget, as on the node."""
    if view != "graph":
        return REPETITIONS[view]
    fit = BUDGET_BYTES[backend] // (max(1, shape.size) * calls_for(backend, shape, view))
    return max(1, min(REPETITIONS[view], fit))


def _timed(backend: Backend, shape: Shape) -> tuple[View, ...]:
    return tuple(v for v in views_for(backend) if v != "throughput" or shape.size >= THROUGHPUT_FROM)
