"""The two ends of a cable: speed, FEC, autonegotiation, GIDs at one end only."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.checks.link_pairs import check_link_pairs, has_routable_gid
from fabricdoc.checks.segments import segments_of
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Address, Fabric
from tests.fabrics import crossed_pair
from tests.fabrics.altering import changed
from tests.fabrics.recorded import HEALTHY, RECORDED
from tests.fabrics.servers import eight_rail_servers
from tests.fabrics.spark import spark_one_cable, spark_straight, spark_switch, spark_twin_bare
from tests.unit.checks.between import ids

pytestmark = pytest.mark.unit

HIDDEN = Unknown(unknown="no")
TWINS = ("enp1s0f0np0", "enP2p1s0f0np0")
CABLE = "spark-a/enp1s0f0np0 - spark-b/enp1s0f0np0"


def at_b(fabric: Fabric, **facts: Any) -> Fabric:
    for netdev in TWINS:
        fabric = changed(fabric, "spark-b", "netdev", netdev, **facts)
    return fabric


@pytest.mark.parametrize("name", [*HEALTHY, "spark-crossed", "spark-ring"])
def test_healthy_fabrics_are_silent(name: str) -> None:
    assert check_link_pairs(RECORDED[name]()) == ()


@pytest.mark.parametrize(
    ("facts", "id", "severity", "texts"),
    [
        ({"speed_mbps": 100_000}, "link-speed-differs", "warning", ("speed 200000 Mbit/s", "speed 100000 Mbit/s")),
        ({"fec": "Off"}, "link-fec-differs", "warning", ("FEC RS", "FEC Off")),
        ({"autoneg": False}, "link-autoneg-differs", "info", ("autoneg on", "autoneg off")),
    ],
)
def test_ends_that_differ_are_both_told(facts: dict[str, Any], id: str, severity: str, texts: tuple[str, str]) -> None:
    (found,) = check_link_pairs(at_b(spark_one_cable(), **facts))
    assert ids([found]) == [(id, severity, CABLE)]
    assert [piece.file for piece in found.evidence] == ["spark-a", "spark-a", "spark-b", "spark-b"]
    assert {piece.text for piece in found.evidence} == {f"{netdev} {text}" for netdev in TWINS for text in texts}
    assert found.fix[0] == "on spark-a:" and found.fix[2] == "on spark-b:"
    assert any("sudo ethtool" in line and "np0" in line for line in found.fix)


@pytest.mark.parametrize("facts", [{"speed_mbps": HIDDEN}, {"fec": HIDDEN}, {"autoneg": HIDDEN}])
def test_what_one_end_does_not_tell_is_no_difference(facts: dict[str, Any]) -> None:
    assert check_link_pairs(at_b(spark_one_cable(), **facts)) == ()


def test_twins_that_differ_among_themselves_are_not_this_checks() -> None:
    assert check_link_pairs(changed(spark_one_cable(), "spark-b", "netdev", TWINS[0], speed_mbps=100_000)) == ()


def test_ports_on_a_switch_and_the_other_cable_are_not_compared() -> None:
    assert check_link_pairs(at_b(spark_switch(), speed_mbps=100_000)) == ()
    both = spark_straight()
    for netdev in ("enp1s0f1np1", "enP2p1s0f1np1"):
        both = changed(both, "*", "netdev", netdev, speed_mbps=100_000)
    assert check_link_pairs(both) == ()


def test_a_bare_twin_whose_peer_has_an_address_is_an_error_with_an_address_to_paste() -> None:
    (found,) = check_link_pairs(spark_twin_bare())
    assert ids([found]) == [("gid-missing-at-one-end", "error", "spark-b/roceP2p1s0f0")]
    assert found.evidence[1].text == "enP2p1s0f0np0 at the other end: 192.168.101.10/24"
    assert found.fix[:2] == ("on spark-b:", "sudo ip address add 192.168.101.2/24 dev enP2p1s0f0np0")
    assert found.fix[-1].endswith("export NCCL_IB_HCA=^=roceP2p1s0f0")


def bare(fabric: Fabric, node: str, *ports: tuple[str, str]) -> Fabric:
    for hca, netdev in ports:
        fabric = changed(changed(fabric, node, "port", hca, gids=()), node, "netdev", netdev, addresses=())
    return fabric


FIRST, SECOND = ("rocep1s0f0", TWINS[0]), ("roceP2p1s0f0", TWINS[1])


def test_two_ends_equally_bare_work() -> None:
    fabric = spark_one_cable()
    assert check_link_pairs(bare(bare(fabric, "spark-a", SECOND), "spark-b", SECOND)) == ()
    assert check_link_pairs(bare(bare(fabric, "spark-a", FIRST, SECOND), "spark-b", FIRST, SECOND)) == ()


def test_each_bare_twin_gets_the_subnet_of_its_like() -> None:
    found = check_link_pairs(bare(spark_one_cable(), "spark-a", FIRST, SECOND))
    assert [one.subject for one in found] == ["spark-a/rocep1s0f0", "spark-a/roceP2p1s0f0"]
    assert [one.fix[1].split()[4] for one in found] == ["192.168.100.2/24", "192.168.101.2/24"]


def test_an_unread_table_or_a_dead_port_is_no_bare_end() -> None:
    fabric = spark_twin_bare()
    assert check_link_pairs(changed(fabric, "spark-b", "port", "roceP2p1s0f0", gids=HIDDEN)) == ()
    assert check_link_pairs(changed(fabric, "spark-a", "port", "rocep1s0f0", gids=HIDDEN)) == ()


def test_single_ports_of_servers_are_held_against_each_other() -> None:
    fabric = changed(eight_rail_servers(), "server-002", "port", "mlx5_3", gids=())
    assert ids(check_link_pairs(fabric)) == [("gid-missing-at-one-end", "error", "server-002/mlx5_3")]


def test_a_dead_end_has_no_speed_and_no_fec_to_compare() -> None:
    fabric = spark_one_cable()
    assert check_link_pairs(at_b(fabric, speed_mbps=100_000, fec="Off", carrier=False)) == ()


def test_each_setting_is_a_finding_of_its_own() -> None:
    found = check_link_pairs(at_b(spark_one_cable(), speed_mbps=100_000, fec="Off", autoneg=False))
    assert [one.id for one in found] == ["link-speed-differs", "link-fec-differs", "link-autoneg-differs"]
    assert [one.fix[1] for one in found] == [
        "sudo ethtool -s enp1s0f0np0 autoneg on",
        "sudo ethtool --set-fec enp1s0f0np0 encoding auto",
        "sudo ethtool -s enp1s0f0np0 autoneg on",
    ]


def test_both_ends_alike_are_no_difference_however_they_are_set() -> None:
    facts = {"speed_mbps": 100_000, "fec": "BaseR", "autoneg": False}
    fabric = at_b(spark_one_cable(), **facts)
    for netdev in TWINS:
        fabric = changed(fabric, "spark-a", "netdev", netdev, **facts)
    assert check_link_pairs(fabric) == ()


def test_a_bare_end_without_addresses_at_the_peer_gets_no_made_up_address() -> None:
    fabric = spark_twin_bare()
    fabric = changed(fabric, "spark-a", "netdev", TWINS[1], addresses=())
    (found,) = check_link_pairs(fabric)
    assert found.fix[0] == "give enP2p1s0f0np0 on spark-b an IPv4 address in the other end's subnet"
    assert found.evidence[1].text.endswith("192.168.100.10/24")


def test_a_type_that_was_not_read_counts_as_one_that_fits() -> None:
    fabric = spark_one_cable()
    assert not isinstance(fabric.nodes[1].hcas, Unknown)
    table = fabric.nodes[1].hcas[0].ports[0].gids
    assert not isinstance(table, Unknown)
    untyped = tuple(gid.model_copy(update={"type": HIDDEN}) for gid in table)
    assert check_link_pairs(changed(fabric, "spark-b", "port", fabric.nodes[1].hcas[0].name, gids=untyped)) == ()
    first = tuple(gid.model_copy(update={"type": "IB/RoCE v1"}) for gid in table)
    found = check_link_pairs(changed(fabric, "spark-b", "port", fabric.nodes[1].hcas[0].name, gids=first))
    assert [one.id for one in found] == ["gid-missing-at-one-end"]


def test_a_full_subnet_has_no_address_to_propose() -> None:
    narrow = spark_twin_bare()
    for node, ip in (("spark-a", "192.168.101.0"), ("spark-b", "192.168.101.1")):
        own = (Address(ip=ip, prefix=31, family="ipv4"),)
        fabric_port = TWINS[1] if node == "spark-a" else "enP7s7"
        narrow = changed(narrow, node, "netdev", fabric_port, addresses=own)
    (found,) = check_link_pairs(narrow)
    assert found.fix[0].startswith("give enP2p1s0f0np0 on spark-b an IPv4 address")


def test_ports_without_an_hca_have_no_gid_to_miss() -> None:
    assert check_link_pairs(crossed_pair()) == ()
    assert has_routable_gid(segments_of(crossed_pair())[0].ends[0].ports[0]) is False
