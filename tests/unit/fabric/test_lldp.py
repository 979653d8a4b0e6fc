"""LLDP beside beacons, in their place, and against them; swapped names move nothing."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from fabricdoc.checks import judged
from fabricdoc.fabric.lldp import with_lldp
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Link, LldpNeighbour
from fabricdoc.model.findings import Finding
from fabricdoc.transport import NodeSpec
from tests.fabrics import link, netdev, node
from tests.fabrics.spark import spark_straight

pytestmark = pytest.mark.unit

PORTS = ("p0", "p1")
SPECS = [NodeSpec(name, "local", ports=PORTS) for name in ("alpha", "beta", "gamma")]
NUMBERS = {"alpha": 1, "beta": 2, "gamma": 3}


def mac(name: str, port: str) -> str:
    return f"02:00:00:00:0{NUMBERS[name]}:0{port[1]}"


def hears(at: str, name: str, port: str, **more: object) -> LldpNeighbour:
    whole = {"netdev": at, "chassis": mac(name, "p0"), "port": mac(name, port), "system": name, **more}
    return LldpNeighbour.model_validate(whole)


def fabric_of(
    heard: dict[str, Sequence[LldpNeighbour]], links: Sequence[Link] | None = None, silent: Sequence[str] = ()
) -> Fabric:
    nodes = [
        node(name, netdevs=[netdev(port, mac=mac(name, port), ip=f"10.0.{port[1]}.{NUMBERS[name]}") for port in PORTS])
        for name in NUMBERS
    ]
    nodes = [one.model_copy(update={"lldp": tuple(heard.get(one.name, ()))}) for one in nodes]
    findings = tuple(Finding(id="port-without-peer", severity="warning", subject=one) for one in silent)
    return Fabric(
        nodes=tuple(nodes),
        links=Unknown(unknown="beacons need CAP_NET_RAW") if links is None else tuple(links),
        findings=findings,
    )


def after(fabric: Fabric, specs: Sequence[NodeSpec] = SPECS) -> tuple[Fabric, list[Link]]:
    found = with_lldp(specs, fabric, lambda _line: None)
    return found, [] if isinstance(found.links, Unknown) else list(found.links)


def ids(fabric: Fabric) -> list[tuple[str, str, str]]:
    return [(one.id, one.severity, one.subject) for one in fabric.findings]


CABLE = link(("alpha", "p0", None), ("beta", "p1", None))


def test_a_link_of_beacons_gains_a_proof_by_both_ends() -> None:
    fabric, (proven,) = after(
        fabric_of({"alpha": [hears("p0", "beta", "p1")], "beta": [hears("p1", "alpha", "p0")]}, [CABLE])
    )
    (proof,) = proven.more_proofs
    assert (proven.proof.method, proof.method, proof.frames_a_to_b, proof.frames_b_to_a) == ("beacon", "lldp", 1, 1)
    assert proof.detail == (
        f"alpha/p0 has the neighbour beta, port {mac('beta', 'p1')}; "
        f"beta/p1 has the neighbour alpha, port {mac('alpha', 'p0')}"
    )
    assert ids(fabric) == []


def test_one_end_that_hears_counts_for_its_direction() -> None:
    _, (proven,) = after(fabric_of({"beta": [hears("p1", "alpha", "p0")]}, [CABLE]))
    assert (proven.more_proofs[0].frames_a_to_b, proven.more_proofs[0].frames_b_to_a) == (1, 0)
    turned = link(("beta", "p1", None), ("alpha", "p0", None))
    _, (proven,) = after(fabric_of({"beta": [hears("p1", "alpha", "p0")]}, [turned]))
    assert (proven.more_proofs[0].frames_a_to_b, proven.more_proofs[0].frames_b_to_a) == (0, 1)


def test_without_beacons_lldp_makes_the_link() -> None:
    fabric, (made,) = after(fabric_of({"alpha": [hears("p0", "beta", "p1")], "beta": [hears("p1", "alpha", "p0")]}))
    assert (made.kind, made.proof.method, made.more_proofs) == ("cable", "lldp", ())
    assert (made.a.node, made.a.netdev, made.a.mac, made.a.ip) == ("alpha", "p0", mac("alpha", "p0"), "10.0.0.1")
    assert (made.b.node, made.b.netdev) == ("beta", "p1")
    assert ids(fabric) == []


def test_several_on_one_port_are_a_segment() -> None:
    _, made = after(fabric_of({"alpha": [hears("p0", "beta", "p0"), hears("p0", "gamma", "p0")]}))
    assert [(one.kind, one.b.node) for one in made] == [("segment", "beta"), ("segment", "gamma")]


def test_one_node_that_could_not_speak_is_joined_and_the_other_end_no_longer_alone() -> None:
    """alpha sent beacons and met nobody, beta had no right to: LLDP says why."""
    fabric, (made,) = after(fabric_of({"alpha": [hears("p0", "beta", "p1")]}, [], ["alpha/p0", "alpha/p1"]))
    assert (made.a.node, made.b.node) == ("alpha", "beta")
    assert ids(fabric) == [("port-without-peer", "warning", "alpha/p1")]


def test_beacons_that_met_another_port_contradict() -> None:
    """The map stays as the frames say, and both ends are named."""
    links = [CABLE, link(("alpha", "p1", None), ("beta", "p0", None))]
    fabric, found = after(fabric_of({"alpha": [hears("p0", "beta", "p0")]}, links))
    assert found == links
    assert ids(fabric) == [("lldp-contradicts-beacons", "warning", "alpha/p0 - beta/p0")]
    texts = [one.text for one in fabric.findings[0].evidence]
    assert texts[1:] == ["alpha/p0: beacons prove it joined to beta/p1", "beta/p0: beacons prove it joined to alpha/p1"]
    assert {one.file for one in fabric.findings[0].evidence} == {"alpha", "beta"}


def test_beacons_that_met_nobody_contradict() -> None:
    fabric, found = after(fabric_of({"alpha": [hears("p0", "beta", "p0")]}, [], ["alpha/p0", "beta/p0"]))
    assert found == []
    assert ids(fabric)[-1] == ("lldp-contradicts-beacons", "warning", "alpha/p0 - beta/p0")
    assert fabric.findings[-1].evidence[1].text == "alpha/p0: no beacon heard"


def test_the_finding_outlives_the_judgement() -> None:
    fabric, _ = after(fabric_of({"alpha": [hears("p0", "beta", "p0")]}, [CABLE], ["beta/p0"]))
    assert "lldp-contradicts-beacons" in [one.id for one in judged(fabric).findings]


def test_a_pair_of_one_switch_is_no_contradiction_and_no_second_link() -> None:
    """A crowded switch is told as a star: alpha and gamma are joined through beta."""
    star = [
        link(("alpha", "p0", None), ("beta", "p0", None), kind="segment"),
        link(("beta", "p0", None), ("gamma", "p0", None), kind="segment"),
    ]
    fabric, found = after(fabric_of({"alpha": [hears("p0", "gamma", "p0")]}, star))
    assert (found, ids(fabric)) == (star, [])


def test_twins_of_a_cage_speak_for_each_other() -> None:
    """Recorded Spark pair: beacons met like with like, LLDP of the other twin comes in on the same cage."""
    spark = spark_straight()
    a, b = spark.nodes
    assert isinstance(b.netdevs, tuple)
    by_name = {one.name: str(one.mac) for one in b.netdevs}
    heard = LldpNeighbour(netdev="enp1s0f0np0", chassis=by_name["enp1s0f0np0"], port=by_name["enP2p1s0f0np0"])
    assert isinstance(spark.links, tuple)
    like = [one for one in spark.links if one.kind != "loop" and one.a.netdev == one.b.netdev]
    nodes = (a.model_copy(update={"lldp": (heard,)}), b)
    specs = [NodeSpec(one.name, "local") for one in nodes]
    fabric, found = after(spark.model_copy(update={"nodes": nodes, "links": tuple(like)}), specs)
    assert found == like
    assert [one for one in fabric.findings if one.id.startswith("lldp")] == []


def test_only_ports_that_may_be_used_get_links() -> None:
    specs = [NodeSpec("alpha", "local", ports=("p1",)), *SPECS[1:]]
    fabric, made = after(fabric_of({"alpha": [hears("p0", "beta", "p1")]}), specs)
    assert made == []
    assert isinstance(fabric.links, Unknown)


def test_swapped_names_move_nothing() -> None:
    """Every text of the neighbour says gamma, its MACs say beta."""
    _, (made,) = after(fabric_of({"alpha": [hears("p0", "beta", "p1", system="gamma", port_description="p0")]}))
    assert (made.b.node, made.b.netdev) == ("beta", "p1")


def test_a_switch_makes_no_link_and_is_named_with_its_ports() -> None:
    leaf = {"chassis": "0c:00:00:00:00:01", "system": "leaf1", "bridge": True}
    heard = {
        "alpha": [LldpNeighbour.model_validate({"netdev": "p0", "port": "Ethernet1/1", **leaf})],
        "beta": [LldpNeighbour.model_validate({"netdev": "p1", "port": "Ethernet1/2", **leaf})],
    }
    fabric, found = after(fabric_of(heard))
    assert found == []
    assert ids(fabric) == [("port-behind-switch", "info", "switch leaf1")]
    assert [(one.file, one.text) for one in fabric.findings[0].evidence] == [
        ("alpha", "p0 is on its port Ethernet1/1"),
        ("beta", "p1 is on its port Ethernet1/2"),
    ]
    assert "go through it" not in fabric.findings[0].cause
    fabric, _ = after(fabric_of(heard, [CABLE]))
    assert "Links of 2 of these ports go through it." in fabric.findings[0].cause


def test_a_stranger_on_a_port_in_no_link_is_a_warning() -> None:
    stranger = LldpNeighbour(netdev="p1", chassis="0c:00:00:00:00:09", port="eth3", system="backup7")
    fabric, _ = after(fabric_of({"alpha": [stranger]}, [CABLE]))
    assert ids(fabric) == [("lldp-unknown-neighbour", "warning", "alpha/p1")]
    assert "backup7, port eth3, chassis 0c:00:00:00:00:09" in fabric.findings[0].evidence[0].text
    beside = stranger.model_copy(update={"netdev": "p0"})
    fabric, _ = after(fabric_of({"alpha": [beside]}, [CABLE]))
    assert ids(fabric) == [("lldp-unknown-neighbour", "info", "alpha/p0")]


def test_management_ports_are_not_talked_about() -> None:
    specs = [NodeSpec(name, "local", ports=("p1",)) for name in NUMBERS]
    told = LldpNeighbour(netdev="p0", chassis="0c:00:00:00:00:09", port="eth3", bridge=True)
    assert ids(after(fabric_of({"alpha": [told]}), specs)[0]) == []


def test_many_ports_of_a_switch_are_counted() -> None:
    nodes = [node(f"n{i}", netdevs=[netdev("p0", mac=f"02:00:00:00:{i:02x}:00")]) for i in range(40)]
    told = (LldpNeighbour(netdev="p0", chassis="sw", port="1", bridge=True),)
    fabric = Fabric(nodes=tuple(one.model_copy(update={"lldp": told}) for one in nodes), links=())
    specs = [NodeSpec(one.name, "local", ports=("p0",)) for one in nodes]
    (finding,) = after(fabric, specs)[0].findings
    assert len(finding.evidence) == 9
    assert finding.evidence[-1].text == "and 32 more ports"


def test_without_any_word_of_lldp_nothing_changes() -> None:
    fabric = fabric_of({}, [CABLE])
    assert after(fabric)[0] is fabric
