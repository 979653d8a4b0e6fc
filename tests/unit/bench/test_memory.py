"""Memory limits: data in GiB, told to the agent in bytes, larger where GPU and host share memory."""

from __future__ import annotations

import pytest

from fabricdoc.bench.memory import GIB, floors, memory_limits
from fabricdoc.bench.plan import grid_shapes, make_plan
from fabricdoc.model.run import Candidate, Plan, Rank

pytestmark = pytest.mark.unit


def plan() -> Plan:
    return make_plan(
        backend="nccl",
        ranks=[Rank(rank=0, node="alpha", local_rank=0)],
        candidates=[Candidate(name="base", role="base")],
        shapes=grid_shapes([8]),
        blocks=1,
        seed=1,
        profile="p",
        objective="mix",
        unified_memory=["alpha"],
    )


def test_unified_memory_keeps_ten_and_six_gib() -> None:
    limits = memory_limits(plan(), unified=True)
    assert (limits["after_launch"], limits["while_running"]) == (10 * GIB, 6 * GIB)


def test_separate_memory_keeps_two() -> None:
    assert memory_limits(plan(), unified=False)["after_launch"] == 2 * GIB


def test_the_need_is_the_plans_own_bound() -> None:
    assert memory_limits(plan(), unified=False)["need"] == plan().estimate.memory_per_node > 3 * GIB


def test_the_running_limit_is_below_the_starting_one() -> None:
    assert all(floor["while_running"] < floor["after_launch"] for floor in floors().values())


def test_the_plan_names_the_nodes_it_holds_for() -> None:
    assert plan().unified_memory == ("alpha",)
