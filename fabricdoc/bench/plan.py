"""The plan of a bench: which shapes, which candidates, how many blocks, in which order, and what a worker is told.

Pure: asks no node, starts nothing. What it costs is `cost`'s.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence

from fabricdoc.bench.arms import PLAIN, Arms, arms_of, launch_limit, phase_limits
from fabricdoc.bench.cost import BUDGET_BYTES, CALLS, REPLAYS, THROUGHPUT_FROM, estimate, views_for
from fabricdoc.model.run import Backend, Candidate, Dtype, NotOffered, Op, Plan, Rank, Search, Shape

KIB, MIB = 1024, 1024 * 1024
GRID = (8, KIB, 4 * KIB, 8 * KIB, 16 * KIB, 20 * KIB, 32 * KIB, 64 * KIB, MIB, 16 * MIB, 64 * MIB)
NEVER_IN_PLACE = ("all_to_all", "send_recv")
DECIDING_BLOCKS = 6  # a verdict of better or worse needs as many, and a winner as many fresh ones (design rule 4)
WARMUP = 20
DEADLINE_S = {"gloo": 30.0, "nccl": 60.0}
PROOF_DEADLINE_S = {"gloo": 12.0, "nccl": 60.0}


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


def block_order(candidates: Sequence[Candidate], block: int, seed: int) -> tuple[Candidate, ...]:
    """Every candidate once and base twice, in an order drawn from (seed, block)."""
    base = [candidate for candidate in candidates if candidate.role == "base"]
    order = [*base, *candidates]
    random.Random(f"{seed}/{block}").shuffle(order)
    return tuple(order)


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
    arms: Arms = PLAIN,
    deadlines_s: Mapping[str, float] | None = None,
) -> Plan:
    """A frozen plan with its estimate; `deadlines_s` are the user's own limits, by phase and "launch"."""
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
            "launch_deadline_s": launch_limit(deadlines_s or {}, DEADLINE_S[backend]),
            "profile": profile,
            "objective": objective,
            "estimate": estimate(backend, candidates, shapes, blocks, per_node, arms),
            "unified_memory": tuple(unified_memory),
            "not_offered": tuple(not_offered),
            "search": search,
            "budget_s": budget_s,
            "path": arms.path,
            "skew": arms.skew,
            "gemm": arms.gemm,
            "deadlines_s": dict(deadlines_s or {}),
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
        "deadlines": phase_limits(plan.deadlines_s),
        **arms_of(plan).work(proof=proof),
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
