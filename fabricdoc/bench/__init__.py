"""bench: times collectives between nodes under candidate settings, launch by launch.

Public: the plan (`make_plan`, shapes, `base_candidate`, `rail_candidates`, `load_candidates`), the live part
(`Agents`, `Bench`, `run_bench`) and the statistics that judging needs too. Does not judge: `tuning` does.
"""

from fabricdoc.bench.agents import Agents
from fabricdoc.bench.base import bare_default, base_candidate, rail_candidates
from fabricdoc.bench.candidates import applicable, load_candidates
from fabricdoc.bench.current import read_current
from fabricdoc.bench.plan import CONFIRMED, GRID, grid_shapes, make_plan, merge_shapes
from fabricdoc.bench.run import Bench, run_bench
from fabricdoc.bench.statistics import paired_interval

__all__ = [
    "CONFIRMED",
    "GRID",
    "Agents",
    "Bench",
    "applicable",
    "bare_default",
    "base_candidate",
    "grid_shapes",
    "load_candidates",
    "make_plan",
    "merge_shapes",
    "paired_interval",
    "rail_candidates",
    "read_current",
    "run_bench",
]
