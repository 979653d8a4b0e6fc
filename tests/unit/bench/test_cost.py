"""What a bench costs: calls within a budget of bytes, launches, seconds, memory."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.bench import cost
from fabricdoc.bench import plan as planning
from fabricdoc.model.run import Shape
from tests.unit.bench.test_plan import BASE, DEFAULT, TREE, plan

pytestmark = pytest.mark.unit


@given(st.sampled_from(["gloo", "nccl"]), st.integers(1, 1 << 30), st.sampled_from(["graph", "eager", "throughput"]))
def test_calls_stay_within_the_byte_budget_or_at_the_least(backend: str, size: int, view: str) -> None:
    calls = cost.calls_for(backend, Shape(op="all_reduce", size=size), view)  # type: ignore[arg-type]
    assert cost.LEAST_CALLS <= calls <= cost.CALLS[backend][view]
    assert calls == cost.LEAST_CALLS or calls * size <= cost.BUDGET_BYTES[backend]


def test_graph_view_exists_only_under_nccl() -> None:
    assert "graph" not in plan("gloo").views
    assert "graph" in plan("nccl").views


def test_the_estimate_bounds_launches_and_grows_with_blocks() -> None:
    few, many = plan(blocks=2).estimate, plan(blocks=6).estimate
    assert many.launches == 3 + 6 * 4 + 6 * 3
    assert many.seconds > few.seconds
    assert many.bytes_per_link > few.bytes_per_link > 0
    assert few.memory_per_node > 0


@pytest.mark.parametrize(("others", "confirmed"), [(0, 0), (1, 3), (2, 4), (7, 4)])
def test_the_estimate_counts_every_launch_that_confirms_the_most_winners(others: int, confirmed: int) -> None:
    candidates = [BASE, DEFAULT, *(TREE.model_copy(update={"name": f"tree-{i}"}) for i in range(others))]
    search = planning.block_order(candidates, 1, 7)
    assert plan(candidates=candidates).estimate.launches == len(candidates) + 6 * (len(search) + confirmed)


def test_a_launch_of_larger_shapes_is_expected_to_take_longer() -> None:
    small, large = planning.grid_shapes([8]), planning.grid_shapes([8, 64 << 20])
    assert cost.seconds_per_launch("nccl", small) < cost.seconds_per_launch("nccl", large)
    assert cost.seconds_per_launch("gloo", small) > cost.SECONDS_TO_START["gloo"]
