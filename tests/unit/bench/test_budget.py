"""What a verdict needs, and what a budget holds."""

from __future__ import annotations

import pytest

from fabricdoc.bench.budget import Purse, confirm_launches

pytestmark = pytest.mark.unit


def test_one_winner_is_confirmed_in_six_blocks_of_three() -> None:
    assert confirm_launches() == 18


@pytest.mark.parametrize(
    ("limit", "launches", "reserve", "holds"),
    [(None, 10**6, 0, True), (100.0, 40, 0, True), (100.0, 46, 0, False), (100.0, 40, 10, False), (49.0, 1, 0, False)],
)
def test_a_purse_holds_what_fits_with_some_slack_and_the_reserve(limit, launches, reserve, holds) -> None:
    assert Purse(limit, spent=50.0, launch=1.0).holds(launches, reserve) is holds
