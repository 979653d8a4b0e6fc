"""MTU between the nodes of one subnet."""

from __future__ import annotations

import pytest

from fabricdoc.checks.mtu import check_mtu
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Netdev
from tests.fabrics import crossed_pair, hca, netdev, node

pytestmark = pytest.mark.unit


def pair(first: Netdev, second: Netdev) -> Fabric:
    return Fabric(nodes=(node("alpha", netdevs=[first]), node("beta", netdevs=[second])))


def test_a_lab_of_equal_mtus_is_silent() -> None:
    assert check_mtu(crossed_pair()) == ()


def test_a_difference_names_every_end_and_the_fix_for_the_smaller() -> None:
    (found,) = check_mtu(pair(netdev("p0", ip="10.77.0.1"), netdev("p1", ip="10.77.0.2", mtu=1500)))
    assert (found.id, found.severity, found.subject) == ("mtu-mismatch", "warning", "10.77.0.0/24")
    assert [(piece.file, piece.text) for piece in found.evidence] == [
        ("alpha", "p0 10.77.0.1/24 mtu 9000"),
        ("beta", "p1 10.77.0.2/24 mtu 1500"),
    ]
    assert found.fix[:2] == ("on beta:", "sudo ip link set dev p1 mtu 9000")
    assert not any("alpha" in line for line in found.fix)


def test_each_subnet_is_compared_with_itself() -> None:
    fabric = crossed_pair()
    alpha = node("alpha", netdevs=[netdev("p0", ip="10.77.0.1"), netdev("p1", ip="10.77.1.1", mtu=4200)])
    beta = node("beta", netdevs=[netdev("p0", ip="10.77.1.2", mtu=4200), netdev("p1", ip="10.77.0.2")])
    assert check_mtu(fabric.model_copy(update={"nodes": (alpha, beta)})) == ()


def test_one_node_with_two_mtus_in_a_subnet_is_not_a_path() -> None:
    alone = node("alpha", netdevs=[netdev("p0", ip="10.77.0.1"), netdev("p1", ip="10.77.0.9", mtu=1500)])
    assert check_mtu(Fabric(nodes=(alone,))) == ()


def test_the_active_rdma_mtu_is_evidence() -> None:
    first = node("alpha", netdevs=[netdev("p0", ip="10.77.0.1")], hcas=[hca("rocep1s0f0", "p0")])
    second = node("beta", netdevs=[netdev("p0", ip="10.77.0.2", mtu=1500)])
    (found,) = check_mtu(Fabric(nodes=(first, second)))
    assert found.evidence[0].text == "p0 10.77.0.1/24 mtu 9000, rocep1s0f0 active_mtu 4096"


@pytest.mark.parametrize(
    "second",
    [
        netdev("p0", ip="10.77.0.2", mtu=1500, up=False),
        netdev("p0", ip="10.77.0.2").model_copy(update={"mtu": Unknown(unknown="x")}),
        netdev("docker0", ip="10.77.0.2", mtu=1500).model_copy(update={"kind": "bridge"}),
        netdev("p0", ip="10.78.0.2", mtu=1500),
    ],
)
def test_what_is_down_unknown_virtual_or_elsewhere_is_left_out(second: Netdev) -> None:
    assert check_mtu(pair(netdev("p0", ip="10.77.0.1"), second)) == ()


def test_link_local_addresses_prove_no_common_subnet() -> None:
    assert check_mtu(pair(netdev("p0", ip="169.254.1.1"), netdev("p0", ip="169.254.1.2", mtu=1500))) == ()


def test_a_hostile_interface_name_is_quoted_in_the_fix() -> None:
    (found,) = check_mtu(pair(netdev("p0", ip="10.77.0.1"), netdev("a;reboot", ip="10.77.0.2", mtu=1500)))
    assert found.fix[:2] == ("on beta:", "sudo ip link set dev 'a;reboot' mtu 9000")
