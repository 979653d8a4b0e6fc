"""Whole sets: variables against one another, and single complaints in the same answer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.nccl.complaints import SEVERITIES
from fabricdoc.nccl.contradictions import check_variables, number_of
from fabricdoc.nccl.variables import catalogue

pytestmark = pytest.mark.unit


def found(variables: dict[str, str]) -> list[tuple[str, tuple[str, ...]]]:
    return [(one.name, one.others) for one in check_variables(variables, (2, 30, 7)) if one.id == "contradiction"]


@pytest.mark.parametrize(
    ("variables", "name", "other"),
    [
        ({"NCCL_IB_DISABLE": "1", "NCCL_IB_HCA": "=mlx5_0"}, "NCCL_IB_HCA", "NCCL_IB_DISABLE"),
        ({"NCCL_IB_DISABLE": "1", "NCCL_NET": "IB"}, "NCCL_NET", "NCCL_IB_DISABLE"),
        ({"NCCL_NET": "Socket", "NCCL_IB_HCA": "=mlx5_0"}, "NCCL_IB_HCA", "NCCL_NET"),
        ({"NCCL_NET_PLUGIN": "none", "NCCL_NET": "AWS Libfabric"}, "NCCL_NET", "NCCL_NET_PLUGIN"),
        ({"NCCL_PROTO": "LL,Simple", "NCCL_TUNER_PLUGIN": "x"}, "NCCL_PROTO", "NCCL_TUNER_PLUGIN"),
        ({"NCCL_ALGO": "Ring", "NCCL_TUNER_CONFIG_FILE": "/x"}, "NCCL_ALGO", "NCCL_TUNER_CONFIG_FILE"),
        ({"NCCL_MIN_CTAS": "8", "NCCL_MAX_CTAS": "4"}, "NCCL_MIN_CTAS", "NCCL_MAX_CTAS"),
        ({"NCCL_SOCKET_NTHREADS": "16", "NCCL_NSOCKS_PERTHREAD": "8"}, "NCCL_NSOCKS_PERTHREAD", "NCCL_SOCKET_NTHREADS"),
        ({"NCCL_IB_GID_INDEX": "3", "NCCL_IB_ADDR_RANGE": "10.0.0.0/8"}, "NCCL_IB_ADDR_RANGE", "NCCL_IB_GID_INDEX"),
        ({"NCCL_IB_GID_INDEX": "0", "NCCL_IB_ROCE_VERSION_NUM": "2"}, "NCCL_IB_ROCE_VERSION_NUM", "NCCL_IB_GID_INDEX"),
        ({"NCCL_IB_MERGE_NICS": "0", "NCCL_NET_FORCE_MERGE": "a,b"}, "NCCL_NET_FORCE_MERGE", "NCCL_IB_MERGE_NICS"),
        ({"NCCL_IB_SPLIT_DATA_ON_QPS": "1"}, "NCCL_IB_SPLIT_DATA_ON_QPS", "NCCL_IB_QPS_PER_CONNECTION"),
        ({"NCCL_DEBUG_SUBSYS": "NET", "NCCL_DEBUG": "WARN"}, "NCCL_DEBUG_SUBSYS", "NCCL_DEBUG"),
        ({"NCCL_DEBUG_SUBSYS": "NET"}, "NCCL_DEBUG_SUBSYS", "NCCL_DEBUG"),
        ({"NCCL_P2P_DISABLE": "1", "NCCL_P2P_LEVEL": "NVL"}, "NCCL_P2P_LEVEL", "NCCL_P2P_DISABLE"),
        ({"NCCL_BUFFSIZE": "1048576", "NCCL_P2P_NET_CHUNKSIZE": "524288"}, "NCCL_P2P_NET_CHUNKSIZE", "NCCL_BUFFSIZE"),
    ],
)
def test_variables_that_work_against_one_another(variables: dict[str, str], name: str, other: str) -> None:
    assert found(variables) == [(name, (other,))]


@pytest.mark.parametrize(
    "variables",
    [
        {},
        {"NCCL_IB_DISABLE": "0", "NCCL_IB_HCA": "=mlx5_0", "NCCL_NET": "IB"},
        {"NCCL_NET": "Socket", "NCCL_SOCKET_IFNAME": "=eth0"},
        {"NCCL_NET_PLUGIN": "none", "NCCL_NET": "IB"},
        {"NCCL_PROTO": "LL,Simple", "NCCL_TUNER_PLUGIN": "none"},
        {"NCCL_MIN_CTAS": "4", "NCCL_MAX_CTAS": "4"},
        {"NCCL_SOCKET_NTHREADS": "8", "NCCL_NSOCKS_PERTHREAD": "8"},
        {"NCCL_IB_GID_INDEX": "-1", "NCCL_IB_ADDR_RANGE": "10.0.0.0/8"},
        {"NCCL_IB_ADDR_RANGE": "10.0.0.0/8", "NCCL_IB_ADDR_FAMILY": "AF_INET"},
        {"NCCL_IB_MERGE_NICS": "0", "NCCL_NET_MERGE_LEVEL": "LOC"},
        {"NCCL_IB_MERGE_NICS": "1", "NCCL_NET_FORCE_MERGE": "a,b"},
        {"NCCL_IB_SPLIT_DATA_ON_QPS": "1", "NCCL_IB_QPS_PER_CONNECTION": "2"},
        {"NCCL_DEBUG_SUBSYS": "NET", "NCCL_DEBUG": "info"},
        {"NCCL_P2P_DISABLE": "0", "NCCL_P2P_LEVEL": "NVL"},
        {"NCCL_BUFFSIZE": "4194304", "NCCL_P2P_NET_CHUNKSIZE": "524288"},
    ],
)
def test_sets_that_agree(variables: dict[str, str]) -> None:
    assert found(variables) == []


def test_a_set_gets_the_complaints_of_its_members_too() -> None:
    variables = {"NCCL_IB_HCAS": "x", "NCCL_PROTO": "^LL", "NCCL_IB_DISABLE": "1", "NCCL_IB_HCA": "=mlx5_0"}
    assert [one.id for one in check_variables(variables)] == [
        "unknown-variable",
        "ll128-forced-by-exclusion",
        "contradiction",
    ]


@pytest.mark.parametrize(
    ("value", "expected"),
    [("3", 3), ("0x10", 16), ("010", 8), ("-1", -1), ("7x", 7), ("x", 0), ("", None), (None, None)],
)
def test_numbers_of_a_set(value: str | None, expected: int | None) -> None:
    assert number_of({} if value is None else {"X": value}, "X") == expected


@given(st.dictionaries(st.sampled_from(sorted(catalogue())), st.text(max_size=30), max_size=8))
def test_no_set_breaks_it(variables: dict[str, str]) -> None:
    assert all(one.id in SEVERITIES for one in check_variables(variables, (2, 28, 9)))
