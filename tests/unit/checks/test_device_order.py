"""Twins whose addresses are swapped at one end, and lists that leave proven ports out; each with what nearly is."""

from __future__ import annotations

import pytest

from fabricdoc.checks import check_fabric
from fabricdoc.checks.device_order import check_device_order
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric
from fabricdoc.model.findings import Finding
from tests.fabrics.altering import changed
from tests.fabrics.recorded import RECORDED
from tests.fabrics.servers import eight_rail_servers
from tests.fabrics.spark import Wire, spark_foreign, spark_pair, spark_ring, spark_switch

pytestmark = pytest.mark.unit

HEAD_F1: tuple[Wire, ...] = (((0, 1), (1, 0)),)


def swapped(fabric: Fabric, node: str = "spark-b", cage: int = 0) -> Fabric:
    """The twins of a cage with one another's addresses."""
    names = (f"enp1s0f{cage}np{cage}", f"enP2p1s0f{cage}np{cage}")
    netdevs = next(one.netdevs for one in fabric.nodes if one.name == node)
    assert not isinstance(netdevs, Unknown)
    first, second = (next(one.addresses for one in netdevs if one.name == name) for name in names)
    fabric = changed(fabric, node, "netdev", names[0], addresses=second)
    return changed(fabric, node, "netdev", names[1], addresses=first)


def listing(fabric: Fabric, value: str, node: str = "spark-a") -> Fabric:
    return changed(fabric, node, "host", environment={"NCCL_IB_HCA": value})


def only(fabric: Fabric) -> Finding:
    (found,) = check_device_order(fabric)
    return found


@pytest.mark.parametrize("name", sorted(RECORDED))
def test_recorded_fabrics_have_neither(name: str) -> None:
    assert check_device_order(RECORDED[name]()) == ()


def test_swapped_twins_are_told_with_the_real_cures() -> None:
    found = only(swapped(spark_pair("one")))
    assert (found.id, found.severity) == ("rail-subnets-in-another-order", "warning")
    assert found.subject == "spark-a/enp1s0f0np0 - spark-b/enp1s0f0np0"
    assert [one.text for one in found.evidence] == [
        "rocep1s0f0 (enp1s0f0np0) 192.168.100.10/24",
        "roceP2p1s0f0 (enP2p1s0f0np0) 192.168.101.10/24",
        "rocep1s0f0 (enp1s0f0np0) 192.168.101.11/24",
        "roceP2p1s0f0 (enP2p1s0f0np0) 192.168.100.11/24",
    ]
    assert "whatever the order in NCCL_IB_HCA" in found.cause
    assert found.fix[1:5] == (
        "sudo ip address del 192.168.101.11/24 dev enp1s0f0np0",
        "sudo ip address del 192.168.100.11/24 dev enP2p1s0f0np0",
        "sudo ip address add 192.168.100.11/24 dev enp1s0f0np0",
        "sudo ip address add 192.168.101.11/24 dev enP2p1s0f0np0",
    )
    assert any("NCCL_IB_SUBNET_AWARE_ROUTING=1 (NCCL 2.30.7 and later)" in line for line in found.fix)
    assert found.fix[-1] == "or use one port of each: NCCL_IB_HCA==rocep1s0f0 on spark-a, =roceP2p1s0f0 on spark-b"
    assert found in check_fabric(swapped(spark_pair("one")))


def test_crossing_the_cable_changes_nothing_about_its_twins() -> None:
    assert check_device_order(spark_pair(HEAD_F1)) == ()
    assert only(swapped(spark_pair(HEAD_F1))).id == "rail-subnets-in-another-order"
    assert check_device_order(spark_pair("crossed")) == ()


def test_swapped_at_both_ends_is_in_order_again() -> None:
    assert check_device_order(swapped(swapped(spark_pair("one")), "spark-a")) == ()


def test_nodes_that_route_by_subnet_cope() -> None:
    fabric = swapped(spark_pair("one"))
    both = changed(fabric, "*", "host", environment={"NCCL_IB_SUBNET_AWARE_ROUTING": "1"})
    assert check_device_order(both) == ()
    one = changed(fabric, "spark-a", "host", environment={"NCCL_IB_SUBNET_AWARE_ROUTING": "1"})
    assert only(one).id == "rail-subnets-in-another-order"
    off = changed(fabric, "*", "host", environment={"NCCL_IB_SUBNET_AWARE_ROUTING": "0"})
    assert only(off).id == "rail-subnets-in-another-order"


