"""Ports, cages and wires of a fabric, and the words in which links read."""

from __future__ import annotations

import pytest

from fabricdoc.fabric import traced
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Cage, Fabric, Link, LinkProof
from fabricdoc.report.wires import (
    DEAD,
    FOREIGN,
    Wire,
    cage_labels,
    lies,
    lone_ports,
    ports_of,
    proof_text,
    wire_lies,
    wires_of,
)
from tests.fabrics import crossed_pair, link, netdev, node
from tests.fabrics.altering import changed
from tests.fabrics.servers import eight_rail_servers
from tests.fabrics.spark import spark_foreign, spark_pair, spark_ring, spark_switch

pytestmark = pytest.mark.unit


def wires(fabric: Fabric) -> list[Wire]:
    return wires_of(fabric, ports_of(fabric))


def links(fabric: Fabric) -> tuple[Link, ...]:
    found = traced(fabric).links
    assert not isinstance(found, Unknown)
    return found


def test_the_ports_of_hcas_come_first_with_their_cage() -> None:
    ports = [one for one in ports_of(spark_pair("one")).values() if one.node == "spark-a"]
    assert [(one.text(), one.cage) for one in ports[:4]] == [
        ("enp1s0f0np0 rocep1s0f0", "cage p0"),
        ("enp1s0f1np1 rocep1s0f1", "cage p1"),
        ("enP2p1s0f0np0 roceP2p1s0f0", "cage p0"),
        ("enP2p1s0f1np1 roceP2p1s0f1", "cage p1"),
    ]
    assert {one.hca for one in ports[4:]} == {""}
    assert ports[4].text() == "lo"


def test_cages_of_several_cards_are_numbered() -> None:
    labels = cage_labels(eight_rail_servers(2).nodes[0])
    assert labels["mlx5_0"] == "cage p0 of card 0"
    assert labels["mlx5_7"] == "cage p0 of card 7"
    alone = node("a").model_copy(update={"cages": (Cage(id="b83f:d203:0040:c000", hcas=("x",), by=""),)})
    assert cage_labels(alone) == {"x": "card 0"}


def test_twins_share_a_wire_and_two_cables_are_two() -> None:
    (one,) = wires(spark_pair("one"))
    assert [port.node for port in one.ports] == ["spark-a", "spark-a", "spark-b", "spark-b"]
    assert not one.is_switch
    assert len(wires(spark_pair("crossed"))) == 2
    assert len(wires(spark_ring())) == 3


def test_a_switch_is_what_no_cable_explains() -> None:
    (one,) = wires(spark_switch())
    assert one.is_switch
    assert one.nodes == ("spark-a", "spark-b", "spark-c", "spark-d")
    flat = tuple(link(("alpha", "p0", None), ("beta", port, None), kind="segment") for port in ("p0", "p1"))
    (wire,) = wires(crossed_pair().model_copy(update={"links": flat}))
    assert wire.is_switch


def test_loops_join_nothing() -> None:
    loop = link(("alpha", "p0", None), ("alpha", "p1", None), kind="loop")
    assert wires(crossed_pair().model_copy(update={"links": (loop,)})) == []


def test_a_port_nobody_described_is_drawn_by_its_name() -> None:
    (wire,) = wires(Fabric(links=(link(("x", "p0", None), ("y", "p0", None)),)))
    assert [port.text() for port in wire.ports] == ["p0", "p0"]


def test_lone_ports_are_dead_or_foreign_by_their_carrier() -> None:
    fabric = spark_foreign()
    found = lone_ports(fabric, ports_of(fabric), wires(fabric))
    assert {(one.port.node, one.why) for one in found} == {("spark-a", FOREIGN), ("spark-b", DEAD)}
    assert lone_ports(crossed_pair(), ports_of(crossed_pair()), []) == []


def test_links_read_as_they_lie() -> None:
    assert {lies(one) for one in links(spark_pair("one-crossed"))} == {"cable, crossed", "twins (inside the chip)"}
    assert {lies(one) for one in links(spark_ring())} == {"cable, crossed, ring", "twins (inside the chip)"}
    assert {lies(one) for one in links(spark_switch())} == {"switch", "twins (inside the chip)"}
    loop = link(("alpha", "p0", None), ("alpha", "p1", None), kind="loop")
    assert lies(loop) == "loop"
    assert lies(link(("a", "p", None), ("b", "p", None), kind="one-way")) == "one-way"


def test_a_wire_with_one_broken_direction_is_one_way() -> None:
    fabric = traced(spark_pair("one"))
    assert not isinstance(fabric.links, Unknown)
    broken = [one if one.a.node == one.b.node else one.model_copy(update={"kind": "one-way"}) for one in fabric.links]
    (wire,) = wires(fabric.model_copy(update={"links": (*fabric.links[:-2], *broken[-2:])}))
    assert "one-way" in wire_lies(wire)
    assert wire_lies(wires(fabric)[0]) == "cable, straight"


def test_proof_names_its_kind_and_what_else_agrees() -> None:
    one = link(("a", "p", None), ("b", "p", None))
    assert proof_text(one) == "beacons 3+3"
    more = (LinkProof(method="lldp", at="x"), LinkProof(method="ping", at="x"), LinkProof(method="lldp", at="x"))
    best = LinkProof(method="rdma-ping", at="x", frames_a_to_b=4, frames_b_to_a=4)
    assert proof_text(one.model_copy(update={"proof": best, "more_proofs": more})) == "RDMA ping 4+4, LLDP, ping"
    assert proof_text(one.model_copy(update={"proof": LinkProof(method="lldp", at="x")})) == "LLDP"


def test_unknown_interfaces_are_no_ports() -> None:
    fabric = changed(spark_pair("one"), "spark-a", "node", netdevs=Unknown(unknown="?"))
    assert all(node != "spark-a" for node, _netdev in ports_of(fabric))
    alpha = node("alpha", netdevs=[netdev("p0")])
    assert list(ports_of(Fabric(nodes=(alpha,)))) == [("alpha", "p0")]
