"""What the one judgement of delivery says, as answers of the gate: which variable, what it is and what was wanted."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.gate.deliveries import judge_deliveries
from fabricdoc.model.delivery import Delivered, Delivery, UnseenNode, WorkerDelivery

pytestmark = pytest.mark.unit


def delivery(*variables: Delivered, unseen: tuple[UnseenNode, ...] = (), **more: Any) -> Delivery:
    worker = WorkerDelivery(
        node="beta", pid=7, name="vllm", source="alpha.env", library=None, variables=variables, **more
    )
    return Delivery(preset="p", answer="delivered", reason="", workers=(worker,), unseen=unseen)


def variable(outcome: Any, seen: str | None, by: str = "") -> Delivered:
    return Delivered(name="NCCL_SOCKET_IFNAME", wanted="eth1", outcome=outcome, seen=seen, by=by)


@pytest.mark.parametrize(
    ("one", "found"),
    [
        (variable("differs", "eth0"), "NCCL_SOCKET_IFNAME differs: is 'eth0', wanted 'eth1'"),
        (variable("missing", None), "NCCL_SOCKET_IFNAME missing"),
        (
            variable("overridden", "eth0", "the environment, which beats /etc/nccl.conf"),
            "NCCL_SOCKET_IFNAME overridden: is 'eth0', wanted 'eth1' (the environment, which beats /etc/nccl.conf)",
        ),
    ],
)
def test_what_does_not_arrive_is_told_with_both_values_and_its_place(one: Delivered, found: str) -> None:
    """One node's file was held against another: without values and file nobody could see that."""
    (check,) = judge_deliveries(delivery(one))
    assert (check.outcome, check.found, check.note) == ("differs", found, "in alpha.env")


def test_values_are_bounded() -> None:
    (check,) = judge_deliveries(delivery(*[variable("differs", "x" * 900)] * 9))
    assert len(check.found) == 300


def test_what_is_beside_the_preset_is_noted() -> None:
    (check,) = judge_deliveries(
        delivery(variable("delivered", "eth1"), extra={"NCCL_ALGO": "Ring"}, unlike={"NCCL_NVLS_ENABLE": "0"})
    )
    assert (check.outcome, check.note) == ("noted", "besides: NCCL_ALGO; not as measured: NCCL_NVLS_ENABLE")


def test_a_node_that_was_not_seen_is_unknown() -> None:
    _, check = judge_deliveries(delivery(unseen=(UnseenNode(node="alpha", reason="no answer"),)))
    assert (check.node, check.outcome, check.found) == ("alpha", "unknown", "unknown: no answer")
