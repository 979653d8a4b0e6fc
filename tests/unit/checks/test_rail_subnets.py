"""Ports on one leaf that are not in one subnet."""

from __future__ import annotations

import pytest

from fabricdoc.checks.rail_subnets import check_rail_subnets
from fabricdoc.model.fabric import Address, Fabric
from tests.fabrics import link, netdev, node
from tests.fabrics.altering import changed
from tests.fabrics.recorded import RECORDED
from tests.fabrics.servers import eight_rail_servers
from tests.fabrics.spark import spark_switch
from tests.unit.checks.between import ids

pytestmark = pytest.mark.unit


@pytest.mark.long
@pytest.mark.parametrize("name", list(RECORDED))
def test_recorded_fabrics_have_each_leaf_in_one_subnet(name: str) -> None:
    assert check_rail_subnets(RECORDED[name]()) == ()
    assert check_rail_subnets(eight_rail_servers(3)) == ()


def test_two_rails_in_each_others_leaf_are_named_on_both() -> None:
    found = check_rail_subnets(eight_rail_servers(3, bad_rail=5, fault="swapped"))
    assert ids(found) == [
        ("rail-in-another-subnet", "error", "server-003/enp212s0np0"),
        ("rail-in-another-subnet", "error", "server-003/enp180s0np0"),
    ]
    assert [piece.text for piece in found[0].evidence] == [
        "enp180s0np0 10.1.5.1/24, as on 2 of 3",
        "enp212s0np0 10.1.6.3/24",
    ]
    assert found[0].fix[0].startswith("on server-003: move the cable of enp212s0np0 to the leaf of 10.1.6.0/24")


def test_a_wrong_address_and_a_missing_one() -> None:
    fabric = eight_rail_servers(3)
    wrong = (Address(ip="10.9.9.9", prefix=24, family="ipv4"),)
    found = check_rail_subnets(changed(fabric, "server-002", "netdev", "enp212s0np0", addresses=wrong))
    assert ids(found) == [("rail-in-another-subnet", "error", "server-002/enp212s0np0")]
    assert check_rail_subnets(changed(fabric, "server-002", "netdev", "enp212s0np0", addresses=())) == ()


def test_two_subnets_on_one_switch_are_no_fault_and_those_of_another_rail_are() -> None:
    fabric = eight_rail_servers(6)
    for number in (5, 6):
        own = (Address(ip=f"10.9.9.{number}", prefix=24, family="ipv4"),)
        fabric = changed(fabric, f"server-{number:03}", "netdev", "enp212s0np0", addresses=own)
    assert check_rail_subnets(fabric) == ()
    for number in (5, 6):
        others = (Address(ip=f"10.1.5.{number + 100}", prefix=24, family="ipv4"),)
        fabric = changed(fabric, f"server-{number:03}", "netdev", "enp212s0np0", addresses=others)
    assert [one.subject for one in check_rail_subnets(fabric)] == ["server-005/enp212s0np0, server-006/enp212s0np0"]


def test_twins_of_which_one_is_right_are_not_in_another_leaf() -> None:
    wrong = (Address(ip="10.9.9.9", prefix=24, family="ipv4"),)
    fabric = changed(spark_switch(), "spark-b", "netdev", "enP2p1s0f0np0", addresses=wrong)
    assert check_rail_subnets(fabric) == ()
    both = changed(fabric, "spark-b", "netdev", "enp1s0f0np0", addresses=wrong)
    assert [one.subject.split("/")[0] for one in check_rail_subnets(both)] == ["spark-b"]


def flat(*subnets: tuple[int, int]) -> Fabric:
    """Nodes with two ports each, all of them on one flat switch."""
    nodes = [
        node(f"n{k}", netdevs=[netdev(f"p{at}", ip=f"10.0.{net}.{k + 1}") for at, net in enumerate(nets)])
        for k, nets in enumerate(subnets)
    ]
    ports = [(one.name, f"p{at}") for one in nodes for at in (0, 1)]
    links = [link((*ports[0], None), (*other, None), kind="segment") for other in ports[1:]]
    return Fabric(nodes=tuple(nodes), links=tuple(links))


def test_a_flat_network_holds_all_rails_in_any_order() -> None:
    assert check_rail_subnets(flat((0, 1), (1, 0), (0, 1))) == ()


def test_without_a_majority_nobody_is_in_the_wrong_leaf() -> None:
    nodes = [node(f"n{k}", netdevs=[netdev("p0", ip=f"10.0.{k}.1")]) for k in range(3)]
    links = [link(("n0", "p0", None), (f"n{k}", "p0", None), kind="segment") for k in (1, 2)]
    assert check_rail_subnets(Fabric(nodes=tuple(nodes), links=tuple(links))) == ()
