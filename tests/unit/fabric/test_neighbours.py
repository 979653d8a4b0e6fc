"""Who an LLDP neighbour is: by MAC and machine-id, never by its name; and nobody where two nodes could be meant."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.fabric.neighbours import sightings, strangers, switch_ports
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import LldpNeighbour, Netdev, Node
from tests.fabrics import host, netdev, node

pytestmark = pytest.mark.unit

A0, A1, B0, B1 = (f"02:00:00:00:0{node}:0{port}" for node in (1, 2) for port in (0, 1))


def told(at: str, chassis: str, port: str, **more: object) -> LldpNeighbour:
    return LldpNeighbour.model_validate({"netdev": at, "chassis": chassis, "port": port, **more})


def pair(*alphas: LldpNeighbour, betas: tuple[LldpNeighbour, ...] = ()) -> tuple[Node, Node]:
    alpha = node("alpha", netdevs=[netdev("p0", mac=A0), netdev("p1", mac=A1)])
    beta = node("beta", netdevs=[netdev("p0", mac=B0), netdev("p1", mac=B1)])
    beta = beta.model_copy(update={"host": host("beta").model_copy(update={"machine_id": "bb"}), "lldp": betas})
    return alpha.model_copy(update={"lldp": alphas}), beta


def seen(*nodes: Node) -> list[tuple[tuple[str, str], tuple[str, str]]]:
    return [(one.at, one.of) for one in sightings(nodes)]


def test_lldpd_names_its_port_by_mac() -> None:
    assert seen(*pair(told("p0", B0, B1))) == [(("alpha", "p0"), ("beta", "p1"))]
    assert seen(*pair(told("p0", B0.upper(), B1.upper()))) == [(("alpha", "p0"), ("beta", "p1"))]


def test_a_port_named_by_its_interface_on_the_node_of_the_chassis() -> None:
    assert seen(*pair(told("p0", B0, "p1"))) == [(("alpha", "p0"), ("beta", "p1"))]
    assert seen(*pair(told("p0", B0, "7", port_description="p1"))) == [(("alpha", "p0"), ("beta", "p1"))]


def test_systemd_calls_itself_by_machine_id() -> None:
    assert seen(*pair(told("p0", "bb", "p1"))) == [(("alpha", "p0"), ("beta", "p1"))]


def test_a_machine_id_that_two_nodes_share_means_neither() -> None:
    nodes = pair(told("p0", "m", "p1"))
    shared = nodes[1].model_copy(update={"host": host("beta")})
    assert seen(nodes[0], shared) == []
    assert strangers((nodes[0], shared)) == {}


def test_a_name_alone_is_nobody() -> None:
    nodes = pair(told("p0", "beta", "p1", system="beta", port_description="p1"))
    assert seen(*nodes) == []
    assert list(strangers(nodes)) == [("alpha", "p0")]


def test_an_other_name_of_the_interface() -> None:
    alpha, beta = pair(told("p0", B0, "ens1f1np1"))
    assert not isinstance(beta.netdevs, Unknown)
    renamed = (beta.netdevs[0], beta.netdevs[1].model_copy(update={"altnames": ("ens1f1np1",)}))
    assert seen(alpha, beta.model_copy(update={"netdevs": renamed})) == [(("alpha", "p0"), ("beta", "p1"))]


def test_the_twin_loop_of_the_chip_is_no_neighbour() -> None:
    nodes = pair(told("p0", A0, A1), told("p1", A0, "unknown to us"))
    assert seen(*nodes) == []
    assert strangers(nodes) == {}
    assert switch_ports(nodes) == {}


def test_a_switch_and_a_node_that_bridges() -> None:
    nodes = pair(told("p0", "0c:00:00:00:00:01", "swp1", system="leaf", bridge=True), told("p1", B0, B1, bridge=True))
    assert list(switch_ports(nodes)) == [("alpha", "p0")]
    assert seen(*nodes) == [(("alpha", "p1"), ("beta", "p1"))]
    assert strangers(nodes) == {}


def test_a_switch_beside_a_stranger_on_one_port_is_a_switch() -> None:
    nodes = pair(told("p0", "x", "1"), told("p0", "0c:00:00:00:00:01", "swp1", bridge=True))
    assert list(switch_ports(nodes)) == [("alpha", "p0")]
    assert strangers(nodes) == {}


def bond(slave: Netdev, name: str, kind: str) -> Netdev:
    return slave.model_copy(update={"name": name, "kind": kind})


@pytest.mark.parametrize("kind", ["bond", "vlan", "bridge", "macvlan"])
def test_what_sits_on_a_port_and_has_its_mac_is_not_meant(kind: str) -> None:
    alpha, beta = pair(told("p0", B0, B1))
    assert not isinstance(beta.netdevs, Unknown)
    more = (*beta.netdevs, bond(beta.netdevs[1], "p1.100", kind))
    assert seen(alpha, beta.model_copy(update={"netdevs": more})) == [(("alpha", "p0"), ("beta", "p1"))]


def test_two_ports_of_one_mac_are_told_apart_by_name_or_not_at_all() -> None:
    both = [netdev("p0", mac=B0), netdev("p1", mac=B0)]
    alpha, beta = pair(told("p0", B0, B0, port_description="p1"), told("p1", B0, B0))
    assert seen(alpha, beta.model_copy(update={"netdevs": tuple(both)})) == [(("alpha", "p0"), ("beta", "p1"))]


def test_a_mac_that_two_nodes_have_means_neither() -> None:
    alpha, beta = pair(told("p0", B0, B1))
    gamma = node("gamma", netdevs=[netdev("p1", mac=B1), netdev("p0", mac=B0)])
    assert seen(alpha, beta, gamma) == []


def test_nothing_known_is_nothing_seen() -> None:
    blank = node("alpha").model_copy(update={"netdevs": Unknown(unknown="x"), "lldp": Unknown(unknown="x")})
    assert (seen(blank), switch_ports([blank]), strangers([blank])) == ([], {}, {})


TEXT = st.sampled_from([A0, A1, B0, B1, "p0", "p1", "m", "bb", "alpha", "beta", "", "00:00:00:00:00:00", "x"])


@given(st.lists(st.tuples(st.sampled_from(["p0", "p1", "gone"]), TEXT, TEXT, TEXT, TEXT, st.booleans()), max_size=5))
def test_whatever_neighbours_say_only_known_ports_are_seen(said: list[tuple[str, str, str, str, str, bool]]) -> None:
    neighbours = [
        told(at, chassis, port, system=system, port_description=descr, bridge=bridge)
        for at, chassis, port, system, descr, bridge in said
    ]
    nodes = pair(*neighbours)
    for one in sightings(nodes):
        assert one.of[0] == "beta"
        assert one.of[1] in ("p0", "p1")
        assert {one.told.chassis, one.told.port} & {B0, B1, "bb"}
