"""Which groups span nodes, by the engines' numbering of ranks, and what carries their messages."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.serving import Served
from fabricdoc.serving.groups import bypass_of, size_of, spans_nodes

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("fields", "spanning"),
    [
        ({"tp": 2}, {"tp", "ep"}),
        ({"tp": 2, "gpus_per_node": 2}, set()),
        ({"tp": 8, "gpus_per_node": 8}, set()),
        ({"tp": 8, "pp": 2, "gpus_per_node": 8}, {"pp"}),
        ({"tp": 16, "gpus_per_node": 8}, {"tp", "ep"}),
        ({"tp": 8, "dp": 2, "gpus_per_node": 8}, {"dp", "ep"}),
        ({"tp": 1, "dp": 8, "gpus_per_node": 8}, set()),
        ({"tp": 4, "dp": 2, "gpus_per_node": 4}, {"dp", "ep"}),
        ({"tp": 4, "pp": 2, "gpus_per_node": 8}, set()),
        ({"tp": 4, "gpus_per_node": 3}, {"tp", "ep"}),
        ({"tp": 2, "pp": 3, "gpus_per_node": 3}, {"tp", "pp", "ep"}),
        ({"tp": 1, "pp": 2}, {"pp"}),
        ({}, set()),
    ],
)
def test_spanning(fields: dict[str, Any], spanning: set[str]) -> None:
    served = Served(**fields)
    assert {group for group in ("tp", "pp", "dp", "ep") if spans_nodes(group, served)} == spanning


def test_sizes() -> None:
    served = Served(tp=2, pp=3, dp=4)
    assert [size_of(group, served) for group in ("tp", "pp", "dp", "ep")] == [2, 3, 4, 8]


@pytest.mark.parametrize(
    ("op", "size", "group", "fields", "bypass"),
    [
        ("all_reduce", 20480, "tp", {"tp": 2}, "none"),
        ("all_reduce", 20480, "tp", {"tp": 2, "rocenante": True}, "rocenante"),
        ("all_reduce", (2 << 20) + 1, "tp", {"tp": 2, "rocenante": True}, "none"),
        ("all_gather", 16 << 20, "tp", {"tp": 2, "rocenante": True}, "rocenante"),
        ("all_gather", (16 << 20) + 1, "tp", {"tp": 2, "rocenante": True}, "none"),
        ("reduce_scatter", 64, "tp", {"tp": 2, "rocenante": True}, "none"),
        ("all_reduce", 20480, "tp", {"tp": 8, "gpus_per_node": 8}, "custom_ar"),
        ("all_reduce", 8 << 20, "tp", {"tp": 8, "gpus_per_node": 8}, "none"),
        ("all_reduce", 20480, "tp", {"tp": 8, "gpus_per_node": 8, "custom_ar": False}, "none"),
        ("all_reduce", 20480, "tp", {"tp": 3, "gpus_per_node": 8}, "none"),
        ("all_gather", 20480, "tp", {"tp": 8, "gpus_per_node": 8}, "none"),
        ("all_reduce", 20480, "tp", {"tp": 8, "gpus_per_node": 8, "symm_mem": True}, "symm_mem"),
        ("all_reduce", 20480, "tp", {"tp": 2, "gpus_per_node": 8, "symm_mem": True}, "custom_ar"),
        ("all_reduce", 20480, "tp", {"tp": 8, "symm_mem": True}, "none"),
        ("all_gather", 20480, "ep", {"tp": 8, "dp": 2, "deepep": True}, "nvshmem"),
        ("all_gather", 20480, "dp", {"tp": 1, "dp": 2}, "none"),
    ],
)
def test_what_carries_a_message(op: str, size: int, group: str, fields: dict[str, Any], bypass: str) -> None:
    assert bypass_of(op, size, group, Served(**fields)) == bypass
