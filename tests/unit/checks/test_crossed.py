"""HCA names and numbers across nodes: one list for all, crossed cables, subnets in another order."""

from __future__ import annotations

import pytest

from fabricdoc.checks.crossed import active_names, check_crossed
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Address, ConfFile, Fabric
from tests.fabrics import crossed_pair
from tests.fabrics.altering import changed
from tests.fabrics.recorded import RECORDED
from tests.fabrics.servers import eight_rail_servers
from tests.fabrics.spark import spark_crossed, spark_foreign, spark_one_cable, spark_one_crossed
from tests.unit.checks.between import ids

pytestmark = pytest.mark.unit

NOT_ASKED = Unknown(unknown="not asked")
CROSSED = ("spark-crossed", "spark-one-crossed", "servers-swapped-rails")


@pytest.mark.parametrize("name", [name for name in RECORDED if name not in CROSSED])
def test_fabrics_in_order_are_silent(name: str) -> None:
    assert check_crossed(RECORDED[name]()) == ()


def test_one_crossed_cable_is_information_with_a_list_for_each_node() -> None:
    (found,) = check_crossed(spark_one_crossed())
    assert ids([found]) == [("rails-crossed", "info", "spark-a, spark-b")]
    assert found.fix[:4] == (
        "on spark-a:", "export NCCL_IB_HCA='=rocep1s0f0,roceP2p1s0f0'",
        "on spark-b:", "export NCCL_IB_HCA='=rocep1s0f1,roceP2p1s0f1'",
    )  # fmt: skip


def test_two_crossed_cables_need_routing_by_subnet_not_lists() -> None:
    (found,) = check_crossed(spark_crossed())
    assert (found.id, found.severity) == ("rails-crossed", "info")
    assert found.fix[0] == "on every rank: export NCCL_IB_SUBNET_AWARE_ROUTING=1"
    assert "k-th" in found.cause


def listed(fabric: Fabric, value: str) -> Fabric:
    return changed(fabric, "*", "host", environment={"NCCL_IB_HCA": value})


def test_one_list_that_names_dead_devices_on_one_node_is_an_error() -> None:
    found = check_crossed(listed(spark_one_crossed(), "=rocep1s0f0,roceP2p1s0f0"))
    assert ids(found)[0] == ("ib-hca-names-differ-between-nodes", "error", "spark-b")
    assert [piece.text for piece in found[0].evidence] == [
        "NCCL_IB_HCA==rocep1s0f0,roceP2p1s0f0 (environment)",
        "rocep1s0f0, roceP2p1s0f0: not there, or not ACTIVE",
        "ACTIVE: rocep1s0f1, roceP2p1s0f1",
    ]
    assert found[0].fix == ("on spark-b:", "export NCCL_IB_HCA='=rocep1s0f1,roceP2p1s0f1'")


@pytest.mark.parametrize(
    "fabric",
    [
        listed(spark_one_cable(), "=rocep1s0f0,roceP2p1s0f0"),
        listed(spark_one_cable(), "=rocep1s0f1"),  # wrong on both: not a matter of names
        listed(spark_one_cable(), "^rocep1s0f1"),
        listed(eight_rail_servers(), "mlx5_"),
        changed(spark_one_cable(), "spark-b", "host", environment={"NCCL_IB_HCA": "=rocep1s0f1"}),
    ],
)
def test_lists_that_fit_all_or_no_node_are_not_this_checks(fabric: Fabric) -> None:
    assert check_crossed(fabric) == ()


def test_an_extra_name_on_a_node_that_uses_all_it_has_is_no_fault() -> None:
    fabric = listed(spark_one_crossed(), "=rocep1s0f0,roceP2p1s0f0,rocep1s0f1,roceP2p1s0f1")
    assert [one.id for one in check_crossed(fabric)] == ["rails-crossed"]
    four_and_two = listed(spark_foreign(), "=rocep1s0f0,roceP2p1s0f0,rocep1s0f1,roceP2p1s0f1")
    assert check_crossed(four_and_two) == ()


def swap(fabric: Fabric, node: str) -> Fabric:
    """Rails 5 and 6 of that server with each other's addresses."""
    number = int(node[-1])
    for netdev, k in (("enp180s0np0", 6), ("enp212s0np0", 5)):
        moved = (Address(ip=f"10.1.{k}.{number}", prefix=24, family="ipv4"),)
        fabric = changed(fabric, node, "netdev", netdev, addresses=moved)
    return fabric.model_copy(update={"links": NOT_ASKED})


def test_the_server_with_subnets_in_another_order_is_named() -> None:
    (found,) = check_crossed(swap(eight_rail_servers(3), "server-002"))
    assert ids([found]) == [("rail-subnets-in-another-order", "warning", "server-002")]
    assert "10.1.6.0/24, 10.1.5.0/24" in found.evidence[1].text
    assert "10.1.5.0/24, 10.1.6.0/24" in found.fix[0]


def test_of_two_nodes_it_may_be_crossed_cables() -> None:
    (found,) = check_crossed(swap(eight_rail_servers(2), "server-002"))
    assert (found.severity, found.confidence) == ("info", "possible")
    unasked = spark_crossed().model_copy(update={"links": NOT_ASKED})
    assert [(one.id, one.severity) for one in check_crossed(unasked)] == [("rail-subnets-in-another-order", "info")]


