"""MTUs of one node's ports."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.checks.port_mtu import OVERHEAD, RDMA_MTUS, check_port_mtu, expected_active_mtu
from fabricdoc.model.documents import Unknown
from tests.fabrics.altering import changed
from tests.fabrics.recorded import HEALTHY, RECORDED
from tests.fabrics.spark import spark_one_cable, spark_pair
from tests.unit.checks.judged import ids, only, texts

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_fabrics_are_silent(name: str) -> None:
    assert ids(check_port_mtu, RECORDED[name]()) == []


@pytest.mark.parametrize(
    ("mtu", "active"), [(1500, 1024), (4191, 2048), (4192, 4096), (4200, 4096), (9000, 4096), (351, 0), (352, 256)]
)
def test_the_rdma_mtu_that_fits(mtu: int, active: int) -> None:
    assert expected_active_mtu(mtu) == active


@given(st.integers(0, 70_000))
def test_the_rdma_mtu_is_the_largest_that_fits(mtu: int) -> None:
    active = expected_active_mtu(mtu)
    assert active + OVERHEAD <= mtu or active == 0
    assert all(one <= active or one + OVERHEAD > mtu for one in RDMA_MTUS)


def test_a_pair_at_1500_is_information_only_once_a_node() -> None:
    fabric = spark_pair("one", mtu=1500)
    assert ids(check_port_mtu, fabric) == [("roce-mtu-small", "info", "spark-a"), ("roce-mtu-small", "info", "spark-b")]
    found = next(iter(check_port_mtu(fabric)))
    assert "rocep1s0f0 active_mtu 1024, active_mtu 4096 needs mtu 4200" in texts(found)[1]
    assert "sudo ip link set dev enp1s0f0np0 mtu 9000" in found.fix


def test_twins_of_different_mtu_are_named() -> None:
    fabric = changed(spark_one_cable(), "spark-b", "netdev", "enP2p1s0f0np0", mtu=1500)
    fabric = changed(fabric, "spark-b", "port", "roceP2p1s0f0", active_mtu=1024)
    found = only(check_port_mtu, fabric, "twin-mtu-differs")
    assert (found.severity, found.subject) == ("warning", "spark-b/enP2p1s0f0np0")
    assert set(texts(found)) == {
        "enP2p1s0f0np0 mtu 1500, roceP2p1s0f0 active_mtu 1024",
        "enp1s0f0np0 mtu 9000, rocep1s0f0 active_mtu 4096",
    }
    assert found.fix[1] == "sudo ip link set dev enP2p1s0f0np0 mtu 9000"


def test_ports_of_two_cages_may_differ() -> None:
    fabric = spark_pair("straight")
    for netdev, hca in (("enp1s0f1np1", "rocep1s0f1"), ("enP2p1s0f1np1", "roceP2p1s0f1")):
        fabric = changed(fabric, "spark-a", "netdev", netdev, mtu=4200)
        fabric = changed(fabric, "spark-a", "port", hca, active_mtu=4096)
    assert ids(check_port_mtu, fabric) == []


@pytest.mark.parametrize(
    ("mtu", "active", "most", "told"),
    [
        (9000, 1024, 4096, True),
        (9000, 2048, 2048, False),  # the device can do no more
        (9000, 4096, 4096, False),
        (4191, 2048, 4096, False),
        (4191, 1024, 4096, True),
        (9000, 1024, Unknown(unknown="x"), True),
        (9000, Unknown(unknown="x"), 4096, False),
        (Unknown(unknown="x"), 1024, 4096, False),
        (1500, 4096, 4096, False),  # above what fits: not this check's matter
    ],
)
def test_an_rdma_mtu_that_did_not_follow(mtu: Any, active: Any, most: Any, told: bool) -> None:
    fabric = changed(spark_one_cable(), "spark-a", "netdev", "*", mtu=mtu)
    fabric = changed(fabric, "spark-a", "port", "rocep1s0f0", active_mtu=active, max_mtu=most)
    found = [(id, subject) for id, _severity, subject in ids(check_port_mtu, fabric) if id == "active-mtu-low"]
    assert found == ([("active-mtu-low", "spark-a/rocep1s0f0")] if told else [])


def test_a_member_of_a_bond_follows_the_bond() -> None:
    fabric = changed(spark_one_cable(), "spark-a", "port", "rocep1s0f0", active_mtu=1024, max_mtu=4096)
    bonded = changed(fabric, "spark-a", "netdev", "enp1s0f0np0", master="bond0")
    assert [id for id, *_rest in ids(check_port_mtu, fabric)] == ["active-mtu-low"]
    assert ids(check_port_mtu, bonded) == []


def test_the_rdma_mtu_is_the_kernels_at_every_size() -> None:
    """include/rdma/ib_addr.h: iboe_get_mtu takes the headers off and the largest that still fits."""
    for mtu in range(0, 9001):
        fits = [one for one in (256, 512, 1024, 2048, 4096) if one + 96 <= mtu]
        assert expected_active_mtu(mtu) == max(fits, default=0)
