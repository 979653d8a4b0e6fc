"""The plan: order, call counts, environments, cost; pure and repeatable."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.bench import plan as planning
from fabricdoc.model.run import Candidate, Plan, Rank, Shape

pytestmark = pytest.mark.unit

BASE = Candidate(name="base", role="base", variables={"A": "1"}, node_variables={"beta": {"B": "2"}})
DEFAULT = Candidate(name="default", role="default", on_base=False)
TREE = Candidate(name="tree", variables={"A": "9"})
RANKS = [Rank(rank=0, node="alpha", local_rank=0), Rank(rank=1, node="beta", local_rank=0)]


def plan(backend: str = "gloo", blocks: int = 6, candidates: Sequence[Candidate] = (BASE, DEFAULT, TREE)) -> Plan:
    return planning.make_plan(
        backend=backend,  # type: ignore[arg-type]
        ranks=RANKS,
        candidates=candidates,
        shapes=planning.grid_shapes(),
        blocks=blocks,
        seed=7,
        profile="p",
        objective="mix",
    )


@given(st.integers(0, 2**31), st.integers(1, 50))
def test_a_block_has_every_candidate_once_and_base_twice(seed: int, block: int) -> None:
    counts = Counter(c.name for c in planning.block_order([BASE, DEFAULT, TREE], block, seed))
    assert counts == {"base": 2, "default": 1, "tree": 1}


def test_the_order_repeats_with_the_seed_and_differs_between_blocks() -> None:
    names = [[c.name for c in planning.block_order([BASE, DEFAULT, TREE], b, 3)] for b in range(1, 30)]
    again = [[c.name for c in planning.block_order([BASE, DEFAULT, TREE], b, 3)] for b in range(1, 30)]
    assert names == again
    assert len({tuple(order) for order in names}) > 5


@given(st.sampled_from(["gloo", "nccl"]), st.integers(1, 1 << 30), st.sampled_from(["graph", "eager", "throughput"]))
def test_calls_stay_within_the_byte_budget_or_at_the_least(backend: str, size: int, view: str) -> None:
    calls = planning.calls_for(backend, Shape(op="all_reduce", size=size), view)  # type: ignore[arg-type]
    assert planning.LEAST_CALLS <= calls <= planning.CALLS[backend][view]
    assert calls == planning.LEAST_CALLS or calls * size <= planning.BUDGET_BYTES[backend]


def test_profile_shapes_win_over_the_grid() -> None:
    profile = [Shape(op="all_reduce", size=20480, phase="decode", count=97)]
    merged = planning.merge_shapes(profile, planning.grid_shapes([8, 20480]))
    assert [(s.size, s.phase) for s in merged] == [(8, "grid"), (20480, "decode")]


def test_environment_lays_a_candidate_over_base_per_node() -> None:
    p = plan()
    assert planning.environment_of(p, TREE, "beta") == {"A": "9", "B": "2"}
    assert planning.environment_of(p, BASE, "alpha") == {"A": "1"}
    assert planning.environment_of(p, DEFAULT, "beta") == {}


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


def test_the_proof_launch_makes_few_calls() -> None:
    work = planning.work_of(plan(), proof=True)
    assert work["proof"] is True
    assert work["warmup"] == 1
    assert work["views"] == ["eager"]


def test_a_launch_of_larger_shapes_is_expected_to_take_longer() -> None:
    small, large = planning.grid_shapes([8]), planning.grid_shapes([8, 64 << 20])
    assert planning.seconds_per_launch("nccl", small) < planning.seconds_per_launch("nccl", large)
    assert planning.seconds_per_launch("gloo", small) > planning.SECONDS_TO_START["gloo"]


def test_a_grid_of_several_ops_in_the_users_type_and_place() -> None:
    shapes = planning.grid_shapes([4096, 8, 8], ("all_gather", "send_recv", "all_gather"), "float16")
    assert [(s.op, s.size, s.in_place) for s in shapes] == [
        ("all_gather", 8, True),
        ("all_gather", 4096, True),
        ("send_recv", 8, False),
        ("send_recv", 4096, False),
    ]
    assert {s.dtype for s in shapes} == {"float16"}
    assert not any(s.in_place for s in planning.grid_shapes([8], ("all_reduce",), in_place=False))


def test_shapes_that_differ_in_type_or_place_are_all_kept() -> None:
    one = planning.grid_shapes([8])
    assert len(planning.merge_shapes(one, one)) == 1
    assert len(planning.merge_shapes(one, planning.grid_shapes([8], dtype="float32"))) == 2
    assert len(planning.merge_shapes(one, planning.grid_shapes([8], in_place=False))) == 2


def test_only_two_buffers_are_asked_for_in_words() -> None:
    shapes = planning.grid_shapes([8]) + planning.grid_shapes([8], in_place=False)
    asked = planning.work_of(plan().model_copy(update={"shapes": shapes}), proof=False)["shapes"]
    assert asked == [
        {"op": "all_reduce", "size": 8, "dtype": "bfloat16"},
        {"op": "all_reduce", "size": 8, "dtype": "bfloat16", "in_place": False},
    ]
