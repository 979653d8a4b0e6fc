"""Selectors of every node: proven ports only, twins together, rings, sockets, and what stays out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.bench.base import base_candidate
from fabricdoc.fabric.rails import rails_of
from fabricdoc.fabric.selecting import selected, selectors_of, with_selectors
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Selectors
from fabricdoc.nccl import expand
from tests.fabrics import crossed_pair, link, netdev, node
from tests.fabrics.altering import changed, without
from tests.fabrics.recorded import RECORDED
from tests.fabrics.servers import eight_rail_servers
from tests.fabrics.spark import RING, Wire, spark_foreign, spark_pair, spark_ring, spark_switch

pytestmark = pytest.mark.unit

HEAD_F1: tuple[Wire, ...] = (((0, 1), (1, 0)),)


def told(fabric: Fabric) -> Selectors:
    found = selectors_of(fabric)
    assert found is not None
    return found


def values(fabric: Fabric, set_name: str, variable: str = "NCCL_IB_HCA") -> dict[str, str]:
    return {
        one.node: chosen.variables[variable]
        for one in told(fabric).nodes
        for chosen in one.sets
        if chosen.name == set_name
    }


def test_the_recorded_pair_crossed_gives_each_node_its_own_list() -> None:
    """Head in cage 1, worker in cage 0: exactly these two values."""
    fabric = spark_pair(HEAD_F1)
    assert values(fabric, "all-ports") == {
        "spark-a": "=rocep1s0f1,roceP2p1s0f1",
        "spark-b": "=rocep1s0f0,roceP2p1s0f0",
    }
    assert values(fabric, "one-port") == {"spark-a": "=rocep1s0f1", "spark-b": "=rocep1s0f0"}
    assert values(fabric, "all-ports", "NCCL_SOCKET_IFNAME") == {"spark-a": "=enp1s0f1np1", "spark-b": "=enp1s0f0np0"}
    assert told(fabric).master == "192.168.100.10"


def test_renamed_devices_are_listed_by_their_names() -> None:
    assert values(spark_pair(HEAD_F1, renamed=True), "all-ports") == {
        "spark-a": "=mlx5_1,mlx5_3",
        "spark-b": "=mlx5_0,mlx5_2",
    }


def test_the_bench_writes_the_same_variables_from_the_same_function() -> None:
    for fabric in (spark_pair(HEAD_F1), spark_pair("crossed"), eight_rail_servers(3), crossed_pair()):
        names = [one.name for one in fabric.nodes]
        base = base_candidate("nccl", rails_of(fabric), names, single=False).node_variables
        shown = {one.node: one.sets[-1].variables for one in told(fabric).nodes}
        assert all(value == shown[name][key] for name in names for key, value in base[name].items())


def test_two_cables_are_told_apart_from_one() -> None:
    fabric = spark_pair("crossed")
    assert [one.name for one in told(fabric).nodes[0].sets] == ["one-port", "one-cable", "all-ports"]
    assert values(fabric, "one-cable") == {
        "spark-a": "=rocep1s0f0,roceP2p1s0f0",
        "spark-b": "=rocep1s0f1,roceP2p1s0f1",
    }
    assert values(fabric, "all-ports")["spark-b"] == "=rocep1s0f1,rocep1s0f0,roceP2p1s0f1,roceP2p1s0f0"


def test_a_switch_lists_the_twins_of_the_cabled_cage_on_every_node() -> None:
    assert set(values(spark_switch(), "all-ports").values()) == {"=rocep1s0f0,roceP2p1s0f0"}
    assert [one.name for one in told(spark_switch()).nodes[3].sets] == ["one-port", "all-ports"]


def test_eight_rails_are_one_list_on_every_node() -> None:
    found = values(eight_rail_servers(3), "all-ports")
    assert set(found.values()) == {"=" + ",".join(f"mlx5_{k}" for k in range(8))}
    assert set(values(eight_rail_servers(3), "one-port").values()) == {"=mlx5_0"}


def test_a_ring_lists_all_cabled_ports_and_bootstraps_over_a_network_that_all_share() -> None:
    fabric = spark_ring()
    every = "=rocep1s0f0,rocep1s0f1,roceP2p1s0f0,roceP2p1s0f1"
    assert set(values(fabric, "all-ports").values()) == {every}
    assert set(values(fabric, "one-port").values()) == {"=rocep1s0f0,rocep1s0f1"}
    assert set(values(fabric, "all-ports", "NCCL_SOCKET_IFNAME").values()) == {"=enP7s7"}
    assert told(fabric).master == "192.168.1.50"
    assert told(fabric).rails == ()


def test_a_ring_without_another_network_says_so_and_names_no_master() -> None:
    fabric = changed(spark_ring(), "*", "netdev", "enP7s7", carrier=False)
    found = told(fabric)
    assert isinstance(found.master, Unknown)
    assert [one.topic for one in found.advice if one.topic == "bootstrap"]
    assert values(fabric, "all-ports", "NCCL_SOCKET_IFNAME")["spark-a"] == "=enp1s0f0np0"


def test_docker_and_link_local_networks_are_no_common_network() -> None:
    """172.17.0.0/16 of docker0 and 169.254/16 are on every node and join none."""
    fabric = changed(spark_ring(), "*", "netdev", "docker0", carrier=True)
    assert told(fabric).master == "192.168.1.50"
    auto = tuple({"ip": f"169.254.3.{at}", "prefix": 16, "family": "ipv4"} for at in (7,))
    bare = changed(fabric, "*", "netdev", "enP7s7", addresses=auto)
    assert isinstance(told(bare).master, Unknown)


def test_a_chain_lists_what_each_node_has() -> None:
    fabric = spark_ring(RING[:2])
    found = values(fabric, "all-ports")
    assert found == {
        "spark-a": "=rocep1s0f0,roceP2p1s0f0",
        "spark-b": "=rocep1s0f0,rocep1s0f1,roceP2p1s0f0,roceP2p1s0f1",
        "spark-c": "=rocep1s0f1,roceP2p1s0f1",
    }
    assert [one.name for one in told(fabric).nodes[0].sets] == ["all-ports"]


def test_a_port_that_leads_elsewhere_is_never_listed() -> None:
    """Cage 1 of spark-a is ACTIVE on somebody else's network."""
    fabric = spark_foreign()
    assert values(fabric, "all-ports") == dict.fromkeys(("spark-a", "spark-b"), "=rocep1s0f0,roceP2p1s0f0")


