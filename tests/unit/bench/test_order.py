"""What a node is told of a launch: its own ranks, environment and memory, and nobody else's."""

from __future__ import annotations

import json

import pytest

from fabricdoc.bench.order import LaunchOrder

pytestmark = pytest.mark.unit

ORDER = LaunchOrder(
    number=3,
    backend="nccl",
    world=3,
    ranks={
        "alpha": [{"rank": 0, "local_rank": 0}, {"rank": 1, "local_rank": 1}],
        "beta": [{"rank": 2, "local_rank": 0}],
    },
    environment={"alpha": {"NCCL_IB_HCA": "=a"}, "beta": {"NCCL_IB_HCA": "=b"}},
    work={"views": ["eager"]},
    deadline_s=9.0,
    master="10.0.0.1",
    memory={"beta": {"need": 7}},
)


def test_each_node_gets_its_own_part() -> None:
    alpha, beta = ORDER.message("alpha"), ORDER.message("beta")
    assert [rank["rank"] for rank in alpha["ranks"]] == [0, 1]
    assert (beta["env"], beta["memory"], alpha["memory"]) == ({"NCCL_IB_HCA": "=b"}, {"need": 7}, {})
    assert {key for key in alpha if alpha[key] == beta[key]} >= {
        "do",
        "number",
        "backend",
        "world",
        "work",
        "deadline_s",
    }


def test_a_message_is_its_own_copy_and_json() -> None:
    message = ORDER.message("alpha")
    message["env"]["X"] = "1"
    message["work"]["views"] = []
    assert ORDER.environment["alpha"] == {"NCCL_IB_HCA": "=a"} and ORDER.work == {"views": ["eager"]}
    assert json.loads(json.dumps(ORDER.message("beta")))["number"] == 3
