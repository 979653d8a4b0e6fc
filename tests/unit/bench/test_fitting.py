"""A budget too small for a verdict is refused with what fits."""

from __future__ import annotations

import re

import pytest

from fabricdoc.bench.cost import seconds_per_launch
from fabricdoc.bench.fitting import check_budget, needed_s
from fabricdoc.bench.plan import grid_shapes, make_plan
from fabricdoc.errors import UsageError
from fabricdoc.model.run import Candidate, Plan, Rank

pytestmark = pytest.mark.unit


def plan(candidates: int, budget_s: float | None, **more: object) -> Plan:
    named = [Candidate(name="base", role="base"), Candidate(name="default", role="default")]
    named += [Candidate(name=f"c{number}") for number in range(candidates - 2)]
    fields: dict[str, object] = {"blocks": 6, "seed": 1, "profile": "p", "objective": "mix", **more}
    return make_plan(
        backend="nccl",
        ranks=[Rank(rank=0, node="a", local_rank=0), Rank(rank=1, node="b", local_rank=0)],
        candidates=named,
        shapes=grid_shapes([8, 20480]),
        budget_s=budget_s,
        **fields,  # type: ignore[arg-type]
    )


def refusal(one: Plan) -> UsageError:
    with pytest.raises(UsageError) as caught:
        check_budget(one)
    assert caught.value.id == "budget-too-small"
    return caught.value


def test_no_budget_and_a_large_one_say_nothing() -> None:
    assert check_budget(plan(10, None)) == ""
    assert check_budget(plan(10, 36000.0)) == ""


def test_too_small_says_what_fits_and_what_it_says_is_true() -> None:
    asked = plan(10, 60.0)
    error = refusal(asked)
    assert "fits" in error.message and "a verdict needs 6" in error.message
    enough = re.search(r"--budget (\d+)([sm])", error.fix)
    assert enough
    seconds = int(enough[1]) * {"s": 1, "m": 60}[enough[2]]
    assert check_budget(plan(10, float(seconds))) != "", "the confirmation may not fit, but a verdict does"
    fewer = re.search(r"or (\d+) candidates", error.fix)
    assert fewer
    check_budget(plan(int(fewer[1]), 60.0))
    refusal(plan(int(fewer[1]) + 1, 60.0))


def test_the_blocks_named_are_those_that_fit() -> None:
    launch_s = seconds_per_launch("nccl", grid_shapes([8, 20480]))
    exact = (10 + 3 * 11) * launch_s
    assert "fits 3 blocks" in refusal(plan(10, exact + 0.01)).message
    assert "fits 2 blocks" in refusal(plan(10, exact - 0.01)).message
    assert "fits 0 blocks" in refusal(plan(10, 0.001)).message


def test_a_user_who_wants_fewer_blocks_is_asked_for_no_more() -> None:
    assert needed_s(plan(10, 1.0, blocks=2)) < needed_s(plan(10, 1.0)) == needed_s(plan(10, 1.0, blocks=20))


def test_adaptive_needs_less_than_the_grid() -> None:
    grid, adaptive = plan(20, None), plan(20, None, search="adaptive")
    assert needed_s(adaptive) < needed_s(grid)
    between = (needed_s(adaptive) + needed_s(grid)) / 2
    refusal(plan(20, between))
    assert "confirmation" in check_budget(plan(20, between, search="adaptive"))


def test_with_nothing_that_fits_only_true_ways_are_named() -> None:
    fix = refusal(plan(2, 0.5)).fix
    assert "candidates" not in fix
    assert "fewer --sizes" in fix
