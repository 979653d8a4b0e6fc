"""What a launch has besides plain calls: NCCL's own calls beside torch's, gates for arrival skew, a matrix product.

How often a call is then made, what a product costs, and how the worker is told. Every candidate of a run has the same
arms, so no ratio is touched by them. Runs nothing; probes/arms.py and probes/worker.py do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fabricdoc.model.run import Backend, Path, Plan, View

GATED = ("graph", "eager")
GATES = 2  # two small sums before each gated call
FLOPS = {
    "gloo": 5e9,
    "nccl": 2e13,
}  # of one product, low on purpose: a core of a server, a small part of a GB10 or H200
ITEM_BYTES = 4
OWN_DEADLINE = "launch"
SPARE_S = 10.0
"""What a launch takes besides its longest phase, where the user gave that phase more than a launch has."""


@dataclass(frozen=True)
class Arms:
    """`path` torch, direct or both (eager calls twice); `skew`: gates; `gemm` (m, n, k) before each timed call."""

    path: Path = "torch"
    skew: bool = False
    gemm: tuple[int, int, int] | None = None

    def calls(self, view: View) -> int:
        """How many calls are made for each sample of the view."""
        gated = 1 + GATES if self.skew and view in GATED else 0
        return 1 + gated + (1 if self.path == "both" and view == "eager" else 0)

    def product_s(self, backend: Backend, view: View) -> float:
        """Seconds that the product before one call takes at most; throughput has none."""
        if self.gemm is None or view == "throughput":
            return 0.0
        m, n, k = self.gemm
        return 2.0 * m * n * k / FLOPS[backend]

    def memory(self) -> int:
        """Bytes of a rank for the product's three matrices."""
        if self.gemm is None:
            return 0
        m, n, k = self.gemm
        return ITEM_BYTES * (m * k + k * n + m * n)

    def work(self, *, proof: bool) -> dict[str, Any]:
        """As the worker is told, without what goes without saying; a proof wants to see the path and times nothing."""
        path: dict[str, Any] = {} if self.path == "torch" else {"path": self.path}
        if proof:
            return path if self.path == "direct" else {}
        skew = {"skew": True} if self.skew else {}
        gemm = {"gemm": dict(zip("mnk", self.gemm, strict=True))} if self.gemm else {}
        return path | skew | gemm


PLAIN = Arms()


def arms_of(plan: Plan) -> Arms:
    """The arms of a plan."""
    return Arms(plan.path, plan.skew, plan.gemm)


def phase_limits(deadlines_s: Mapping[str, float]) -> dict[str, float]:
    """The user's own limits of phases, in seconds."""
    return {phase: limit for phase, limit in deadlines_s.items() if phase != OWN_DEADLINE}


def launch_limit(deadlines_s: Mapping[str, float], usual_s: float) -> float:
    """Seconds for a whole launch: the user's own limit, else the usual one, or more where a phase was given more."""
    longest = max(phase_limits(deadlines_s).values(), default=0.0)
    return deadlines_s.get(OWN_DEADLINE, usual_s if longest <= usual_s - SPARE_S else longest + SPARE_S)
