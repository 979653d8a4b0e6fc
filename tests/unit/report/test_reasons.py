"""Reasons of unknown facts, each once."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.model.documents import Unknown
from fabricdoc.report.reasons import NAMED, Reasons, state_style

pytestmark = pytest.mark.unit


def test_grouped_by_reason_in_order(shown: Any) -> None:
    reasons = Reasons()
    for what, fact in (("a", Unknown(unknown="x")), ("b", 7), ("c", Unknown(unknown="y")), ("d", Unknown(unknown="x"))):
        reasons.note(fact, what)
    reasons.note(Unknown(unknown="x"), "a")
    assert shown(reasons.lines()) == "  ? a, d: x\n  ? c: y\n"
    assert Reasons().lines() == []


def test_a_state_is_good_unknown_or_worth_a_look() -> None:
    assert [state_style(good, state) for good, state in ((True, "up"), (False, "?"), (False, "down"))] == [
        "green",
        "dim",
        "yellow",
    ]


def test_a_long_list_of_facts_is_cut_and_counted(shown: Any) -> None:
    reasons = Reasons()
    for number in range(NAMED + 1):
        reasons.note(Unknown(unknown="not in the dump"), f"f{number}")
    assert shown(reasons.lines()) == "  ? f0, f1, f2, f3, f4, f5, f6: not in the dump\n"
    reasons.note(Unknown(unknown="not in the dump"), "f7")
    assert shown(reasons.lines()) == "  ? f0, f1, f2, f3, f4, f5 and 2 more: not in the dump\n"
