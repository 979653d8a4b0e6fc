"""How many HCAs of which kind each node brings."""

from __future__ import annotations

import pytest

from fabricdoc.checks.hca_sets import check_hca_sets
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric
from tests.fabrics import node
from tests.fabrics.altering import changed, without
from tests.fabrics.healthy import with_virtual_functions
from tests.fabrics.recorded import HEALTHY, RECORDED
from tests.fabrics.servers import eight_rail_servers
from tests.fabrics.spark import addressed, bare_spark, fabric_of, spark_foreign, spark_one_cable
from tests.unit.checks.between import ids

pytestmark = pytest.mark.unit

HIDDEN = Unknown(unknown="no")


@pytest.mark.parametrize("name", [*HEALTHY, "spark-crossed", "spark-ring", "spark-x2", "container"])
def test_nodes_with_the_same_hcas_are_silent(name: str) -> None:
    assert check_hca_sets(RECORDED[name]()) == ()


def test_the_server_with_a_dead_rail_is_named() -> None:
    fabric = eight_rail_servers(3)
    (found,) = check_hca_sets(changed(fabric, "server-003", "port", "mlx5_5", state="DOWN"))
    assert ids([found]) == [("hca-sets-differ-between-nodes", "warning", "server-003")]
    assert [piece.text for piece in found.evidence] == [
        "ports NCCL would take: 8 x MT4129 (Ethernet), as on 2 of 3",
        "ports NCCL would take: 7 x MT4129 (Ethernet)",
    ]


def test_a_list_that_leaves_the_extra_ones_out_makes_them_alike() -> None:
    fabric = spark_foreign()
    assert ids(check_hca_sets(fabric)) == [("hca-sets-differ-between-nodes", "warning", "spark-a, spark-b")]
    listed = changed(fabric, "spark-a", "host", environment={"NCCL_IB_HCA": "=rocep1s0f0,roceP2p1s0f0"})
    assert check_hca_sets(listed) == ()
    half = changed(listed, "spark-b", "host", environment={"NCCL_IB_HCA": "=rocep1s0f0"})
    assert [one.subject for one in check_hca_sets(half)] == ["spark-a, spark-b"]


def test_nodes_of_two_link_layers_can_not_talk_at_all() -> None:
    fabric = spark_one_cable()
    infiniband = changed(fabric, "spark-b", "port", "*", link_layer="InfiniBand")
    (found,) = check_hca_sets(infiniband)
    assert (found.severity, found.confidence) == ("error", "certain")
    mixed = changed(fabric, "spark-b", "port", "rocep1s0f0", link_layer="InfiniBand")
    assert [one.severity for one in check_hca_sets(mixed)] == ["warning"]


def test_a_node_without_hcas_beside_one_with_them_is_told() -> None:
    fabric = spark_one_cable()
    bare = fabric.model_copy(update={"nodes": (*fabric.nodes, node("head"))})
    (found,) = check_hca_sets(bare)
    assert (found.severity, found.subject) == ("warning", "head")
    assert found.evidence[-1].text == "ports NCCL would take: none"


def test_the_middle_of_a_chain_rightly_has_more() -> None:
    wires = (((0, 0), (1, 1)), ((1, 0), (2, 1)))
    nodes = addressed([bare_spark(number) for number in range(3)], wires, "own-subnets")
    chain = fabric_of(nodes, wires)
    assert check_hca_sets(chain) == ()
    assert [one.subject for one in check_hca_sets(chain.model_copy(update={"links": ()}))] == ["spark-b"]


@pytest.mark.parametrize("facts", [{"state": HIDDEN}, {"link_layer": HIDDEN}])
def test_a_port_of_unknown_state_keeps_its_node_out(facts: dict[str, object]) -> None:
    fabric = changed(eight_rail_servers(), "server-002", "port", "mlx5_5", **facts)
    assert check_hca_sets(fabric) == ()


def test_one_node_and_unread_hcas_are_silent() -> None:
    assert check_hca_sets(without(eight_rail_servers(), "server-001")) == ()
    fabric = eight_rail_servers()
    hidden = tuple(one.model_copy(update={"hcas": HIDDEN}) for one in fabric.nodes[1:])
    assert check_hca_sets(Fabric(nodes=(fabric.nodes[0], *hidden))) == ()


def test_a_model_one_hca_does_not_tell_is_compared_of_none() -> None:
    fabric = changed(eight_rail_servers(3), "server-002", "hca", "mlx5_5", hca_type=HIDDEN)
    assert check_hca_sets(fabric) == ()
    assert check_hca_sets(changed(fabric, "server-002", "hca", "mlx5_5", driver=HIDDEN)) == ()
    (found,) = check_hca_sets(changed(fabric, "server-003", "port", "mlx5_1", state="DOWN"))
    assert found.evidence[1].text == "ports NCCL would take: 7 x mlx5_core (Ethernet)"


def test_a_node_whose_list_takes_less_is_the_odd_one() -> None:
    listed = changed(eight_rail_servers(3), "server-002", "host", environment={"NCCL_IB_HCA": "^=mlx5_7"})
    (found,) = check_hca_sets(listed)
    assert (found.subject, found.evidence[1].text) == ("server-002", "ports NCCL would take: 7 x MT4129 (Ethernet)")
    assert found.fix[0].endswith("7 x MT4129 (Ethernet) instead of 8 x MT4129 (Ethernet)")


def test_virtual_functions_that_are_down_are_not_counted() -> None:
    fabric = eight_rail_servers()
    assert check_hca_sets(with_virtual_functions(fabric)) == ()
    one = with_virtual_functions(fabric).nodes[0]
    assert check_hca_sets(fabric.model_copy(update={"nodes": (one, fabric.nodes[1])})) == ()


@pytest.mark.parametrize("model", ["MT4131", "MT4123"])
def test_another_model_is_another_set(model: str) -> None:
    fabric = changed(eight_rail_servers(3), "server-001", "hca", "*", hca_type=model)
    (found,) = check_hca_sets(fabric)
    assert (found.subject, found.evidence[1].text) == ("server-001", f"ports NCCL would take: 8 x {model} (Ethernet)")


def test_a_layer_that_was_not_read_somewhere_is_compared_nowhere() -> None:
    fabric = changed(eight_rail_servers(3), "server-002", "port", "*", link_layer="InfiniBand")
    assert [one.severity for one in check_hca_sets(fabric)] == ["error"]
    assert check_hca_sets(changed(fabric, "server-001", "port", "mlx5_0", link_layer=HIDDEN)) == ()


def test_link_layers_are_held_apart_also_where_another_node_was_not_read() -> None:
    fabric = changed(eight_rail_servers(3), "server-002", "port", "*", link_layer="InfiniBand")
    hidden = tuple(one.model_copy(update={"hcas": HIDDEN}) if one.name == "server-003" else one for one in fabric.nodes)
    (found,) = check_hca_sets(fabric.model_copy(update={"nodes": hidden}))
    assert (found.severity, found.subject) == ("error", "server-001, server-002")
