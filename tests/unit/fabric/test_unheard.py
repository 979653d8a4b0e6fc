"""Ports that met nobody: down, a twin's loop, a machine not named here, or silence."""

from __future__ import annotations

import pytest

from fabricdoc.errors import NodeError
from fabricdoc.fabric.heard import Heard, Hearing
from fabricdoc.fabric.unheard import cage_of_port, down_ports, foreign_machines, unheard_ports
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Cage, Endpoint, Link, LinkProof, LldpNeighbour, Neighbour, Node, PortKey
from fabricdoc.model.findings import Finding
from tests.fabrics import hca, link, netdev, node

pytestmark = pytest.mark.unit

A0, A1, B1 = ("alpha", "p0"), ("alpha", "p1"), ("beta", "p1")
OWN, FOREIGN = "02:00:00:00:00:0a", "02:00:00:00:00:99"


def alpha(**facts: object) -> Node:
    ports = [netdev("p0", mac=OWN), netdev("p1", mac="02:00:00:00:00:0b")]
    return node("alpha", netdevs=ports, hcas=[hca("mlx5_0", "p0"), hca("mlx5_1", "p1")]).model_copy(update=facts)


def found(*nodes: Node, links: tuple[Link, ...] = (), heard: Heard | None = None) -> list[Finding]:
    return list(unheard_ports(links, heard or Heard(macs={A0: OWN}), nodes))


def loop(first: PortKey, second: PortKey) -> Link:
    ends = [Endpoint(node=name, netdev=port, mac="") for name, port in (first, second)]
    return Link(a=ends[0], b=ends[1], kind="loop", proof=LinkProof(method="beacon", at="", frames_a_to_b=6))


def test_a_carrier_that_is_not_told_of_a_port_set_down_is_down() -> None:
    refused = netdev("p0").model_copy(update={"carrier": Unknown(unknown="Invalid argument"), "operstate": "down"})
    assert down_ports([node("alpha", netdevs=[refused, netdev("p1")])]) == {A0}
    lying = netdev("p0").model_copy(update={"carrier": True, "operstate": "down"})
    assert down_ports([node("alpha", netdevs=[lying, netdev("p1")])]) == {A0}, "virtio says so"


def test_a_port_that_met_somebody_has_no_finding() -> None:
    assert found(alpha(), links=(link((*A0, None), (*B1, None)),)) == []


def test_silence_is_told_with_the_strays_that_were_heard() -> None:
    (one,) = found(alpha(), heard=Heard(macs={A0: OWN}, strays={A0: 7}))
    assert (one.id, one.subject) == ("port-without-peer", "alpha/p0")
    assert one.evidence[0].text == "p0: no beacon heard, none of its own heard elsewhere; 7 frames of others heard"
    assert "firewall" not in one.cause


def test_by_multicast_a_firewall_may_be_the_reason() -> None:
    (one,) = found(alpha(), heard=Heard(macs={A0: OWN}, methods={A0: "multicast"}))
    assert one.evidence[0].text.startswith("p0: no multicast beacon heard")
    assert "a firewall on one of the nodes that drops UDP port 18613" in one.cause


@pytest.mark.parametrize("state", ["reachable", "stale", "delay", "probe"])
def test_an_address_that_answered_from_a_strange_mac_is_a_machine_elsewhere(state: str) -> None:
    near = Neighbour(ip="10.9.0.7", netdev="p0", mac=FOREIGN, state=state)
    (one,) = found(alpha(neighbours=(near,)))
    assert (one.id, one.subject, one.confidence) == ("port-leads-elsewhere", "alpha/p0", "likely")
    assert f"p0: 10.9.0.7 is at {FOREIGN}" in [evidence.text for evidence in one.evidence]


def test_an_lldp_neighbour_of_another_machine_is_elsewhere_too() -> None:
    switch = LldpNeighbour(netdev="p0", chassis=FOREIGN, port="swp7", system="leaf-3", bridge=True)
    (one,) = found(alpha(lldp=(switch,)))
    assert one.id == "port-leads-elsewhere"
    assert "p0: LLDP names leaf-3, port swp7" in [evidence.text for evidence in one.evidence]


def test_own_ports_and_addresses_that_never_answered_are_no_strangers() -> None:
    """The chip's twins hear one another by LLDP and ARP; an address nobody has is `failed`."""
    twin = LldpNeighbour(netdev="p0", chassis="02:00:00:00:00:0B", port="p1")
    near = (
        Neighbour(ip="10.9.0.7", netdev="p0", mac=None, state="incomplete"),
        Neighbour(ip="10.9.0.8", netdev="p0", mac=FOREIGN, state="failed"),
        Neighbour(ip="10.9.0.9", netdev="p0", mac=OWN, state="reachable"),
    )
    assert foreign_machines([alpha(lldp=(twin,), neighbours=near)]) == {}
    assert foreign_machines([alpha(lldp=Unknown(unknown="x"), neighbours=Unknown(unknown="x"))]) == {}


