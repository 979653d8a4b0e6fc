"""Bonds, virtual functions and second cables."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.checks.cages import check_cages
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Hca, Netdev
from tests.fabrics.altering import changed, set_facts
from tests.fabrics.recorded import RECORDED
from tests.fabrics.servers import eight_rail_servers
from tests.fabrics.spark import spark_one_cable, spark_pair, spark_ring, spark_straight
from tests.unit.checks.judged import ids, only, texts

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("name", RECORDED)
def test_no_recorded_fabric_has_more_than_information(name: str) -> None:
    assert {severity for _id, severity, _subject in ids(check_cages, RECORDED[name]())} <= {"info"}


def bonded(fabric: Fabric, node: str, *members: str, kind: str = "bond") -> Fabric:
    one = next(each for each in fabric.nodes if each.name == node)
    assert not isinstance(one.netdevs, Unknown)
    made: Netdev = one.netdevs[0].model_copy(update={"name": "bond0", "kind": kind, "bond_mode": "balance-xor"})
    fabric = changed(fabric, node, "node", netdevs=(*one.netdevs, made))
    for member in members:
        fabric = changed(fabric, node, "netdev", member, master="bond0")
    return fabric


def test_a_bond_over_twins_is_an_error() -> None:
    found = only(check_cages, bonded(spark_one_cable(), "spark-a", "enp1s0f0np0", "enP2p1s0f0np0"), "bond-over-twins")
    assert (found.severity, found.subject) == ("error", "spark-a/bond0")
    assert texts(found) == [
        "bond0 mode balance-xor",
        "enp1s0f0np0 master bond0, HCA rocep1s0f0",
        "enP2p1s0f0np0 master bond0, HCA roceP2p1s0f0",
    ]
    assert "sudo ip link delete bond0" in found.fix


def test_on_gb10_a_bond_over_both_cages_is_one_too() -> None:
    fabric = bonded(spark_straight(), "spark-a", "enp1s0f0np0", "enp1s0f1np1")
    assert ("bond-over-twins", "error", "spark-a/bond0") in ids(check_cages, fabric)


@pytest.mark.parametrize(
    ("members", "kind"),
    [(("enp1s0f0np0",), "bond"), (("enp1s0f0np0", "enP2p1s0f0np0"), "bridge"), (("enP7s7", "wlP9s9"), "bond")],
)
def test_one_member_a_bridge_or_other_interfaces_are_none(members: tuple[str, ...], kind: str) -> None:
    assert ids(check_cages, bonded(spark_one_cable(), "spark-a", *members, kind=kind)) == []


def test_a_roce_lag_of_a_server_is_information() -> None:
    fabric = eight_rail_servers()
    hcas = fabric.nodes[0].hcas
    assert not isinstance(hcas, Unknown)
    first, second = (str(one.ports[0].netdev) for one in hcas[:2])
    fabric = bonded(fabric, "server-001", first, second)
    assert ids(check_cages, fabric) == []
    lag = changed(fabric, "server-001", "hca", "mlx5_0", bond="bond0")
    found = only(check_cages, lag, "roce-lag")
    assert (found.severity, found.subject) == ("info", "server-001/bond0")
    assert texts(found) == [f"mlx5_0 stands for bond0: {first}, {second}"]


def with_vf(**facts: Any) -> Fabric:
    fabric = eight_rail_servers(1)
    one = fabric.nodes[0]
    assert not isinstance(one.hcas, Unknown) and not isinstance(one.netdevs, Unknown)
    parent = one.hcas[0]
    port = parent.ports[0].model_copy(update={"netdev": "vf0"})
    vf: Hca = parent.model_copy(
        update={"name": "mlx5_8", "pci": "0000:14:00.2", "physical_function": parent.pci, "ports": (port,)} | facts
    )
    netdev = one.netdevs[-1].model_copy(update={"name": "vf0"})
    return changed(fabric, one.name, "node", hcas=(*one.hcas, vf), netdevs=(*one.netdevs, netdev))


def test_a_vf_beside_its_physical_function_needs_a_choice() -> None:
    found = only(check_cages, with_vf(), "vf-beside-pf")
    assert (found.severity, found.subject) == ("warning", "server-001")
    assert texts(found) == ["mlx5_8 is a VF of mlx5_0, both ACTIVE"]
    assert found.fix[0] == "on server-001: NCCL_IB_HCA==mlx5_0"
    chosen = changed(with_vf(), "server-001", "host", environment={"NCCL_IB_HCA": "=mlx5_0"})
    assert ids(check_cages, chosen) == []


def test_a_vf_alone_or_down_is_normal() -> None:
    dead = tuple(one.model_copy(update={"state": "DOWN"}) for one in _ports())
    assert ids(check_cages, with_vf(ports=dead)) == []
    fabric = with_vf()
    hcas = fabric.nodes[0].hcas
    assert not isinstance(hcas, Unknown)
    assert ids(check_cages, changed(fabric, "server-001", "node", hcas=hcas[1:])) == []


def _ports() -> Any:
    hcas = with_vf().nodes[0].hcas
    assert not isinstance(hcas, Unknown)
    return hcas[-1].ports


def test_two_cables_to_one_node_are_information() -> None:
    assert ids(check_cages, spark_straight()) == [
        ("second-cable-no-gain", "info", "spark-a"),
        ("second-cable-no-gain", "info", "spark-b"),
    ]
    found = next(iter(check_cages(spark_straight())))
    assert found.cause.startswith("Both cages lead to spark-b.")
    assert texts(found)[0].endswith("leads to spark-b")


def test_both_cages_are_needed_in_a_ring_and_one_cable_is_one() -> None:
    assert ids(check_cages, spark_ring()) == []
    assert ids(check_cages, spark_one_cable()) == []


def test_without_proven_links_nothing_is_said_of_cables() -> None:
    fabric = spark_pair("straight").model_copy(update={"links": Unknown(unknown="not asked")})
    assert ids(check_cages, fabric) == []


def test_a_document_without_cages_has_no_second_cable() -> None:
    fabric = spark_straight()
    bare = tuple(set_facts(one, {"cages": ()}) for one in fabric.nodes)
    assert ids(check_cages, fabric.model_copy(update={"nodes": bare})) == []
