"""The plan of a bench: which shapes, which candidates, how many blocks, in which order, at what cost.

Pure: asks no node, starts nothing. The estimate is a bound printed before anything starts.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

from fabricdoc.model.run import Backend, Candidate, Dtype, Estimate, NotOffered, Op, Plan, Rank, Search, Shape, View

KIB, MIB = 1024, 1024 * 1024
GRID = (8, KIB, 4 * KIB, 8 * KIB, 16 * KIB, 20 * KIB, 32 * KIB, 64 * KIB, MIB, 16 * MIB, 64 * MIB)
NEVER_IN_PLACE = ("all_to_all", "send_recv")
DECIDING_BLOCKS = 6  # a verdict of better or worse needs as many, and a winner as many fresh ones (design rule 4)
CALLS = {  # a gloo call takes about ten times as long as one of NCCL, and its launches are for trying things
    "gloo": {"graph": 50, "eager": 60, "throughput": 10},
    "nccl": {"graph": 50, "eager": 100, "throughput": 20},
}
REPLAYS = 4
WARMUP = 20
BUDGET_BYTES = {"gloo": 64 * MIB, "nccl": 256 * MIB}
LEAST_CALLS = 5
CONFIRMED = 2  # how many winners of the search are launched again in fresh blocks
THROUGHPUT_FROM = MIB
SECONDS_TO_START = {"gloo": 0.8, "nccl": 1.2}  # fork, init, first connection: measured on the lab and on an H200
SECONDS_PER_CALL = {"gloo": 0.5e-3, "nccl": 0.1e-3}
BYTES_PER_SECOND = {"gloo": 0.5e9, "nccl": 2.0e9}
REPETITIONS = {"graph": REPLAYS, "eager": 1, "throughput": 3}
DEADLINE_S = {"gloo": 30.0, "nccl": 60.0}
PROOF_DEADLINE_S = {"gloo": 12.0, "nccl": 60.0}
SOAK_S = {"gloo": 0.5, "nccl": 5.0}  # every shape again and again with every result compared, before a set may win
MEMORY_PER_RANK = {"gloo": 512 * MIB, "nccl": 3584 * MIB}


def views_for(backend: Backend) -> tuple[View, ...]:
    """The views a backend has: CUDA graphs exist only under nccl."""
    return ("graph", "eager", "throughput") if backend == "nccl" else ("eager", "throughput")


def grid_shapes(
    sizes: Iterable[int] = GRID, ops: Sequence[Op] = ("all_reduce",), dtype: Dtype = "bfloat16", in_place: bool = True
) -> tuple[Shape, ...]:
    """The standard grid, or the user's sizes in bytes, for each op, outside any profile."""
    ordered = sorted(set(sizes))
    shapes = (Shape(op=op, size=size, dtype=dtype) for op in dict.fromkeys(ops) for size in ordered)
    return tuple(placed(shape, in_place=in_place) for shape in shapes)


def placed(shape: Shape, *, in_place: bool) -> Shape:
    """The shape in place, or with two buffers; some ops have only that form (as in nccl-tests)."""
    return shape.model_copy(update={"in_place": in_place and shape.op not in NEVER_IN_PLACE})


def merge_shapes(profile: Sequence[Shape], grid: Sequence[Shape]) -> tuple[Shape, ...]:
    """All shapes, each once: a grid shape that the profile has too adds nothing. Order: op, then size."""
    chosen = {(s.op, s.size, s.dtype, s.in_place): s for s in (*grid, *profile)}
    return tuple(chosen[key] for key in sorted(chosen))


