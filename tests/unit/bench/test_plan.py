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


def test_profile_shapes_win_over_the_grid() -> None:
    profile = [Shape(op="all_reduce", size=20480, phase="decode", count=97)]
    merged = planning.merge_shapes(profile, planning.grid_shapes([8, 20480]))
    assert [(s.size, s.phase) for s in merged] == [(8, "grid"), (20480, "decode")]


def test_environment_lays_a_candidate_over_base_per_node() -> None:
    p = plan()
    assert planning.environment_of(p, TREE, "beta") == {"A": "9", "B": "2"}
    assert planning.environment_of(p, BASE, "alpha") == {"A": "1"}
    assert planning.environment_of(p, DEFAULT, "beta") == {}


def test_the_proof_launch_makes_few_calls() -> None:
    work = planning.work_of(plan(), proof=True)
    assert work["proof"] is True
    assert work["warmup"] == 1
    assert work["views"] == ["eager"]


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
