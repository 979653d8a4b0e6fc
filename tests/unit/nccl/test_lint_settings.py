"""Columns count from 1 and never leave the line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.nccl.lint_settings import Setting, column_of

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("text", "part", "after", "expected"),
    [("A=x", "x", 0, 3), ("x=x", "x", 1, 3), ("A=x", "y", 0, 1), ("A=x", "", 2, 3), ("A=x", "A", 1, 2)],
)
def test_where_a_part_begins(text: str, part: str, after: int, expected: int) -> None:
    assert column_of(text, part, after) == expected


@given(st.text(max_size=40), st.text(max_size=5))
def test_a_column_is_inside_the_line(text: str, part: str) -> None:
    assert 1 <= column_of(text, part) <= len(text) + 1


def test_a_setting_has_one_environment_unless_told() -> None:
    assert Setting("A", "1", 1, 1, "A=1").scope == 0