def test_a_routed_fabric_has_other_subnets_on_every_node() -> None:
    fabric = eight_rail_servers(3).model_copy(update={"links": NOT_ASKED})
    moved = (Address(ip="10.77.0.1", prefix=31, family="ipv4"),)
    assert check_crossed(changed(fabric, "server-002", "netdev", "enp180s0np0", addresses=moved)) == ()
    assert check_crossed(changed(fabric, "server-002", "netdev", "enp180s0np0", addresses=())) == ()


def test_names_come_in_nccls_order() -> None:
    node = RECORDED["spark-straight"]().nodes[0]
    assert active_names(node) == ["rocep1s0f0", "rocep1s0f1", "roceP2p1s0f0", "roceP2p1s0f1"]


def test_a_list_of_prefixes_is_held_against_what_it_takes() -> None:
    assert [one.id for one in check_crossed(listed(spark_one_crossed(), "rocep1s0f0"))][:1] == [
        "ib-hca-names-differ-between-nodes"
    ]
    assert [one.id for one in check_crossed(listed(spark_one_crossed(), "roce"))] == ["rails-crossed"]


def test_wrong_lists_of_many_nodes_are_shown_up_to_four() -> None:
    fabric = eight_rail_servers(8)
    for number in range(3, 9):
        fabric = changed(fabric, f"server-{number:03d}", "hca", "mlx5_7", name="mlx5_bond_0")
    (found,) = check_crossed(listed(fabric, "=mlx5_6,mlx5_7").model_copy(update={"links": NOT_ASKED}))
    assert found.subject == "server-003, server-004, server-005, server-006 and 2 more"
    assert {piece.file for piece in found.evidence} == {f"server-00{k}" for k in range(3, 7)}
    assert "mlx5_7: not there, or not ACTIVE" in {piece.text for piece in found.evidence}


def test_names_without_pci_addresses_come_as_the_node_told_them() -> None:
    fabric = changed(spark_one_crossed(), "spark-a", "hca", "*", pci=Unknown(unknown="not in the dump"))
    assert active_names(fabric.nodes[0]) == ["roceP2p1s0f0", "rocep1s0f0"]
    (found,) = check_crossed(fabric)
    assert found.fix[1] == "export NCCL_IB_HCA='=roceP2p1s0f0,rocep1s0f0'"


def test_the_evidence_says_what_meets_what() -> None:
    (found,) = check_crossed(spark_one_crossed())
    assert [(piece.file, piece.text) for piece in found.evidence] == [
        ("spark-a", "roceP2p1s0f0, rocep1s0f0 meets roceP2p1s0f1, rocep1s0f1 on spark-b")
    ]


def test_ends_without_an_hca_have_no_list() -> None:
    assert check_crossed(crossed_pair()) == ()


@pytest.mark.parametrize("ips", [("169.254.5.1", "169.254.6.1"), ("10.1.5.1", "10.1.5.9"), ("10.1.5.1", "")])
def test_orders_are_compared_where_every_port_has_one_subnet_of_its_own(ips: tuple[str, str]) -> None:
    fabric = swap(eight_rail_servers(3), "server-002")
    for netdev, ip in zip(("enp180s0np0", "enp212s0np0"), ips, strict=True):
        own = (Address(ip=ip, prefix=24, family="ipv4"),) if ip else ()
        fabric = changed(fabric, "server-002", "netdev", netdev, addresses=own)
    assert check_crossed(fabric) == ()


def test_two_subnets_on_one_port_give_no_order() -> None:
    both = tuple(Address(ip=f"10.1.{k}.2", prefix=24, family="ipv4") for k in (5, 6))
    assert (
        check_crossed(
            changed(swap(eight_rail_servers(3), "server-002"), "server-002", "netdev", "enp180s0np0", addresses=both)
        )
        == ()
    )


def test_without_pci_addresses_names_give_the_order() -> None:
    fabric = changed(swap(eight_rail_servers(3), "server-002"), "*", "hca", "*", pci=Unknown(unknown="no"))
    assert [one.subject for one in check_crossed(fabric)] == ["server-002"]


@pytest.mark.parametrize("value", ["=rocep1s0f0,roceP2p1s0f0", "rocep1s0f0,roceP2p1s0f0"])
def test_a_file_on_one_node_and_the_environment_on_the_other_are_one_list(value: str) -> None:
    conf = (ConfFile(path="/etc/nccl.conf", values={"NCCL_IB_HCA": value}),)
    fabric = changed(spark_one_crossed(), "spark-a", "host", environment={"NCCL_IB_HCA": value})
    found = check_crossed(changed(fabric, "spark-b", "host", nccl_conf=conf))
    assert found[0].id == "ib-hca-names-differ-between-nodes"
    assert f"NCCL_IB_HCA={value} (/etc/nccl.conf)" in [piece.text for piece in found[0].evidence]


def test_addresses_make_no_difference_to_what_cables_join() -> None:
    bare = changed(spark_one_crossed(), "*", "netdev", "*", addresses=())
    assert [one.id for one in check_crossed(bare)] == ["rails-crossed"]


def test_a_node_that_lost_its_hcas_has_no_list_that_fits() -> None:
    fabric = listed(spark_one_crossed(), "=rocep1s0f0,roceP2p1s0f0")
    assert "spark-b" not in [one.subject for one in check_crossed(changed(fabric, "spark-b", "node", hcas=()))]
