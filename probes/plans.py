"""How often a shape is called in a view, and whether that view of it exists at all. Runs nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .shapes import Shape

VIEWS = ("graph", "eager", "throughput")
THROUGHPUT_FROM = 1 << 20
REPETITIONS = 3
_FEWEST_CALLS = 5
_DEFAULT_CALLS = {"graph": 50, "eager": 100, "throughput": 20}


@dataclass(frozen=True)
class Plan:
    """How often a shape is called in a view. `replays` counts graph replays or repetitions, `lead` untimed calls."""

    calls: int
    replays: int
    warmup: int
    lead: int


def plan_for(shape: Shape, view: str, work: Mapping[str, Any]) -> Plan:
    """The counts asked for, cut so that calls * replays * bytes stays in `budget_bytes`, but never under 5 calls.

    A proof wants few lines in the log, not samples: one call, nothing before it.
    """
    if work.get("proof", False):
        return Plan(calls=1, replays=1, warmup=0, lead=0)
    asked = int(work.get("calls", {}).get(view, _DEFAULT_CALLS[view]))
    fit = int(work.get("budget_bytes", 1 << 28)) // shape.size
    calls = max(min(asked, _FEWEST_CALLS), min(asked, fit), 1)
    wanted = {"graph": int(work.get("replays", 4)), "eager": 1, "throughput": REPETITIONS}[view]
    replays = wanted if view == "throughput" else max(1, min(wanted, fit // calls))
    return Plan(calls=calls, replays=replays, warmup=min(int(work.get("warmup", 20)), calls), lead=1)


def plans_for(backend: str, shape: Shape, work: Mapping[str, Any]) -> dict[str, Plan]:
    """The plan of every view that was asked for and exists, in the order of VIEWS."""
    return {
        view: plan_for(shape, view, work) for view in VIEWS if view in work["views"] and possible(backend, view, shape)
    }


def possible(backend: str, view: str, shape: Shape) -> bool:
    """Whether this view of this shape exists: gloo has no graphs, throughput begins at 1 MiB."""
    if view == "graph":
        return backend == "nccl"
    return view == "eager" or (view == "throughput" and shape.size >= THROUGHPUT_FROM)
