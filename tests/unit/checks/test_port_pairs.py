"""Speed and PCIe link of like ports on all nodes."""

from __future__ import annotations

import pytest

from fabricdoc.checks.port_pairs import check_port_pairs
from fabricdoc.model.documents import Unknown
from tests.fabrics.altering import changed, without
from tests.fabrics.recorded import HEALTHY, RECORDED
from tests.fabrics.servers import eight_rail_bad, eight_rail_servers
from tests.fabrics.spark import spark_one_cable, spark_x2
from tests.unit.checks.between import ids

pytestmark = pytest.mark.unit

HIDDEN = Unknown(unknown="no")
NIC = "0000:b4:00.0"  # mlx5_5


@pytest.mark.parametrize("name", [*HEALTHY, "spark-crossed", "spark-ring", "spark-foreign", "servers-swapped-rails"])
def test_fabrics_of_like_links_are_silent(name: str) -> None:
    assert check_port_pairs(RECORDED[name]()) == ()


def test_the_narrow_slot_is_named_against_all_others() -> None:
    (found,) = check_port_pairs(eight_rail_bad())
    assert ids([found]) == [("pcie-differs-between-nodes", "warning", "server-002/mlx5_5")]
    assert found.evidence[1].text == "mlx5_5 PCIe link (current_link_speed, current_link_width): 32 GT/s x8"


def test_the_second_controller_of_an_early_bios_is_named() -> None:
    (found,) = check_port_pairs(spark_x2())
    assert found.subject == "spark-b/roceP2p1s0f0, spark-b/roceP2p1s0f1"
    assert "BIOS" in found.fix[0]


def test_a_slow_link_is_named() -> None:
    (found,) = check_port_pairs(eight_rail_servers(bad_rail=5, fault="speed"))
    assert ids([found]) == [("link-slower-than-siblings", "warning", "server-002/mlx5_5")]
    assert "100000 Mbit/s instead of 400000" in found.fix[0]


def test_a_fast_link_among_slower_ones_is_no_fault() -> None:
    fabric = changed(eight_rail_servers(), "server-001", "netdev", "enp212s0np0", speed_mbps=800_000)
    assert check_port_pairs(fabric) == ()


def test_a_slot_that_is_narrow_on_every_node_is_meant_so() -> None:
    fabric = eight_rail_servers(3)
    assert check_port_pairs(changed(fabric, "*", "pcie", NIC, current_width=8)) == ()
    (found,) = check_port_pairs(changed(fabric, "server-003", "pcie", NIC, current_width=8))
    assert found.subject == "server-003/mlx5_5"


def test_one_node_alone_and_what_is_unknown_are_silent() -> None:
    assert check_port_pairs(without(eight_rail_bad(), "server-001")) == ()
    unknown = changed(eight_rail_bad(), "server-002", "pcie", NIC, current_width=HIDDEN)
    assert check_port_pairs(unknown) == ()
    assert check_port_pairs(changed(eight_rail_bad(), "server-002", "hca", "mlx5_5", pci=HIDDEN)) == ()
    assert check_port_pairs(changed(spark_one_cable(), "spark-a", "netdev", "enp1s0f0np0", speed_mbps=HIDDEN)) == ()


def test_boards_of_other_kinds_are_not_held_against_each_other() -> None:
    fabric = changed(eight_rail_bad(), "server-002", "hca", "mlx5_5", board_id="MT_0000000224")
    assert check_port_pairs(fabric) == ()


def test_a_faster_pcie_link_among_slower_ones_is_told_too() -> None:
    """The others are narrow then: which of the two is right only their slots and BIOS tell."""
    fabric = changed(eight_rail_servers(3), "*", "pcie", NIC, current_width=8)
    (found,) = check_port_pairs(changed(fabric, "server-001", "pcie", NIC, current_width=16))
    assert (found.id, found.subject) == ("pcie-differs-between-nodes", "server-001/mlx5_5")


def test_two_nodes_with_other_speeds_have_no_usual_one() -> None:
    fabric = spark_one_cable()
    for netdev in ("enp1s0f0np0", "enP2p1s0f0np0"):
        fabric = changed(fabric, "spark-b", "netdev", netdev, speed_mbps=100_000)
    (found,) = check_port_pairs(fabric)
    assert found.id == "link-slower-than-siblings"
    assert {piece.file for piece in found.evidence} == {"spark-a", "spark-b"}
    assert found.fix == ("compare the cables and the switch ports of these links; the slower one sets the pace",)


@pytest.mark.parametrize("fact", ["current_speed_gts", "current_width"])
def test_half_a_link_has_no_vote(fact: str) -> None:
    fabric = changed(eight_rail_bad(), "server-002", "pcie", NIC, **{fact: HIDDEN})
    assert check_port_pairs(fabric) == ()
