"""What a verdict needs, and what a budget holds."""

from __future__ import annotations

import pytest

from fabricdoc.bench.budget import Purse, least_launches, too_small
from tests.unit.bench.scripted import candidates, plan_of

pytestmark = pytest.mark.unit


def test_a_grid_needs_six_blocks_of_all_and_six_of_a_winner() -> None:
    assert least_launches(plan_of(candidates(4))) == 5 + 6 * 6 + 6 * 3


def test_an_adaptive_search_needs_fewer_once_there_are_many() -> None:
    assert least_launches(plan_of(candidates(9), search="adaptive")) == 10 + 3 * 11 + 3 * 3 + 18
    grid, adaptive = (least_launches(plan_of(candidates(20), search=search)) for search in ("grid", "adaptive"))
    assert adaptive < 0.7 * grid


def test_no_limit_is_never_too_small() -> None:
    assert too_small(plan_of(candidates(50)), 100.0) == ""


def test_a_budget_that_can_not_lead_to_a_verdict_says_what_would() -> None:
    plan = plan_of(candidates(9), budget=120.0)
    text = too_small(plan, 2.0)
    assert text == ("a verdict on 9 candidates needs 94 launches, about 188 s; 120 s hold 60: 4 would fit")
    four = plan_of(candidates(4), budget=120.0)
    assert too_small(four, 2.0) == ""


def test_a_budget_for_nothing_names_the_least_one() -> None:
    assert too_small(plan_of(candidates(9), budget=10.0), 2.0).endswith("10 s hold 5: one candidate alone needs 76 s")


@pytest.mark.parametrize(
    ("limit", "launches", "reserve", "holds"),
    [(None, 10**6, 0, True), (100.0, 40, 0, True), (100.0, 46, 0, False), (100.0, 40, 10, False), (49.0, 1, 0, False)],
)
def test_a_purse_holds_what_fits_with_some_slack_and_the_reserve(limit, launches, reserve, holds) -> None:
    assert Purse(limit, spent=50.0, launch=1.0).holds(launches, reserve) is holds
