"""Legal values that are mistakes to run with: each row of the list holds, and what is near it does not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.nccl.complaints import SEVERITIES
from fabricdoc.nccl.hazards import check_hazards, hazards
from fabricdoc.nccl.variables import catalogue

pytestmark = pytest.mark.unit


def ids(name: str, value: str) -> list[str]:
    return [one.id for one in check_hazards(name, value)]


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("NCCL_DEBUG", "INFO", "debug-left-on"),
        ("NCCL_DEBUG", "trace", "debug-left-on"),
        ("NCCL_CHECK_POINTERS", "1", "debug-left-on"),
        ("NCCL_CHECK_MODE", "debug_global", "debug-left-on"),
        ("TORCH_DISTRIBUTED_DEBUG", "DETAIL", "debug-left-on"),
        ("CUDA_LAUNCH_BLOCKING", "0", "cuda-launch-blocking-set"),
        ("NCCL_CHECKS_DISABLE", "0x1", "dangerous-value"),
        ("NCCL_IGNORE_NET_MISMATCH", "1", "dangerous-value"),
        ("NCCL_GDR_FLUSH_DISABLE", "1", "dangerous-value"),
        ("NCCL_MULTI_RANK_GPU_ENABLE", "1", "dangerous-value"),
        ("NCCL_IB_TIMEOUT", "1", "ib-timeout-or-retry-too-low"),
        ("NCCL_IB_TIMEOUT", "13", "ib-timeout-or-retry-too-low"),
        ("NCCL_IB_RETRY_CNT", "0", "ib-timeout-or-retry-too-low"),
        ("NCCL_PROTO", "ll", "nccl-proto-ll-forced"),
    ],
)
def test_what_is_a_hazard(name: str, value: str, expected: str) -> None:
    assert ids(name, value) == [expected]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("NCCL_DEBUG", "WARN"),
        ("NCCL_DEBUG", "VERSION"),
        ("NCCL_DEBUG", ""),
        ("NCCL_CHECK_POINTERS", "0"),
        ("NCCL_CHECK_MODE", "DEFAULT"),
        ("TORCH_DISTRIBUTED_DEBUG", "INFO"),
        ("CUDA_LAUNCH_BLOCKING", ""),
        ("NCCL_CHECKS_DISABLE", "0"),
        ("NCCL_IB_TIMEOUT", "0"),
        ("NCCL_IB_TIMEOUT", "14"),
        ("NCCL_IB_TIMEOUT", "22"),
        ("NCCL_IB_TIMEOUT", "twelve"),
        ("NCCL_IB_RETRY_CNT", "7"),
        ("NCCL_IB_RETRY_CNT", "3"),
        ("NCCL_PROTO", "LL,Simple"),
        ("NCCL_PROTO", "allreduce:LL"),
        ("SOMETHING_ELSE", "1"),
    ],
)
def test_what_is_none(name: str, value: str) -> None:
    assert ids(name, value) == []


def test_every_row_is_whole_and_of_a_known_id() -> None:
    for name, rows in hazards().items():
        assert name in catalogue() or not name.startswith("NCCL_"), name
        for row in rows:
            assert row.id in SEVERITIES and row.why and row.fix and row.source, name
            assert "." not in row.why[-1]


@given(st.sampled_from(sorted(hazards())), st.text(max_size=80))
def test_no_value_breaks_it(name: str, value: str) -> None:
    for one in check_hazards(name, value):
        assert one.name == name and one.message.isprintable()
