"""Whole numbers as C reads them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.nccl.numbers import number_at_start, read_number

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10", (10, False)),
        ("0x10", (16, False)),
        ("0X1f", (31, False)),
        ("010", (8, True)),
        ("-2", (-2, False)),
        ("+3", (3, False)),
        ("09", (0, True)),
        ("0", (0, False)),
        ("-010", (-8, True)),
    ],
)
def test_numbers_as_strtoll_reads_them(text: str, expected: tuple[int, bool]) -> None:
    assert read_number(text) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("22", 22),
        (" 22ms", 22),
        ("0x16 # hex", 22),
        ("-1", -1),
        ("twenty", None),
        ('"3"', None),
        ("", None),
        ("-", None),
        ("٣", None),
        ("9" * 500, int("9" * 20)),
    ],
)
def test_what_follows_the_digits_is_not_read(value: str, expected: int | None) -> None:
    assert number_at_start(value) == expected


@given(st.integers(-(2**62), 2**62))
def test_plain_decimals_are_themselves(number: int) -> None:
    assert number_at_start(str(number)) == number
    assert number_at_start(f"{number} and more") == number


@given(st.text(max_size=40))
def test_no_text_breaks_it(text: str) -> None:
    assert number_at_start(text) is None or isinstance(number_at_start(text), int)
