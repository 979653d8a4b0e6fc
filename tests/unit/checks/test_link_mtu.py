"""MTU of the two ends of a cable, where no subnet tells it."""

from __future__ import annotations

import pytest

from fabricdoc.checks.link_mtu import raise_lines, uneven_cables
from fabricdoc.checks.segments import segments_of
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric
from fabricdoc.model.findings import Finding
from tests.fabrics.altering import changed
from tests.fabrics.recorded import HEALTHY, RECORDED
from tests.fabrics.spark import spark_one_cable, spark_switch
from tests.unit.checks.between import ids

pytestmark = pytest.mark.unit

HIDDEN = Unknown(unknown="no")
CABLE = "spark-a/enp1s0f0np0 - spark-b/enp1s0f0np0"


def judged(fabric: Fabric, *told: tuple[str, str]) -> list[Finding]:
    return list(uneven_cables([one for one in segments_of(fabric) if one.is_cable], told))


def at_b(**facts: object) -> Fabric:
    fabric = spark_one_cable()
    for netdev in ("enp1s0f0np0", "enP2p1s0f0np0"):
        fabric = changed(fabric, "spark-b", "netdev", netdev, **facts)
    return fabric


@pytest.mark.parametrize("name", [*HEALTHY, "spark-crossed", "spark-ring"])
def test_healthy_fabrics_are_silent(name: str) -> None:
    assert judged(RECORDED[name]()) == []


def test_the_smaller_end_gets_the_lines() -> None:
    (found,) = judged(at_b(mtu=1500))
    assert ids([found]) == [("mtu-mismatch", "warning", CABLE)]
    assert found.fix[:3] == (
        "on spark-b:",
        "sudo ip link set dev enp1s0f0np0 mtu 9000",
        "sudo ip link set dev enP2p1s0f0np0 mtu 9000",
    )
    assert {piece.text.split(",")[0] for piece in found.evidence} == {
        "enp1s0f0np0 mtu 9000", "enP2p1s0f0np0 mtu 9000", "enp1s0f0np0 mtu 1500", "enP2p1s0f0np0 mtu 1500",
    }  # fmt: skip


def test_an_rdma_mtu_that_stayed_small_is_told_though_interfaces_agree() -> None:
    fabric = spark_one_cable()
    for hca in ("rocep1s0f0", "roceP2p1s0f0"):
        fabric = changed(fabric, "spark-b", "port", hca, active_mtu=1024)
    (found,) = judged(fabric)
    assert found.id == "mtu-mismatch"
    assert "enp1s0f0np0 mtu 9000, rocep1s0f0 active_mtu 1024" in {piece.text for piece in found.evidence}
    assert found.fix[:2] == ("on spark-b:", "sudo ip link set dev enp1s0f0np0 mtu 9000")


def test_what_a_subnet_told_is_not_told_again() -> None:
    assert judged(at_b(mtu=1500), ("spark-b", "enp1s0f0np0")) == []


def test_unknown_mtus_dead_ports_and_switches_are_no_difference() -> None:
    assert judged(at_b(mtu=HIDDEN)) == []
    dead = changed(spark_one_cable(), "spark-b", "port", "rocep1s0f0", active_mtu=1024, state="DOWN")
    assert judged(dead) == []
    assert judged(changed(spark_switch(), "spark-b", "netdev", "enp1s0f0np0", mtu=1500)) == []


def test_lines_are_grouped_by_node_and_bounded() -> None:
    assert raise_lines([("b", "p0"), ("a", "p0"), ("b", "p1")], 9000) == [
        "on a:", "sudo ip link set dev p0 mtu 9000",
        "on b:", "sudo ip link set dev p0 mtu 9000", "sudo ip link set dev p1 mtu 9000",
    ]  # fmt: skip
    many = raise_lines([(f"n{k:03d}", "p0") for k in range(500)], 9000)
    assert len(many) == 17
    assert many[-1].startswith("the same on n008, n009") and many[-1].endswith("and 484 more")


def test_one_end_of_unknown_and_one_of_known_mtu_is_no_difference() -> None:
    fabric = at_b(mtu=HIDDEN)
    for hca in ("rocep1s0f0", "roceP2p1s0f0"):
        fabric = changed(fabric, "spark-b", "port", hca, active_mtu=HIDDEN)
    assert judged(fabric) == []


def test_twins_that_differ_alike_at_both_ends_are_even() -> None:
    fabric = changed(spark_one_cable(), "*", "netdev", "enp1s0f0np0", mtu=1500)
    assert judged(fabric) == []
    assert len(judged(changed(spark_one_cable(), "spark-a", "netdev", "enp1s0f0np0", mtu=1500))) == 1


def test_an_active_mtu_of_a_port_that_is_not_active_is_not_shown() -> None:
    fabric = changed(at_b(mtu=1500), "spark-b", "port", "rocep1s0f0", state="DOWN")
    (found,) = judged(fabric)
    assert "enp1s0f0np0 mtu 1500" in {piece.text for piece in found.evidence}


def test_the_mtu_that_stays_is_the_largest() -> None:
    (found,) = judged(at_b(mtu=4200))
    assert "netplan: mtu: 9000" in found.fix[-1]
