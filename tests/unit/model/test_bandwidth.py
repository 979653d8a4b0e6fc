"""Bandwidths as nccl-tests prints them: its own formulas, and lines of its own output."""

from __future__ import annotations

import typing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.model.bandwidth import FACTORS, bandwidth
from fabricdoc.model.run import Op

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("op", "ranks", "factor"),
    [
        ("all_reduce", 2, 1.0),
        ("all_reduce", 8, 1.75),
        ("all_gather", 2, 0.5),
        ("all_gather", 4, 0.75),
        ("reduce_scatter", 8, 0.875),
        ("all_to_all", 4, 0.75),
        ("broadcast", 8, 1.0),
        ("send_recv", 2, 1.0),
    ],
)
def test_the_factor_of_each_op(op: Op, ranks: int, factor: float) -> None:
    speeds = bandwidth(op, 1 << 20, ranks, 100.0)
    assert speeds.algbw == pytest.approx((1 << 20) / 100e-6 / 1e9)
    assert speeds.busbw == pytest.approx(speeds.algbw * factor)


@pytest.mark.parametrize(
    ("op", "size", "ranks", "micros", "algbw", "busbw"),
    [
        # lines of nccl-tests' README (8 GPUs, all_reduce_perf) and of its own arithmetic
        ("all_reduce", 8388608, 8, 240.0, 34.95, 61.17),
        ("all_gather", 17179869184, 2, 781000.0, 22.0, 11.0),
    ],
)
def test_lines_as_nccl_tests_prints_them(
    op: Op, size: int, ranks: int, micros: float, algbw: float, busbw: float
) -> None:
    speeds = bandwidth(op, size, ranks, micros)
    assert (round(speeds.algbw, 2), round(speeds.busbw, 2)) == (algbw, busbw)


def test_every_op_has_a_factor() -> None:
    assert set(FACTORS) == set(typing.get_args(Op))


@pytest.mark.parametrize(("size", "ranks", "micros"), [(8, 1, 1.0), (8, 2, 0.0), (8, 2, float("nan")), (-8, 2, 1.0)])
def test_what_has_no_bandwidth(size: int, ranks: int, micros: float) -> None:
    with pytest.raises(ValueError, match="at least two ranks"):
        bandwidth("all_reduce", size, ranks, micros)


@given(st.sampled_from(sorted(FACTORS)), st.integers(0, 1 << 40), st.integers(2, 4096), st.floats(1e-3, 1e12))
def test_bus_bandwidth_lies_between_half_and_twice_the_other(op: Op, size: int, ranks: int, micros: float) -> None:
    speeds = bandwidth(op, size, ranks, micros)
    assert speeds.algbw * 0.499 <= speeds.busbw <= speeds.algbw * 2.0
