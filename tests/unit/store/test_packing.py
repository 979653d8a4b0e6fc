"""Samples come back as they were, in as few bytes as that allows."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricdoc.store.packing import NARROW, WIDE, pack, unpack

pytestmark = pytest.mark.unit


@settings(deadline=None)
@given(st.lists(st.floats(allow_nan=False)))
def test_any_numbers_come_back_equal(values: list[float]) -> None:
    assert unpack(*pack(values)) == tuple(values)


@settings(deadline=None)
@given(st.lists(st.integers(0, 16_000_000).map(lambda nanos: nanos / 1000), min_size=1))
def test_microseconds_below_16_ms_take_four_bytes(values: list[float]) -> None:
    width, data = pack(values)
    assert (width, len(data)) == (NARROW, NARROW * len(values))
    assert unpack(width, data) == tuple(values)


@pytest.mark.parametrize("value", [90_800_000.123, 1e300, 1 / 3])
def test_what_four_bytes_would_lose_takes_eight(value: float) -> None:
    width, data = pack([80.5, value])
    assert width == WIDE
    assert unpack(width, data) == (80.5, value)


def test_a_sample_that_is_no_number_stays_none() -> None:
    assert math.isnan(unpack(*pack([math.nan]))[0])


def test_bytes_are_little_endian_whatever_the_machine() -> None:
    assert pack([1.0]) == (4, b"\x00\x00\x80\x3f")


@pytest.mark.parametrize(("width", "data"), [(3, b"abc"), (4, b"abc"), (8, b"abcd")])
def test_bytes_that_are_no_samples_are_refused(width: int, data: bytes) -> None:
    with pytest.raises(ValueError, match="no samples"):
        unpack(width, data)
