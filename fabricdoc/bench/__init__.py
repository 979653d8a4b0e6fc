"""bench: times collectives between nodes under candidate settings, launch by launch.

Public: the plan (`make_plan`, shapes, `base_candidate`, `rail_candidates`, `load_candidates`), the live part
(`Agents`, `Bench`, `run_bench`; single launches: `run_launch`, `run_side_by_side`) and the statistics that judging
needs too. Does not judge: `tuning` does.
"""

from fabricdoc.bench.agents import Agents
from fabricdoc.bench.arms import OWN_DEADLINE, Arms
from fabricdoc.bench.base import bare_default, base_candidate, rail_candidates
from fabricdoc.bench.candidate_values import needs_fresh_agent
from fabricdoc.bench.candidates import load_candidates, sets_of
from fabricdoc.bench.cost import CONFIRMED
from fabricdoc.bench.current import (
    CurrentSource,
    current_candidate,
    left_out,
    parse_current,
    read_file,
    refused,
    remarks,
)
from fabricdoc.bench.engines import Engine, engine_named
from fabricdoc.bench.expected import blocks_for_effect
from fabricdoc.bench.fitting import check_budget
from fabricdoc.bench.gpudirect import gpu_direct_of
from fabricdoc.bench.ground import Ground, offered
from fabricdoc.bench.launch import Place, run_launch
from fabricdoc.bench.memory import memory_limits
from fabricdoc.bench.plan import DECIDING_BLOCKS, GRID, grid_shapes, make_plan, merge_shapes, placed
from fabricdoc.bench.resume import refuse_complete, taken_up
from fabricdoc.bench.run import Bench, run_bench
from fabricdoc.bench.settings_text import settings_of
from fabricdoc.bench.side_by_side import Errand, run_side_by_side
from fabricdoc.bench.single_rail import best_first, lacking
from fabricdoc.bench.statistics import paired_interval

__all__ = [
    "CONFIRMED",
    "DECIDING_BLOCKS",
    "GRID",
    "OWN_DEADLINE",
    "Agents",
    "Arms",
    "Bench",
    "CurrentSource",
    "Engine",
    "Errand",
    "Ground",
    "Place",
    "bare_default",
    "base_candidate",
    "best_first",
    "blocks_for_effect",
    "check_budget",
    "current_candidate",
    "engine_named",
    "gpu_direct_of",
    "grid_shapes",
    "lacking",
    "left_out",
    "load_candidates",
    "make_plan",
    "memory_limits",
    "merge_shapes",
    "needs_fresh_agent",
    "offered",
    "paired_interval",
    "parse_current",
    "placed",
    "rail_candidates",
    "read_file",
    "refuse_complete",
    "refused",
    "remarks",
    "run_bench",
    "run_launch",
    "run_side_by_side",
    "sets_of",
    "settings_of",
    "taken_up",
]
