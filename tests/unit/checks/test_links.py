"""Ports that should be up: dead twins, dead RDMA ports, flapping, mixed kinds, and none at all."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.checks.links import check_links
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric
from tests.fabrics.altering import changed, without
from tests.fabrics.healthy import with_virtual_functions
from tests.fabrics.recorded import HEALTHY, RECORDED
from tests.fabrics.servers import eight_rail_servers
from tests.fabrics.spark import spark_one_cable, spark_pair, spark_straight
from tests.unit.checks.judged import ids, only, texts

pytestmark = pytest.mark.unit

TWIN, TWIN_IF = "roceP2p1s0f0", "enP2p1s0f0np0"


def down(fabric: Fabric, node: str, hca: str, netdev: str, **facts: Any) -> Fabric:
    port = changed(fabric, node, "port", hca, state="DOWN", phys_state="Disabled")
    return changed(port, node, "netdev", netdev, **({"carrier": False, "operstate": "down"} | facts))


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_fabrics_are_silent(name: str) -> None:
    assert ids(check_links, RECORDED[name]()) == []


def test_an_empty_cage_is_no_fault_but_half_of_one_is() -> None:
    fabric = spark_one_cable()
    assert ids(check_links, fabric) == []
    found = only(check_links, down(fabric, "spark-b", TWIN, TWIN_IF), "twin-port-down")
    assert (found.severity, found.subject) == ("error", f"spark-b/{TWIN}")
    assert texts(found) == [
        f"{TWIN} port 1 DOWN, physical state Disabled; {TWIN_IF} down, carrier False",
        "rocep1s0f0 port 1 ACTIVE, physical state LinkUp; enp1s0f0np0 up, carrier True (its twin)",
    ]
    assert found.fix[:2] == ("on spark-b:", f"sudo ip link set dev {TWIN_IF} up")


def test_a_twin_that_is_down_by_hand_has_no_carrier_to_read() -> None:
    no_carrier = Unknown(unknown="EINVAL: the interface is down")
    found = down(spark_one_cable(), "spark-a", TWIN, TWIN_IF, carrier=no_carrier)
    assert only(check_links, found, "twin-port-down").subject == f"spark-a/{TWIN}"


def test_without_known_cages_a_dead_port_may_be_an_empty_cage() -> None:
    fabric = changed(down(spark_one_cable(), "spark-b", TWIN, TWIN_IF), "spark-b", "node", cages=())
    assert ids(check_links, fabric) == []


def test_an_unknown_state_is_not_down() -> None:
    fabric = changed(spark_one_cable(), "spark-b", "port", TWIN, state=Unknown(unknown="x"))
    assert ids(check_links, fabric) == []


def test_a_dead_rdma_port_on_a_live_interface_is_named() -> None:
    fabric = changed(spark_one_cable(), "spark-a", "port", "rocep1s0f0", state="INIT")
    found = only(check_links, fabric, "port-down-netdev-up")
    assert (found.severity, found.subject) == ("error", "spark-a/rocep1s0f0")
    assert "is INIT" in found.cause
    assert "sudo ip link set dev enp1s0f0np0 down" in found.fix


@pytest.mark.parametrize(
    "nearly", [{"carrier": False}, {"operstate": "dormant"}, {"master": "bond0"}, {"carrier": Unknown(unknown="x")}]
)
def test_a_port_whose_interface_is_not_up_either_is_another_matter(nearly: dict[str, Any]) -> None:
    fabric = changed(spark_one_cable(), "spark-a", "port", "rocep1s0f0", state="INIT")
    fabric = changed(fabric, "spark-a", "netdev", "enp1s0f0np0", **nearly)
    assert "port-down-netdev-up" not in [id for id, _severity, _subject in ids(check_links, fabric)]


def dark(fabric: Fabric) -> Fabric:
    fabric = changed(fabric, "spark-a", "port", "*", state="DOWN")
    return changed(fabric, "spark-a", "netdev", "*", carrier=False, operstate="down")


def test_no_active_port_is_a_warning_among_nodes_and_information_alone() -> None:
    assert ids(check_links, dark(spark_straight())) == [("no-active-port", "warning", "spark-a")]
    alone = without(dark(spark_straight()), "spark-b")
    assert ids(check_links, alone) == [("no-active-port", "info", "spark-a")]
    found = only(check_links, alone, "no-active-port")
    assert "sudo ip link set dev enP2p1s0f1np1 up" in found.fix
    assert texts(found)[0] == "roceP2p1s0f0 port 1 DOWN, physical state LinkUp" and len(found.evidence) == 4


def test_one_active_or_unread_port_is_enough_for_silence() -> None:
    fabric = changed(dark(spark_straight()), "spark-a", "port", "rocep1s0f1", state="ACTIVE")
    assert "no-active-port" not in [id for id, *_rest in ids(check_links, fabric)]
    fabric = changed(dark(spark_straight()), "spark-a", "port", "rocep1s0f1", state=Unknown(unknown="x"))
    assert "no-active-port" not in [id for id, *_rest in ids(check_links, fabric)]


@pytest.mark.parametrize(
    ("changes", "uptime", "severity"),
    [
        (200, 86_400.0, "warning"),
        (143, 86_400.0, None),  # 5.96 an hour
        (144, 86_400.0, "warning"),  # 6 an hour
        (19, 600.0, None),  # many for ten minutes, few in number: two reboots of the peer
        (20, 600.0, "warning"),
        (5000, Unknown(unknown="x"), None),
        (Unknown(unknown="x"), 86_400.0, None),
    ],
)
def test_flapping_needs_number_and_rate(changes: Any, uptime: Any, severity: str | None) -> None:
    fabric = changed(spark_pair("one"), "spark-a", "host", uptime_s=uptime)
    fabric = changed(fabric, "spark-a", "netdev", "enp1s0f0np0", carrier_changes=changes)
    wanted = [("link-flap", severity, "spark-a/enp1s0f0np0")] if severity else []
    assert ids(check_links, fabric) == wanted


def test_infiniband_beside_ethernet_needs_a_choice() -> None:
    fabric = changed(eight_rail_servers(), "server-001", "port", "mlx5_7", link_layer="InfiniBand")
    found = only(check_links, fabric, "mixed-link-layers")
    assert (found.severity, found.subject) == ("warning", "server-001")
    assert "mlx5_7 port 1 InfiniBand" in texts(found)
    chosen = changed(fabric, "server-001", "host", environment={"NCCL_IB_HCA": "=mlx5_0"})
    assert ids(check_links, chosen) == []
    unplugged = changed(fabric, "server-001", "port", "mlx5_7", link_layer="InfiniBand", state="DOWN")
    assert "mixed-link-layers" not in [id for id, *_rest in ids(check_links, unplugged)]


def test_a_twin_of_a_virtual_function_is_no_twin() -> None:
    fabric = with_virtual_functions(spark_one_cable())
    assert ids(check_links, fabric) == []
    cages = fabric.nodes[0].cages
    wide = tuple(one.model_copy(update={"hcas": (*one.hcas, "rocep1s0f0v1")}) for one in cages)
    assert ids(check_links, changed(fabric, "spark-a", "node", cages=wide)) == []


@pytest.mark.parametrize("state", ["INIT", "ARMED", "ACTIVE_DEFER"])
def test_any_state_but_active_is_down(state: str) -> None:
    fabric = changed(spark_one_cable(), "spark-a", "port", TWIN, state=state)
    fabric = changed(fabric, "spark-a", "netdev", TWIN_IF, carrier=False, operstate="down")
    assert only(check_links, fabric, "twin-port-down").evidence[0].text.startswith(f"{TWIN} port 1 {state}")


def test_a_cage_that_names_an_hca_nobody_has_is_passed_over() -> None:
    cages = tuple(one.model_copy(update={"hcas": (*one.hcas, "gone0")}) for one in spark_one_cable().nodes[0].cages)
    assert ids(check_links, changed(spark_one_cable(), "spark-a", "node", cages=cages)) == []


def test_a_dead_infiniband_port_is_not_this_checks() -> None:
    fabric = changed(eight_rail_servers(), "server-001", "port", "mlx5_3", state="INIT", link_layer="InfiniBand")
    assert "port-down-netdev-up" not in [id for id, *_rest in ids(check_links, fabric)]


def test_the_rate_of_a_young_node_is_of_an_hour_at_least() -> None:
    fabric = changed(spark_pair("one"), "spark-a", "host", uptime_s=10.0)
    fabric = changed(fabric, "spark-a", "netdev", "enp1s0f0np0", carrier_changes=20)
    assert "20 times, 20.0 an hour since boot (told from 6 an hour)" in texts(only(check_links, fabric, "link-flap"))[0]
    assert ids(check_links, changed(fabric, "spark-a", "host", uptime_s=0.0)) == []


def test_many_dead_ports_are_told_in_part() -> None:
    fabric = changed(eight_rail_servers(), "server-001", "port", "*", state="DOWN")
    fabric = changed(fabric, "server-001", "netdev", "*", carrier=False, operstate="down")
    fabric = changed(fabric, "server-001", "hca", "mlx5_0", ports=fabric.nodes[0].hcas[0].ports * 3)  # type: ignore[union-attr]
    found = only(check_links, fabric, "no-active-port")
    assert len(found.evidence) == 10 and len([line for line in found.fix if line.startswith("sudo")]) == 10