def test_a_node_without_a_proven_port_gets_no_list() -> None:
    alone = node("gamma", netdevs=[netdev("p0")])
    fabric = crossed_pair()
    three = fabric.model_copy(update={"nodes": (*fabric.nodes, alone)})
    sets = {one.node: one.sets for one in told(three).nodes}
    assert sets["gamma"] == ()
    assert sets["alpha"][-1].netdevs == ("p0", "p1")


@pytest.mark.parametrize("kind", ["one-way", "loop"])
def test_links_that_do_not_carry_both_ways_between_nodes_list_nothing(kind: str) -> None:
    fabric = crossed_pair()
    assert not isinstance(fabric.links, Unknown)
    bad = tuple(one.model_copy(update={"kind": kind}) for one in fabric.links)
    assert selectors_of(fabric.model_copy(update={"links": bad})) is None


@pytest.mark.parametrize("links", [(), Unknown(unknown="no CAP_NET_RAW")])
def test_without_proof_there_are_no_selectors(links: object) -> None:
    """Shared subnets make unproven rails, which are good enough to measure over, never to list."""
    fabric = crossed_pair().model_copy(update={"links": links})
    assert with_selectors([], fabric, lambda _: None).selectors is None


def test_without_hcas_sockets_are_named() -> None:
    found = told(crossed_pair())
    assert found.nodes[1].sets[-1].variables == {
        "NCCL_NET": "Socket",
        "NCCL_SOCKET_IFNAME": "=p1,p0",
        "GLOO_SOCKET_IFNAME": "p1",
        "TP_SOCKET_IFNAME": "p1",
        "UCX_NET_DEVICES": "p1",
    }
    assert found.master == "10.77.0.1"
    assert found.advice == ()


def test_a_port_without_an_address_is_no_master() -> None:
    fabric = crossed_pair()
    links = (link(("alpha", "p0", None), ("beta", "p1", None)),)
    found = told(fabric.model_copy(update={"links": links}))
    assert isinstance(found.master, Unknown)
    assert "alpha/p0" in found.master.unknown


def test_a_rail_whose_hca_is_down_on_one_node_is_listed_on_none() -> None:
    """The interface passes beacons, the RDMA port is dead: NCCL would use one HCA less on that node."""
    fabric = changed(spark_pair("one"), "spark-b", "port", "roceP2p1s0f0", state="DOWN")
    assert values(fabric, "one-port") == {"spark-a": "=rocep1s0f0", "spark-b": "=rocep1s0f0"}
    assert [one.name for one in told(fabric).nodes[0].sets] == ["one-port"]
    all_down = changed(spark_pair("one"), "spark-b", "port", state="DOWN")
    assert told(all_down).rails == ()


