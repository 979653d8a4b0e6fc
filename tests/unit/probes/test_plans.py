"""How often a shape is called: what was asked, what the budget leaves, what a proof needs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.probes.plans import REPETITIONS, THROUGHPUT_FROM, VIEWS, Plan, plan_for, plans_for, possible
from fabricdoc.probes.shapes import Shape

pytestmark = pytest.mark.unit


def shape(size: int) -> Shape:
    return Shape("all_reduce", size, "bfloat16")


def test_small_messages_get_what_was_asked() -> None:
    work = {"calls": {"graph": 50, "eager": 100}, "replays": 4, "warmup": 20, "budget_bytes": 1 << 28}
    assert plan_for(shape(20480), "graph", work) == Plan(calls=50, replays=4, warmup=20, lead=1)
    assert plan_for(shape(20480), "eager", work) == Plan(calls=100, replays=1, warmup=20, lead=1)


def test_protocol_defaults_hold_where_nothing_is_said() -> None:
    assert [plan_for(shape(8), view, {}).calls for view in VIEWS] == [50, 100, 20]
    assert [plan_for(shape(8), view, {}).replays for view in VIEWS] == [4, 1, REPETITIONS]


def test_large_messages_keep_five_calls() -> None:
    plan = plan_for(shape(1 << 30), "graph", {"budget_bytes": 1 << 28})
    assert (plan.calls, plan.replays, plan.warmup) == (5, 1, 5)


@given(
    size=st.integers(1, 1 << 30), view=st.sampled_from(VIEWS), asked=st.integers(1, 500), budget=st.integers(1, 1 << 32)
)
def test_bytes_stay_in_the_budget_or_at_five_calls(size: int, view: str, asked: int, budget: int) -> None:
    plan = plan_for(shape(size), view, {"calls": {view: asked}, "budget_bytes": budget, "warmup": 20, "replays": 4})
    assert 1 <= plan.calls <= asked
    assert plan.calls * size <= budget or plan.calls == min(asked, 5)
    if view == "graph" and plan.replays > 1:
        assert plan.calls * plan.replays * size <= budget
    assert plan.warmup <= plan.calls


@pytest.mark.parametrize("view", VIEWS)
def test_a_proof_makes_one_call(view: str) -> None:
    assert plan_for(shape(8), view, {"proof": True, "calls": {view: 50}}) == Plan(1, 1, 0, 0)


@pytest.mark.parametrize(
    ("backend", "view", "size", "exists"),
    [
        ("gloo", "graph", 8, False),
        ("nccl", "graph", 8, True),
        ("gloo", "eager", 8, True),
        ("nccl", "throughput", THROUGHPUT_FROM - 1, False),
        ("gloo", "throughput", THROUGHPUT_FROM, True),
    ],
)
def test_which_views_exist(backend: str, view: str, size: int, exists: bool) -> None:
    assert possible(backend, view, shape(size)) is exists


@pytest.mark.parametrize(
    ("backend", "views", "size", "planned"),
    [
        ("nccl", ["throughput", "eager", "graph"], THROUGHPUT_FROM, ["graph", "eager", "throughput"]),
        ("gloo", ["throughput", "eager", "graph"], 8, ["eager"]),
        ("gloo", ["graph"], 8, []),
    ],
)
def test_plans_come_in_one_order_for_views_that_exist(
    backend: str, views: list[str], size: int, planned: list[str]
) -> None:
    assert list(plans_for(backend, shape(size), {"views": views})) == planned
