"""IPv4 addresses on the ends of cables: swapped, on the wrong port, in different subnets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.checks.link_addresses import check_link_addresses
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Address, Fabric
from tests.fabrics import link, netdev, node
from tests.fabrics.altering import changed
from tests.fabrics.recorded import HEALTHY, RECORDED
from tests.fabrics.servers import eight_rail_swapped
from tests.fabrics.spark import spark_one_cable, spark_straight
from tests.unit.checks.between import ids

pytestmark = pytest.mark.unit


def pair(
    alpha: tuple[str | None, str | None], beta: tuple[str | None, str | None], *, cables: int = 2, crossed: bool = False
) -> Fabric:
    """Two nodes with ports p0 and p1 and these addresses, joined straight or crossed by one or two cables."""
    nodes = [
        node(name, netdevs=[netdev("p0", ip=own[0]), netdev("p1", ip=own[1])])
        for name, own in (("alpha", alpha), ("beta", beta))
    ]
    ends = [("p0", "p1"), ("p1", "p0")] if crossed else [("p0", "p0"), ("p1", "p1")]
    links = [link(("alpha", one, None), ("beta", other, None)) for one, other in ends[:cables]]
    return Fabric(nodes=tuple(nodes), links=tuple(links))


@pytest.mark.parametrize("name", [*HEALTHY, "spark-crossed", "spark-ring", "spark-foreign", "spark-twin-bare"])
def test_fabrics_with_their_addresses_in_place_are_silent(name: str) -> None:
    assert check_link_addresses(RECORDED[name]()) == ()


@pytest.mark.parametrize(
    "fabric",
    [
        pair(("10.0.0.1", "10.0.1.1"), ("10.0.0.2", "10.0.1.2")),
        pair(("10.0.0.1", "10.0.1.1"), ("10.0.1.2", "10.0.0.2"), crossed=True),
        pair(("10.0.0.1", None), ("10.0.0.2", None)),
        pair((None, None), (None, None)),
        pair(("10.0.0.1", None), (None, None)),
        pair(("169.254.3.1", None), ("169.254.9.2", None)),
        pair(("10.0.0.1", "10.0.1.1"), ("10.0.1.2", "10.0.0.2")).model_copy(update={"links": Unknown(unknown="no")}),
    ],
)
def test_plain_pairs_in_order_or_without_addresses_are_silent(fabric: Fabric) -> None:
    assert check_link_addresses(fabric) == ()


def test_swapped_addresses_are_one_error_with_the_lines_that_exchange_them() -> None:
    (found,) = check_link_addresses(pair(("10.0.0.1", "10.0.1.1"), ("10.0.1.2", "10.0.0.2")))
    assert ids([found]) == [("addresses-swapped-between-rails", "error", "beta: p0, p1")]
    assert found.fix[:5] == (
        "on beta:",
        "sudo ip address del 10.0.1.2/24 dev p0",
        "sudo ip address del 10.0.0.2/24 dev p1",
        "sudo ip address add 10.0.0.2/24 dev p0",
        "sudo ip address add 10.0.1.2/24 dev p1",
    )
    assert {piece.text for piece in found.evidence} == {
        "p0 10.0.0.1/24 (cable alpha/p0 - beta/p0)", "p0 10.0.1.2/24 (cable alpha/p0 - beta/p0)",
        "p1 10.0.1.1/24 (cable alpha/p1 - beta/p1)", "p1 10.0.0.2/24 (cable alpha/p1 - beta/p1)",
    }  # fmt: skip


def test_crossed_cables_under_straight_addresses_are_the_same_fault() -> None:
    found = check_link_addresses(pair(("10.0.0.1", "10.0.1.1"), ("10.0.0.2", "10.0.1.2"), crossed=True))
    assert [one.id for one in found] == ["addresses-swapped-between-rails"]


def test_two_rails_in_each_others_leaf_are_swapped() -> None:
    found = check_link_addresses(eight_rail_swapped())
    assert [(one.id, one.subject) for one in found] == [
        ("addresses-swapped-between-rails", "server-002: enp180s0np0, enp212s0np0")
    ]


def test_an_address_on_the_port_beside_the_cable_is_moved() -> None:
    (found,) = check_link_addresses(pair(("10.0.0.1", None), (None, "10.0.0.2"), cables=1))
    assert ids([found]) == [("address-on-wrong-port", "error", "beta/p1")]
    assert found.fix[:3] == (
        "on beta:",
        "sudo ip address del 10.0.0.2/24 dev p1",
        "sudo ip address add 10.0.0.2/24 dev p0",
    )
    assert [(piece.file, piece.text) for piece in found.evidence] == [
        ("alpha", "p0 10.0.0.1/24, cabled to beta/p0"),
        ("beta", "p1 10.0.0.2/24"),
    ]


def test_a_subnet_the_peer_shares_over_two_ports_points_to_no_port() -> None:
    both = pair(("10.0.0.1", "10.0.0.3"), (None, "10.0.0.2"))
    assert check_link_addresses(both) == ()


def test_two_subnets_on_one_cable_get_a_free_address_of_the_first() -> None:
    (found,) = check_link_addresses(pair(("10.0.0.2", None), ("10.9.0.2", None), cables=1))
    assert ids([found]) == [("link-ends-in-different-subnets", "error", "alpha/p0 - beta/p0")]
    assert found.fix[1:3] == ("sudo ip address del 10.9.0.2/24 dev p0", "sudo ip address add 10.0.0.3/24 dev p0")


def test_subnets_of_two_sizes_that_hold_both_addresses_are_one() -> None:
    fabric = pair(("10.0.0.1", None), ("10.0.0.2", None), cables=1)
    wide = changed(fabric, "beta", "netdev", "p0", addresses=(Address(ip="10.0.0.2", prefix=16, family="ipv4"),))
    assert check_link_addresses(wide) == ()
    beside = changed(wide, "beta", "netdev", "p1", addresses=(Address(ip="10.0.0.9", prefix=24, family="ipv4"),))
    assert check_link_addresses(beside) == ()
    apart = changed(fabric, "beta", "netdev", "p0", addresses=(Address(ip="10.0.7.2", prefix=16, family="ipv4"),))
    assert [one.id for one in check_link_addresses(apart)] == ["link-ends-in-different-subnets"]


def test_the_subnets_of_twins_are_compared_as_sets() -> None:
    fabric = spark_one_cable()
    assert check_link_addresses(fabric) == ()
    moved = (Address(ip="192.168.177.11", prefix=24, family="ipv4"),)
    (found,) = check_link_addresses(changed(fabric, "spark-b", "netdev", "enP2p1s0f0np0", addresses=moved))
    assert found.id == "link-ends-in-different-subnets"
    assert {piece.text for piece in found.evidence} == {
        "enP2p1s0f0np0 192.168.101.10/24",
        "enP2p1s0f0np0 192.168.177.11/24",
    }


def test_a_fabric_of_two_cables_with_one_address_astray_is_one_finding() -> None:
    fabric = changed(spark_straight(), "spark-b", "netdev", "enp1s0f1np1", addresses=())
    first = (Address(ip="192.168.102.11", prefix=24, family="ipv4"),)
    fabric = changed(fabric, "spark-b", "netdev", "enP7s7", addresses=first)
    assert ids(check_link_addresses(fabric)) == [("address-on-wrong-port", "error", "spark-b/enP7s7")]


def test_a_cable_of_twins_with_two_swapped_nodes_is_right_again() -> None:
    fabric = spark_straight()
    homes = {"enp1s0f0np0": 102, "enP2p1s0f0np0": 103, "enp1s0f1np1": 100, "enP2p1s0f1np1": 101}
    for name, net in homes.items():
        moved = (Address(ip=f"192.168.{net}.11", prefix=24, family="ipv4"),)
        fabric = changed(fabric, "spark-b", "netdev", name, addresses=moved)
    (found,) = check_link_addresses(fabric)
    assert (found.id, found.subject) == (
        "addresses-swapped-between-rails", "spark-b: enP2p1s0f0np0, enP2p1s0f1np1, enp1s0f0np0, enp1s0f1np1"
    )  # fmt: skip
    assert len([line for line in found.fix if "address del" in line]) == 4
    assert len([line for line in found.fix if "address add" in line]) == 4
    assert len(set(found.fix)) == len(found.fix)


def test_swapped_lines_undo_each_other_exactly() -> None:
    (found,) = check_link_addresses(pair(("10.0.0.1", "10.0.1.1"), ("10.0.1.2", "10.0.0.2")))
    taken = {tuple(line.split()[4::2]) for line in found.fix if "address del" in line}
    given = {tuple(line.split()[4::2]) for line in found.fix if "address add" in line}
    assert {cidr for cidr, _port in taken} == {cidr for cidr, _port in given}
    assert not taken & given


def test_three_cables_of_which_two_are_swapped() -> None:
    names = ("p0", "p1", "p2")
    alpha = node("alpha", netdevs=[netdev(name, ip=f"10.0.{k}.1") for k, name in enumerate(names)])
    beta = node("beta", netdevs=[netdev(name, ip=f"10.0.{k}.2") for k, name in zip((1, 0, 2), names, strict=True)])
    links = tuple(link(("alpha", name, None), ("beta", name, None)) for name in names)
    found = check_link_addresses(Fabric(nodes=(alpha, beta), links=links))
    assert [(one.id, one.subject) for one in found] == [("addresses-swapped-between-rails", "beta: p0, p1")]


def test_three_in_a_circle_are_no_pair_of_swapped_ones() -> None:
    names = ("p0", "p1", "p2")
    alpha = node("alpha", netdevs=[netdev(name, ip=f"10.0.{k}.1") for k, name in enumerate(names)])
    beta = node("beta", netdevs=[netdev(name, ip=f"10.0.{k}.2") for k, name in zip((1, 2, 0), names, strict=True)])
    links = tuple(link(("alpha", name, None), ("beta", name, None)) for name in names)
    found = check_link_addresses(Fabric(nodes=(alpha, beta), links=links))
    assert {one.id for one in found} == {"address-on-wrong-port"}
    assert len(found) == 3


def test_the_free_address_is_in_the_subnet_of_the_first_end() -> None:
    (found,) = check_link_addresses(pair(("10.0.0.5", None), ("10.0.1.2", None), cables=1))
    assert found.fix[0] == "on beta, to bring p0 into the subnet of p0 10.0.0.5/24:"
    assert found.fix[2] == "sudo ip address add 10.0.0.2/24 dev p0"


@given(st.permutations([0, 1, 2]), st.booleans())
def test_any_order_of_addresses_on_three_cables_is_told_or_right(order: list[int], turned: bool) -> None:
    names = ("p0", "p1", "p2")
    alpha = node("alpha", netdevs=[netdev(name, ip=f"10.0.{k}.1") for k, name in enumerate(names)])
    beta = node("beta", netdevs=[netdev(name, ip=f"10.0.{k}.2") for k, name in zip(order, names, strict=True)])
    links = tuple(link(("alpha", name, None), ("beta", name, None)) for name in names)
    nodes = (beta, alpha) if turned else (alpha, beta)
    found = check_link_addresses(Fabric(nodes=nodes, links=links))
    wrong = [name for k, name in zip(order, names, strict=True) if names[k] != name]
    told = {port for one in found for port in ("p0", "p1", "p2") if port in one.subject}
    assert bool(found) is bool(wrong)
    assert set(wrong) <= told or len(wrong) == 3


@pytest.mark.parametrize("prefix", [8, 16, 24, 30, 31])
def test_ends_of_one_subnet_are_right_whatever_its_size(prefix: int) -> None:
    fabric = pair(("10.0.0.2", None), ("10.0.0.3", None), cables=1)
    for name, ip in (("alpha", "10.0.0.2"), ("beta", "10.0.0.3")):
        own = (Address(ip=ip, prefix=prefix, family="ipv4"),)
        fabric = changed(fabric, name, "netdev", "p0", addresses=own)
    assert check_link_addresses(fabric) == ()


def test_the_address_goes_to_the_twin_that_has_none() -> None:
    fabric = changed(spark_one_cable(), "spark-b", "netdev", "enP2p1s0f0np0", addresses=())
    moved = (Address(ip="192.168.101.11", prefix=24, family="ipv4"),)
    (found,) = check_link_addresses(changed(fabric, "spark-b", "netdev", "enp1s0f1np1", addresses=moved))
    assert found.id == "address-on-wrong-port"
    assert found.fix[2] == "sudo ip address add 192.168.101.11/24 dev enP2p1s0f0np0"
    assert found.evidence[0].text == "enP2p1s0f0np0 192.168.101.10/24, cabled to spark-b/enP2p1s0f0np0"


def test_a_port_with_a_zeroconf_address_has_none() -> None:
    zeroconf = (Address(ip="169.254.3.3", prefix=16, family="ipv4"),)
    fabric = changed(spark_one_cable(), "spark-b", "netdev", "enP2p1s0f0np0", addresses=zeroconf)
    moved = (Address(ip="192.168.101.11", prefix=24, family="ipv4"),)
    (found,) = check_link_addresses(changed(fabric, "spark-b", "netdev", "enp1s0f1np1", addresses=moved))
    assert found.fix[2].endswith("dev enP2p1s0f0np0")