def test_a_rail_that_one_of_many_nodes_lacks_is_listed_on_none() -> None:
    fabric = eight_rail_servers(3, bad_rail=5, fault="down")
    assert set(values(fabric, "all-ports").values()) == {"=" + ",".join(f"mlx5_{k}" for k in range(8) if k != 5)}


@pytest.mark.parametrize("name", ["p0,eth0", "p0'; rm -rf ~", "p0\n", "p0:1", "^p0", "=p0", "$(id)"])
def test_a_hostile_name_is_left_out_and_said(name: str) -> None:
    alpha = node("alpha", netdevs=[netdev(name, ip="10.0.0.1"), netdev("p1", ip="10.0.1.1")])
    beta = node("beta", netdevs=[netdev("p0", ip="10.0.0.2"), netdev("p1", ip="10.0.1.2")])
    bad, good = (
        link(("alpha", name, None), ("beta", "p0", None)),
        link(("alpha", "p1", "10.0.1.1"), ("beta", "p1", None)),
    )
    found = told(Fabric(nodes=(alpha, beta), links=(bad, good)))
    assert {one.netdevs for each in found.nodes for one in each.sets} == {("p1",)}
    assert [one.topic for one in found.advice] == ["left-out"]


def test_the_list_is_cut_where_nccl_stops_reading() -> None:
    names = [f"p{at:02}" for at in range(40)]
    nodes = tuple(node(name, netdevs=[netdev(port) for port in names]) for name in ("alpha", "beta"))
    links = tuple(link(("alpha", port, None), ("beta", port, None), hca=True) for port in names)
    found = told(Fabric(nodes=nodes, links=links))
    assert len(found.nodes[0].sets[-1].hcas) == 32


@pytest.mark.parametrize("name", sorted(RECORDED))
def test_every_recorded_fabric_lists_active_ports_with_a_peer_only(name: str) -> None:
    fabric = RECORDED[name]()
    found = selectors_of(fabric)
    links = () if isinstance(fabric.links, Unknown) else fabric.links
    met = {(x.node, x.hca) for one in links if one.a.node != one.b.node for x in (one.a, one.b)}
    for one in found.nodes if found else ():
        hcas = next(node.hcas for node in fabric.nodes if node.name == one.node)
        assert not isinstance(hcas, Unknown)
        for chosen in one.sets:
            taken = expand(chosen.variables["NCCL_IB_HCA"], hcas)
            assert {device for device, _port in taken.ports} == set(chosen.hcas)
            assert taken.unmatched == taken.inactive == ()
            assert all((one.node, device) in met for device in chosen.hcas)


def test_selecting_again_changes_nothing_and_a_lost_node_takes_its_lists_away() -> None:
    once = selected(spark_switch())
    assert selected(once).selectors == once.selectors
    fewer = selected(without(once, "spark-d"))
    assert fewer.selectors is not None
    assert [one.node for one in fewer.selectors.nodes] == ["spark-a", "spark-b", "spark-c"]


CAGES = st.integers(0, 1)


@pytest.mark.long
@given(st.lists(st.tuples(st.tuples(st.integers(0, 2), CAGES), st.tuples(st.integers(0, 2), CAGES)), max_size=3))
def test_any_cabling_of_three_lists_proven_ports_only(wires: list[Wire]) -> None:
    used: set[tuple[int, int]] = set()
    kept: list[Wire] = []
    for one, other in wires:
        if one[0] != other[0] and not {one, other} & used:
            used |= {one, other}
            kept.append((one, other))
    fabric = spark_ring(tuple(kept))
    found = selectors_of(fabric)
    assert (found is None) == (not kept)
    cabled = {(f"spark-{'abc'[number]}", f"f{cage}") for number, cage in used}
    for one in found.nodes if found else ():
        for chosen in one.sets:
            assert all((one.node, device[-2:]) in cabled for device in chosen.hcas)
        assert bool(one.sets) == any(node == one.node for node, _function in cabled)


def test_a_dead_hca_is_in_no_list_of_a_ring_either() -> None:
    """Where no rail reaches every node, ports are listed one by one."""
    fabric = changed(spark_ring(), "spark-b", "port", "roceP2p1s0f0", state="DOWN")
    found = told(fabric)
    listed = {name for one in found.nodes if one.node == "spark-b" for chosen in one.sets for name in chosen.hcas}
    assert "rocep1s0f0" in listed
    assert "roceP2p1s0f0" not in listed