def test_twins_without_subnets_of_their_own_have_no_order() -> None:
    assert check_device_order(spark_pair("one", addressing="twins-share")) == ()
    assert check_device_order(spark_pair("one", addressing="one-twin-bare")) == ()
    assert check_device_order(changed(swapped(spark_pair("one")), "*", "netdev", addresses=())) == ()


def test_other_subnets_at_the_other_end_are_not_this_checks() -> None:
    fabric = changed(spark_pair("one"), "spark-b", "netdev", "enp1s0f0np0", addresses=(
        {"ip": "10.9.9.1", "prefix": 24, "family": "ipv4"},))  # fmt: skip
    assert check_device_order(fabric) == ()


def test_a_dead_twin_leaves_one_and_no_order() -> None:
    assert (
        check_device_order(changed(swapped(spark_pair("one")), "spark-b", "port", "roceP2p1s0f0", state="DOWN")) == ()
    )


def test_a_list_that_names_no_proven_port_is_an_error() -> None:
    """Cage 1 of spark-a leads to somebody else's network, and the list names just that."""
    found = only(listing(spark_foreign(), "=rocep1s0f1,roceP2p1s0f1"))
    assert (found.id, found.severity, found.subject) == ("links-not-used", "error", "spark-a")
    assert found.evidence[0].text == "NCCL_IB_HCA==rocep1s0f1,roceP2p1s0f1 (environment)"
    assert found.fix == ("on spark-a:", "export NCCL_IB_HCA='=rocep1s0f0,roceP2p1s0f0'")
    assert check_device_order(listing(spark_foreign(), "=rocep1s0f0,roceP2p1s0f0")) == ()


def test_more_cables_than_the_list_takes_is_information() -> None:
    found = only(listing(eight_rail_servers(2), "=mlx5_0,mlx5_1,mlx5_2,mlx5_3", "server-001"))
    assert (found.id, found.severity, found.confidence) == ("links-not-used", "info", "possible")
    assert [one.text for one in found.evidence[1:]] == [
        f"mlx5_{k} ({name}) has a proven peer"
        for k, name in ((4, "enp148s0np0"), (5, "enp180s0np0"), (6, "enp212s0np0"), (7, "enp228s0np0"))
    ]
    assert found.fix[-1] == "export NCCL_IB_HCA='=" + ",".join(f"mlx5_{k}" for k in range(8)) + "'"


@pytest.mark.parametrize("value", ["", "mlx5", "^mlx5_99", "=" + ",".join(f"mlx5_{k}" for k in range(8))])
def test_lists_that_take_all_say_nothing(value: str) -> None:
    assert check_device_order(listing(eight_rail_servers(2), value, "server-001")) == ()


def test_one_of_two_cables_between_two_sparks_is_as_it_should_be() -> None:
    assert check_device_order(listing(spark_pair("straight"), "=rocep1s0f0,roceP2p1s0f0")) == ()


def test_a_ring_of_sparks_needs_both_cages() -> None:
    found = only(listing(spark_ring(), "=rocep1s0f0,roceP2p1s0f0"))
    assert (found.severity, found.subject) == ("info", "spark-a")
    assert "rocep1s0f1" in found.fix[-1]


def test_one_twin_left_out_is_another_finding() -> None:
    fabric = listing(spark_pair("one"), "=rocep1s0f0")
    assert check_device_order(fabric) == ()
    assert "gb10-one-function-of-port-used" in {one.id for one in check_fabric(fabric)}
    assert check_device_order(listing(spark_switch(), "=rocep1s0f0")) == ()


def test_without_links_or_list_nothing_is_said() -> None:
    fabric = listing(spark_foreign(), "=rocep1s0f1")
    assert check_device_order(fabric.model_copy(update={"links": Unknown(unknown="not asked")})) == ()
    assert check_device_order(spark_foreign()) == ()
