"""Ports NCCL would take although nobody of the fabric is at their other end."""

from __future__ import annotations

import pytest

from fabricdoc.checks.foreign_ports import check_foreign_ports
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Address, FailedNode, Route, Rule
from tests.fabrics.altering import changed, without
from tests.fabrics.recorded import HEALTHY, RECORDED
from tests.fabrics.spark import spark_foreign
from tests.unit.checks.between import ids

pytestmark = pytest.mark.unit

FOREIGN = "spark-a/roceP2p1s0f1, spark-a/rocep1s0f1"
PORTS = ("enp1s0f1np1", "enP2p1s0f1np1")


@pytest.mark.parametrize(
    "name", [*HEALTHY, "spark-crossed", "spark-ring", "spark-twin-bare", "spark-twins-one-subnet", "container"]
)
def test_fabrics_that_meet_only_themselves_are_silent(name: str) -> None:
    assert check_foreign_ports(RECORDED[name]()) == ()


@pytest.mark.parametrize("links", ["proven", "unknown"])
def test_ports_in_a_network_of_nobody_here_are_told_with_the_list_without_them(links: str) -> None:
    fabric = spark_foreign()
    if links == "unknown":
        fabric = fabric.model_copy(update={"links": Unknown(unknown="not asked")})
    (found,) = check_foreign_ports(fabric)
    assert ids([found]) == [("ib-hca-includes-port-cabled-elsewhere", "warning", FOREIGN)]
    assert found.evidence[0].text == "roceP2p1s0f1 (enP2p1s0f1np1) 10.20.31.40/24: no other node in that subnet"
    assert found.evidence[-1].text.startswith("NCCL_IB_HCA is not set")
    assert found.fix == ("on spark-a:", "export NCCL_IB_HCA='=roceP2p1s0f0,rocep1s0f0'")


def test_a_list_without_them_is_right_and_one_with_them_is_evidence() -> None:
    fabric = spark_foreign()
    right = {"NCCL_IB_HCA": "=rocep1s0f0,roceP2p1s0f0"}
    assert check_foreign_ports(changed(fabric, "spark-a", "host", environment=right)) == ()
    wrong = {"NCCL_IB_HCA": "rocep1s0f"}
    (found,) = check_foreign_ports(changed(fabric, "spark-a", "host", environment=wrong))
    assert found.subject == "spark-a/rocep1s0f1"
    assert found.evidence[-1].text == "NCCL_IB_HCA=rocep1s0f (environment)"


def test_routed_ports_have_a_subnet_each_and_are_left_alone() -> None:
    fabric = spark_foreign()
    routes = tuple(Route(destination="10.0.0.0/8", netdev=port, gateway="10.20.30.1") for port in PORTS)
    assert check_foreign_ports(changed(fabric, "spark-a", "node", routes=routes)) == ()
    rules = tuple(Rule(priority=100, table=7, selector=f"from 10.20.{k}.40/32") for k in (30, 31))
    assert check_foreign_ports(changed(fabric, "spark-a", "node", rules=rules)) == ()


def test_a_link_local_address_is_foreign_only_where_links_were_proven() -> None:
    fabric = spark_foreign()
    for port in PORTS:
        alone = (Address(ip="169.254.7.7", prefix=16, family="ipv4"),)
        fabric = changed(fabric, "spark-a", "netdev", port, addresses=alone)
    (found,) = check_foreign_ports(fabric)
    assert found.evidence[0].text.endswith("169.254.7.7/16: no other node in that subnet")
    assert check_foreign_ports(fabric.model_copy(update={"links": ()})) == ()


def test_a_node_that_was_not_read_may_be_the_other_end() -> None:
    fabric = spark_foreign()
    failed = (FailedNode(name="spark-c", target="spark-c.lan", id="timeout", message="no answer"),)
    assert check_foreign_ports(fabric.model_copy(update={"failed": failed})) == ()
    unread = fabric.nodes[1].model_copy(update={"netdevs": Unknown(unknown="time limit"), "name": "spark-c"})
    assert check_foreign_ports(fabric.model_copy(update={"nodes": (*fabric.nodes, unread)})) == ()


def test_a_port_without_an_address_may_be_the_other_end_where_links_are_unknown() -> None:
    unasked = spark_foreign().model_copy(update={"links": Unknown(unknown="not asked")})
    assert check_foreign_ports(changed(unasked, "spark-b", "netdev", "enp1s0f0np0", addresses=())) == ()
    assert check_foreign_ports(RECORDED["spark-twin-bare"]().model_copy(update={"links": unasked.links})) == ()


def test_a_twin_goes_where_its_cage_goes() -> None:
    alone = (Address(ip="10.99.0.1", prefix=24, family="ipv4"),)
    fabric = changed(RECORDED["spark-one-cable"](), "spark-a", "netdev", "enP2p1s0f0np0", addresses=alone)
    assert check_foreign_ports(fabric.model_copy(update={"links": ()})) == ()


def test_one_node_and_a_node_all_of_whose_ports_are_alone_are_no_case() -> None:
    fabric = spark_foreign()
    assert check_foreign_ports(without(fabric, "spark-b")) == ()
    other = without(spark_foreign(), "spark-b")
    apart = changed(RECORDED["spark-one-cable"](), "spark-b", "netdev", "enp1s0f0np0", addresses=())
    apart = changed(apart, "spark-b", "netdev", "enP2p1s0f0np0", addresses=())
    both = other.model_copy(update={"nodes": (*other.nodes, apart.nodes[1]), "links": ()})
    assert check_foreign_ports(both) == ()


@pytest.mark.parametrize(
    ("selector", "routed"),
    [
        ("from 10.20.30.40", True),
        ("from 10.20.30.40/32 iif lo", True),
        ("from 110.20.30.40", False),
        ("from 10.20.30.40.example", False),
        ("from 10.20.30.4", False),
        ("", False),
    ],
)
def test_a_rule_is_for_a_port_when_it_names_its_whole_address(selector: str, routed: bool) -> None:
    rules = (Rule(priority=100, table=7, selector=selector),)
    (found,) = check_foreign_ports(changed(spark_foreign(), "spark-a", "node", rules=rules))
    assert ("spark-a/rocep1s0f1" in found.subject.split(", ")) is not routed
    assert "spark-a/roceP2p1s0f1" in found.subject, "its twin has an address of its own"
