"""Ports of one node that share a subnet."""

from __future__ import annotations

import pytest

from fabricdoc.checks.subnets import check_subnets
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Address, Fabric
from tests.fabrics import crossed_pair, hca, netdev, node
from tests.fabrics.altering import changed
from tests.fabrics.spark import spark_twins_one_subnet

pytestmark = pytest.mark.unit


def test_rails_of_their_own_are_silent() -> None:
    assert check_subnets(crossed_pair()) == ()


def test_twins_in_one_subnet_are_named_per_node() -> None:
    twins = [netdev("enp1s0f0np0", ip="192.168.100.1"), netdev("enP2p1s0f0np0", ip="192.168.100.2")]
    (found,) = check_subnets(
        Fabric(nodes=(node("alpha", netdevs=twins), node("beta", netdevs=[netdev("p0", ip="192.168.100.3")])))
    )
    assert (found.id, found.severity, found.confidence) == ("nics-share-subnet", "warning", "likely")
    assert found.subject == "alpha: 192.168.100.0/24"
    assert [piece.text for piece in found.evidence] == [
        "enp1s0f0np0 192.168.100.1/24",
        "enP2p1s0f0np0 192.168.100.2/24",
    ]
    assert "give enP2p1s0f0np0 a subnet of its own" in found.fix[0]


def test_three_ports_are_one_finding() -> None:
    ports = [netdev(f"p{k}", ip=f"10.0.0.{k + 1}") for k in range(3)]
    (found,) = check_subnets(Fabric(nodes=(node("alpha", netdevs=ports),)))
    assert "give p1 and p2 a subnet of their own" in found.fix[0]


def test_two_addresses_of_one_port_are_no_fault() -> None:
    both = tuple(Address(ip=f"10.0.0.{k}", prefix=24, family="ipv4") for k in (1, 2))
    port = netdev("p0").model_copy(update={"addresses": both})
    assert check_subnets(Fabric(nodes=(node("alpha", netdevs=[port]),))) == ()


def test_a_management_port_beside_the_hcas_does_not_count() -> None:
    ports = [netdev("p0", ip="10.0.0.1"), netdev("eth0", ip="10.0.0.2")]
    assert check_subnets(Fabric(nodes=(node("alpha", netdevs=ports, hcas=[hca("mlx5_0", "p0")]),))) == ()


def test_link_local_twins_share_a_subnet_too() -> None:
    ports = [netdev("p0", ip="169.254.1.1"), netdev("p1", ip="169.254.1.2")]
    assert len(check_subnets(Fabric(nodes=(node("alpha", netdevs=ports),)))) == 1


def test_a_port_that_is_down_does_not_count() -> None:
    ports = [netdev("p0", ip="10.0.0.1"), netdev("p1", ip="10.0.0.2", up=False)]
    assert check_subnets(Fabric(nodes=(node("alpha", netdevs=ports),))) == ()


SOFT = {"arp_ignore": 1, "arp_announce": 2, "rp_filter": 2}


@pytest.mark.parametrize(
    ("sysctls", "severity"),
    [
        (SOFT, "info"),
        (SOFT | {"rp_filter": 0}, "info"),
        (SOFT | {"arp_ignore": 2}, "info"),
        (SOFT | {"rp_filter": 1}, "warning"),
        (SOFT | {"arp_ignore": 0}, "warning"),
        (SOFT | {"arp_announce": 1}, "warning"),
        (SOFT | {"arp_announce": Unknown(unknown="x")}, "warning"),
    ],
)
def test_the_sysctls_that_keep_twins_apart(sysctls: dict[str, object], severity: str) -> None:
    fabric = changed(spark_twins_one_subnet(), "spark-a", "netdev", "*", **sysctls)
    found = next(one for one in check_subnets(fabric) if one.subject.startswith("spark-a"))
    assert found.severity == severity
    assert ("are set here" in found.cause) == (severity == "info")


def test_sysctls_of_one_twin_alone_are_not_enough() -> None:
    fabric = changed(spark_twins_one_subnet(), "spark-a", "netdev", "*", arp_ignore=0)
    fabric = changed(fabric, "spark-a", "netdev", "enp1s0f0np0", **SOFT)
    assert next(iter(check_subnets(fabric))).severity == "warning"


def test_a_strict_filter_is_named_with_its_ports() -> None:
    fabric = changed(spark_twins_one_subnet(), "spark-a", "netdev", "*", rp_filter=0)
    fabric = changed(fabric, "spark-a", "netdev", "enP2p1s0f0np0", rp_filter=1)
    found = next(iter(check_subnets(fabric)))
    assert "With rp_filter=1 on enP2p1s0f0np0 such replies are dropped." in found.cause
    assert any(piece.text.endswith("rp_filter 1") for piece in found.evidence)
    assert found.fix[2] == "on spark-a:"
