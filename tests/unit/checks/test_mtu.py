"""MTU between the nodes of one subnet."""

from __future__ import annotations

import pytest

from fabricdoc.checks.mtu import check_mtu
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Netdev, Node
from tests.fabrics import crossed_pair, hca, netdev, node
from tests.fabrics.altering import changed
from tests.fabrics.recorded import HEALTHY, RECORDED
from tests.fabrics.spark import spark_one_cable

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


def test_a_subnet_of_many_nodes_shows_the_smaller_ones_and_one_of_the_others() -> None:
    small = {3, 500}
    nodes = [
        node(f"n{k:03d}", netdevs=[netdev("p0", ip=f"10.0.{k // 250}.{1 + k % 250}", mtu=1500 if k in small else 9000)])
        for k in range(600)
    ]
    wide = [
        one.model_copy(update={"netdevs": tuple(_wide(port) for port in one.netdevs)})  # type: ignore[union-attr]
        for one in nodes
    ]
    (found,) = check_mtu(Fabric(nodes=tuple(wide)))
    assert [piece.file for piece in found.evidence] == ["n003", "n500", "n000"]
    assert found.fix[:4] == (
        "on n003:", "sudo ip link set dev p0 mtu 9000", "on n500:", "sudo ip link set dev p0 mtu 9000",
    )  # fmt: skip


def _wide(port: Netdev) -> Netdev:
    addresses = tuple(one.model_copy(update={"prefix": 16}) for one in port.addresses)
    return port.model_copy(update={"addresses": addresses})


@pytest.mark.parametrize("name", [*HEALTHY, "spark-crossed", "spark-ring", "spark-foreign"])
def test_recorded_fabrics_without_the_fault_are_silent(name: str) -> None:
    assert check_mtu(RECORDED[name]()) == ()


def test_a_cable_is_told_once_by_its_subnet_or_else_by_itself() -> None:
    uneven = spark_one_cable()
    for port in ("enp1s0f0np0", "enP2p1s0f0np0"):
        uneven = changed(uneven, "spark-b", "netdev", port, mtu=1500)
    assert [one.subject for one in check_mtu(uneven)] == ["192.168.100.0/24", "192.168.101.0/24"]
    bare = changed(uneven, "*", "netdev", "enp1s0f0np0", addresses=())
    bare = changed(bare, "*", "netdev", "enP2p1s0f0np0", addresses=())
    assert [one.subject for one in check_mtu(bare)] == ["spark-a/enp1s0f0np0 - spark-b/enp1s0f0np0"]


def devinfo(*mtus: int) -> Fabric:
    """Nodes of which only ibv_devinfo is known: no interfaces, no links."""
    hidden = Unknown(unknown="not in this dump")

    def made(name: str, mtu: int) -> Node:
        known = hca("mlx5_0", "x")
        port = known.ports[0].model_copy(update={"active_mtu": mtu, "netdev": hidden})
        hcas = (known.model_copy(update={"ports": (port,)}),)
        return node(name).model_copy(update={"netdevs": hidden, "hcas": hcas})

    return Fabric(nodes=tuple(made(f"n{k}", mtu) for k, mtu in enumerate(mtus)), links=hidden)


def test_ports_of_dumps_without_interfaces_are_held_against_their_like() -> None:
    (found,) = check_mtu(devinfo(4096, 1024))
    assert (found.id, found.severity, found.subject) == ("mtu-mismatch", "warning", "n0/mlx5_0, n1/mlx5_0")
    (found,) = check_mtu(devinfo(4096, 1024, 4096))
    assert found.subject == "n1/mlx5_0"
    assert check_mtu(devinfo(1024, 1024)) == ()
    assert check_mtu(devinfo(1024)) == ()