def calls_for(backend: Backend, shape: Shape, view: View) -> int:
    """Calls of one shape in one view: cut so that calls x size stays within the byte budget, never under 5."""
    return max(LEAST_CALLS, min(CALLS[backend][view], BUDGET_BYTES[backend] // max(1, shape.size)))


def block_order(candidates: Sequence[Candidate], block: int, seed: int) -> tuple[Candidate, ...]:
    """Every candidate once and base twice, in an order drawn from (seed, block)."""
    base = [candidate for candidate in candidates if candidate.role == "base"]
    order = [*base, *candidates]
    random.Random(f"{seed}/{block}").shuffle(order)
    return tuple(order)


def estimate(
    backend: Backend, candidates: Sequence[Candidate], shapes: Sequence[Shape], blocks: int, ranks_per_node: int
) -> Estimate:
    """Launches of proof, search and the largest confirmation, with seconds, bytes on a link and memory of a node."""
    launches = len(candidates) + blocks * (len(candidates) + 1) + blocks * _confirmed_per_block(candidates)
    per_launch = sum(calls_for(backend, s, v) * s.size for s in shapes for v in _timed(backend, s))
    memory = ranks_per_node * (MEMORY_PER_RANK[backend] + 4 * max((shape.size for shape in shapes), default=0))
    seconds = launches * seconds_per_launch(backend, shapes) + CONFIRMED * SOAK_S[backend]
    return Estimate(
        launches=launches, seconds=round(seconds, 1), bytes_per_link=launches * per_launch, memory_per_node=memory
    )


def _confirmed_per_block(candidates: Sequence[Candidate]) -> int:
    """Base twice and as many winners as can be confirmed; base, default and current are not chosen."""
    winners = min(CONFIRMED, sum(candidate.role == "candidate" for candidate in candidates))
    return 2 + winners if winners else 0


def seconds_per_launch(backend: Backend, shapes: Sequence[Shape]) -> float:
    """What a launch takes on a slow fabric: its start, then every call at an assumed latency and bandwidth."""
    calls = [
        (s.size, calls_for(backend, s, v) * _repetitions(backend, s, v)) for s in shapes for v in _timed(backend, s)
    ]
    sending = sum(count * (SECONDS_PER_CALL[backend] + size / BYTES_PER_SECOND[backend]) for size, count in calls)
    return SECONDS_TO_START[backend] + sending


def _repetitions(backend: Backend, shape: Shape, view: View) -> int:
    """How often the series of a view is repeated; graph replays stay within the byte budget, as on the node."""
    if view != "graph":
        return REPETITIONS[view]
    fit = BUDGET_BYTES[backend] // (max(1, shape.size) * calls_for(backend, shape, view))
    return max(1, min(REPETITIONS[view], fit))


def _timed(backend: Backend, shape: Shape) -> tuple[View, ...]:
    return tuple(v for v in views_for(backend) if v != "throughput" or shape.size >= THROUGHPUT_FROM)


def make_plan(
    *,
    backend: Backend,
    ranks: Sequence[Rank],
    candidates: Sequence[Candidate],
    shapes: Sequence[Shape],
    blocks: int,
    seed: int,
    profile: str,
    objective: str,
    unified_memory: Sequence[str] = (),
    not_offered: Sequence[NotOffered] = (),
    search: Search = "grid",
    budget_s: float | None = None,
) -> Plan:
    """A frozen plan with its estimate."""
    per_node = max((rank.local_rank + 1 for rank in ranks), default=1)
    return Plan.model_validate(
        {
            "backend": backend,
            "ranks": tuple(ranks),
            "candidates": tuple(candidates),
            "shapes": tuple(shapes),
            "views": views_for(backend),
            "blocks": blocks,
            "seed": seed,
            "launch_deadline_s": DEADLINE_S[backend],
            "profile": profile,
            "objective": objective,
            "estimate": estimate(backend, candidates, shapes, blocks, per_node),
            "unified_memory": tuple(unified_memory),
            "not_offered": tuple(not_offered),
            "search": search,
            "budget_s": budget_s,
        }
    )


def work_of(plan: Plan, *, proof: bool) -> dict[str, object]:
    """The WORK of a launch message, as the agent understands it."""
    return {
        "shapes": [_asked(shape) for shape in plan.shapes],
        "views": list(plan.views) if not proof else ["eager"],
        "calls": CALLS[plan.backend],
        "replays": REPLAYS,
        "warmup": WARMUP if not proof else 1,
        "budget_bytes": BUDGET_BYTES[plan.backend],
        "throughput_from": THROUGHPUT_FROM,
        "proof": proof,
    }


def _asked(shape: Shape) -> dict[str, object]:
    """A shape as the node understands it; in place goes without saying."""
    place = {} if shape.in_place else {"in_place": False}
    return {"op": shape.op, "size": shape.size, "dtype": shape.dtype, **place}


def environment_of(plan: Plan, candidate: Candidate, node: str) -> dict[str, str]:
    """What a rank on `node` gets under `candidate`: base's lines first where the set is laid over base."""
    values: dict[str, str] = {}
    base = next((c for c in plan.candidates if c.role == "base"), None)
    if candidate.on_base and base is not None:
        values |= base.variables | base.node_variables.get(node, {})
    return values | candidate.variables | candidate.node_variables.get(node, {})