def test_a_stranger_beside_a_proven_peer_is_no_finding() -> None:
    near = Neighbour(ip="10.9.0.7", netdev="p0", mac=FOREIGN, state="reachable")
    assert found(alpha(neighbours=(near,)), links=(link((*A0, None), (*B1, None)),)) == []


def test_the_evidence_of_a_crowd_is_bounded() -> None:
    near = tuple(Neighbour(ip=f"10.9.0.{n}", netdev="p0", mac=FOREIGN, state="stale") for n in range(2, 99))
    (one,) = found(alpha(neighbours=near))
    assert len(one.evidence) == 5


TWINS = (Cage(id="chip/p0", hcas=("mlx5_0", "mlx5_1"), by="sys_image_guid and phys_port_name"),)
APART = tuple(Cage(id=f"chip/p{n}", hcas=(f"mlx5_{n}",), by="sys_image_guid and phys_port_name") for n in (0, 1))


def test_hearing_only_its_twin_inside_the_chip_is_having_met_nobody() -> None:
    both = Heard(macs={A0: OWN, A1: OWN}, hearings=[Hearing(A0, A1, 6), Hearing(A1, A0, 6)])
    told = found(alpha(cages=TWINS), links=(loop(A0, A1),), heard=both)
    assert [(one.id, one.subject) for one in told] == [
        ("port-without-peer", "alpha/p0"),
        ("port-without-peer", "alpha/p1"),
    ]


def test_a_cable_between_two_cages_of_one_node_is_a_cable() -> None:
    both = Heard(macs={A0: OWN, A1: OWN})
    assert found(alpha(cages=APART), links=(loop(A0, A1),), heard=both) == []
    assert found(alpha(), links=(loop(A0, A1),), heard=both) == [], "without known cages it is not called a twin loop"


def test_cages_are_by_port() -> None:
    assert cage_of_port([alpha(cages=TWINS)]) == {A0: "chip/p0", A1: "chip/p0"}
    assert cage_of_port([node("beta", netdevs=[netdev("p1")])]) == {}


def test_a_port_that_is_down_says_so_before_anything_else_is_guessed() -> None:
    near = Neighbour(ip="10.9.0.7", netdev="p0", mac=FOREIGN, state="stale")
    down = node("alpha", netdevs=[netdev("p0", up=False)]).model_copy(update={"neighbours": (near,)})
    (one,) = found(down)
    assert one.id == "port-without-peer"
    assert one.cause.startswith("p0 on alpha is down: ")
    assert one.fix[1] == "sudo ip link set dev p0 up"


def test_a_name_that_a_shell_would_read_is_quoted() -> None:
    (one,) = found(node("alpha", netdevs=[netdev("p$x", up=False)]), heard=Heard(macs={("alpha", "p$x"): OWN}))
    assert one.fix[1] == "sudo ip link set dev 'p$x' up"


def test_ports_are_told_in_the_order_of_their_names() -> None:
    heard = Heard(macs={B1: "", A1: "", A0: ""})
    assert [one.subject for one in found(alpha(), heard=heard)] == ["alpha/p0", "alpha/p1", "beta/p1"]


def test_a_port_of_a_node_that_failed_on_the_way_has_no_finding_of_its_own() -> None:
    heard = Heard(macs={A0: OWN}, failed={"alpha": NodeError("alpha: gone")})
    assert found(alpha(), heard=heard) == []


def test_a_silent_port_may_lead_to_a_node_that_failed_and_says_so() -> None:
    failed = {f"n{number}": NodeError("gone") for number in range(6)}
    (one,) = found(alpha(), heard=Heard(macs={A0: OWN}, failed=failed))
    assert one.cause.endswith("; or it leads to n0, n1, n2, n3 or 2 more, which failed on the way.")
    (one,) = found(alpha(), heard=Heard(macs={A0: OWN}, failed={"beta": NodeError("gone")}))
    assert one.cause.endswith("a switch that drops; or it leads to beta, which failed on the way.")


def test_a_port_that_heard_a_node_before_it_failed_is_not_called_silent() -> None:
    half = Hearing(A0, B1, 6)
    heard = Heard(macs={A0: OWN, A1: OWN}, failed={"beta": NodeError("gone")}, halves=[half])
    assert [one.subject for one in found(alpha(), heard=heard)] == ["alpha/p1"]
