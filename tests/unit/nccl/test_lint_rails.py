"""CROSS_NIC and listed ports against proven links: rails apart, one switch, a ring, a port that meets nobody."""

from __future__ import annotations

import pytest

from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric
from fabricdoc.nccl.lint_rails import crossing, wires_of
from tests.fabrics import link
from tests.fabrics.spark import spark_foreign, spark_one_cable, spark_ring, spark_straight, spark_switch

pytestmark = pytest.mark.unit


def told(fabric: Fabric, **values: str) -> list[tuple[str, str]]:
    return [(one.id, one.fix) for one in crossing(values, fabric.nodes, fabric)]


def test_crossing_isolated_rails_is_an_error() -> None:
    (one,) = crossing({"NCCL_CROSS_NIC": "1"}, spark_straight().nodes, spark_straight())
    assert (one.id, one.severity, one.fix) == ("contradiction", "error", "NCCL_CROSS_NIC=0")
    assert "spark-a and spark-b meet on 2 wires" in one.message and "110" in one.message


@pytest.mark.parametrize("value", ["0", "2", "", "x"])
def test_what_does_not_cross(value: str) -> None:
    assert told(spark_straight(), NCCL_CROSS_NIC=value) == []


def test_one_wire_may_be_crossed() -> None:
    assert told(spark_switch(), NCCL_CROSS_NIC="1") == []
    assert told(spark_one_cable(), NCCL_CROSS_NIC="1") == []
    listed = "=rocep1s0f0,roceP2p1s0f0"
    assert told(spark_straight(), NCCL_CROSS_NIC="1", NCCL_IB_HCA=listed) == [], "only one of the two cables is taken"


def test_a_ring_must_cross() -> None:
    assert told(spark_ring(), NCCL_CROSS_NIC="0") == [("contradiction", "leave NCCL_CROSS_NIC out")]
    assert told(spark_ring(), NCCL_CROSS_NIC="1") == []
    assert told(spark_straight(), NCCL_CROSS_NIC="0") == []


def test_links_that_were_not_proven_say_nothing() -> None:
    unknown = spark_straight().model_copy(update={"links": Unknown(unknown="one node")})
    assert told(unknown, NCCL_CROSS_NIC="1", NCCL_IB_HCA="roce") == []


def test_a_listed_port_that_meets_nobody_is_too_much() -> None:
    (one,) = crossing({"NCCL_IB_HCA": "roce"}, spark_foreign().nodes, spark_foreign())
    assert one.id == "selector-matches-too-much" and "spark-a/enp1s0f1np1" in one.message
    assert told(spark_foreign(), NCCL_IB_HCA="=rocep1s0f0,roceP2p1s0f0") == []
    assert told(spark_foreign()) == [], "what nobody listed is not the list's fault"


def test_wires_are_what_hears_one_another() -> None:
    ends = [(("a", "p0"), ("b", "p0")), (("b", "p0"), ("c", "p0")), (("a", "p1"), ("b", "p1"))]
    links = [link((*one, None), (*other, None)) for one, other in ends]
    assert sorted(map(sorted, wires_of(links))) == [
        [("a", "p0"), ("b", "p0"), ("c", "p0")],
        [("a", "p1"), ("b", "p1")],
    ]
    assert wires_of([]) == []
