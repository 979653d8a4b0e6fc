"""The recorded fabrics: whole documents, as read_report makes them, true to the facts; the healthy ones are quiet."""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import ValidationError

from fabricdoc.checks import check_fabric
from fabricdoc.fabric.report import read_report
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Endpoint, Fabric, Gid, Hca, Link, Neighbour, Netdev, Node, NodeReport
from tests.fabrics.altering import changed, followed, without
from tests.fabrics.oddities import ODDITIES
from tests.fabrics.others import container_node
from tests.fabrics.parts import gid_text, link_local, mac_of, rdma_mtu
from tests.fabrics.recorded import HEALTHY, RECORDED
from tests.fabrics.servers import Fault, eight_rail_servers
from tests.fabrics.spark import CABLES, spark_one_cable, spark_pair, spark_ring, spark_straight, spark_switch

pytestmark = pytest.mark.unit

EVERY = pytest.mark.parametrize("name", sorted(RECORDED))
PAIRS = pytest.mark.parametrize("cabling", sorted(CABLES))


def hcas(node: Node) -> tuple[Hca, ...]:
    assert isinstance(node.hcas, tuple)
    return node.hcas


def netdevs(node: Node) -> dict[str, Netdev]:
    assert isinstance(node.netdevs, tuple)
    return {netdev.name: netdev for netdev in node.netdevs}


def links(fabric: Fabric) -> tuple[Link, ...]:
    return () if isinstance(fabric.links, Unknown) else fabric.links


def gids(hca: Hca) -> tuple[Gid, ...]:
    assert isinstance(hca.ports[0].gids, tuple)
    return hca.ports[0].gids


def known_neighbours(node: Node) -> tuple[Neighbour, ...]:
    assert isinstance(node.neighbours, tuple)
    return node.neighbours


def ids(fabric: Fabric) -> set[tuple[str, str]]:
    return {(finding.id, finding.severity) for finding in check_fabric(fabric)}


def loud(fabric: Fabric) -> list[str]:
    return [f"{one.id} {one.subject}" for one in check_fabric(fabric) if one.severity != "info"]


# --- documents -------------------------------------------------------------------------------------------------------


@EVERY
def test_a_fabric_comes_back_from_its_json(name: str) -> None:
    fabric = RECORDED[name]()
    assert Fabric.model_validate_json(fabric.model_dump_json()) == fabric


@EVERY
def test_a_node_is_what_read_report_makes_of_its_report(name: str) -> None:
    """What follows from the facts is written by hand in the recorded fabrics; here it is told by the product."""
    for node in RECORDED[name]().nodes:
        report = json.loads(node.model_dump_json(include=set(NodeReport.model_fields)))
        found = read_report(node.name, node.target, report)
        assert found.model_copy(update={"clock_offset_s": node.clock_offset_s}) == node


@EVERY
def test_fabrics_are_made_afresh_and_alike(name: str) -> None:
    assert RECORDED[name]() == RECORDED[name]()


# --- no false alarm --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_fabrics_are_quiet(name: str) -> None:
    assert loud(RECORDED[name]()) == []


@pytest.mark.parametrize("name", sorted(ODDITIES))
def test_odd_but_healthy_fabrics_are_quiet(name: str) -> None:
    fabric = ODDITIES[name]()
    assert loud(fabric) == []
    assert Fabric.model_validate_json(fabric.model_dump_json()) == fabric
    assert all(followed(node, {}) == node for node in fabric.nodes)


@pytest.mark.parametrize("cabling", ["straight", "one", "one-crossed"])
@pytest.mark.parametrize(
    "how", [{"mtu": 1500}, {"renamed": True}, {"heard": "pairs"}, {"mtu": 4200, "renamed": True, "heard": "pairs"}]
)
def test_healthy_pairs_are_quiet_however_they_are_set_up(cabling: str, how: dict[str, Any]) -> None:
    assert loud(spark_pair(cabling, **how)) == []


@pytest.mark.parametrize("nodes", [1, 3, 20])
def test_healthy_servers_are_quiet_in_any_number(nodes: int) -> None:
    assert loud(eight_rail_servers(nodes)) == []


def test_each_fault_of_an_address_shows() -> None:
    assert ("nics-share-subnet", "warning") in ids(RECORDED["spark-twins-one-subnet"]())
    assert ("gid-auto-selected-link-local", "warning") in ids(RECORDED["spark-twin-bare"]())
    assert ("mtu-mismatch", "warning") in ids(eight_rail_servers(bad_rail=2, fault="mtu"))


# --- true to the facts: a Spark --------------------------------------------------------------------------------------


@PAIRS
def test_a_chip_has_four_functions_with_one_guid_and_small_offsets(cabling: str) -> None:
    for node in spark_pair(cabling).nodes:
        assert len({hca.sys_image_guid for hca in hcas(node)}) == 1
        guids = {hca.name: int(str(hca.node_guid).replace(":", ""), 16) for hca in hcas(node)}
        base = guids["rocep1s0f0"]
        assert {name: guid - base for name, guid in guids.items()} == {
            "rocep1s0f0": 0, "rocep1s0f1": 1, "roceP2p1s0f0": 4, "roceP2p1s0f1": 5,
        }  # fmt: skip
        assert {hca.name: hca.pci for hca in hcas(node)} == {
            "rocep1s0f0": "0000:01:00.0",
            "rocep1s0f1": "0000:01:00.1",
            "roceP2p1s0f0": "0002:01:00.0",
            "roceP2p1s0f1": "0002:01:00.1",
        }


def test_names_of_ports_and_mlx5_order() -> None:
    node = spark_pair(renamed=True).nodes[0]
    assert {hca.name: hca.ports[0].netdev for hca in hcas(node)} == {
        "mlx5_0": "enp1s0f0np0", "mlx5_1": "enp1s0f1np1", "mlx5_2": "enP2p1s0f0np0", "mlx5_3": "enP2p1s0f1np1",
    }  # fmt: skip
    assert {name: netdev.phys_port_name for name, netdev in netdevs(node).items() if name.endswith(("np0", "np1"))} == {
        "enp1s0f0np0": "p0", "enp1s0f1np1": "p1", "enP2p1s0f0np0": "p0", "enP2p1s0f1np1": "p1",
    }  # fmt: skip


@PAIRS
def test_dead_ports_are_disabled_at_40(cabling: str) -> None:
    for node in spark_pair(cabling).nodes:
        dead = [hca.ports[0] for hca in hcas(node) if hca.ports[0].state != "ACTIVE"]
        assert len(dead) == 4 - 2 * len(CABLES[cabling])
        assert all((port.state, port.phys_state, port.rate_gbps) == ("DOWN", "Disabled", 40.0) for port in dead)
        assert all(netdevs(node)[str(port.netdev)].carrier is False for port in dead)


def test_a_narrow_second_controller_is_narrow_on_both_its_functions() -> None:
    fabric = spark_pair(narrow=1)
    for node, width in zip(fabric.nodes, (4, 2), strict=True):
        assert isinstance(node.pcie, tuple)
        found = {one.address: one.current_width for one in node.pcie if one.vendor == "0x15b3"}
        assert found == {"0000:01:00.0": 4, "0000:01:00.1": 4, "0002:01:00.0": width, "0002:01:00.1": width}
        assert {one.max_width for one in node.pcie if one.vendor == "0x15b3"} == {4}


@EVERY
def test_gid_tables_follow_the_addresses(name: str) -> None:
    for node in RECORDED[name]().nodes:
        for hca in hcas(node):
            netdev = netdevs(node).get(str(hca.ports[0].netdev))
            if netdev is None:
                assert gids(hca) == ()
                continue
            addresses = [link_local(str(netdev.mac)), *(address.ip for address in netdev.addresses)]
            assert [gid.gid for gid in gids(hca)] == [gid_text(ip) for ip in addresses for _version in (1, 2)]
            assert [gid.type for gid in gids(hca)] == ["IB/RoCE v1", "RoCE v2"] * len(addresses)
            assert [gid.index for gid in gids(hca)] == list(range(2 * len(addresses)))
            assert netdev.mac == mac_of(int(str(hca.node_guid).replace(":", ""), 16))


@pytest.mark.parametrize(("mtu", "rdma"), [(1500, 1024), (4199, 2048), (4200, 4096), (9000, 4096), (1000, 512)])
def test_the_rdma_mtu_follows_the_interfaces(mtu: int, rdma: int) -> None:
    assert rdma_mtu(mtu) == rdma
    node = spark_pair(mtu=mtu).nodes[0]
    assert {hca.ports[0].active_mtu for hca in hcas(node)} == {rdma}


# --- links -----------------------------------------------------------------------------------------------------------


def ends(fabric: Fabric) -> Iterator[Endpoint]:
    for link in links(fabric):
        yield from (link.a, link.b)


@EVERY
def test_links_end_on_ports_of_the_nodes(name: str) -> None:
    fabric = RECORDED[name]()
    nodes = {node.name: node for node in fabric.nodes}
    for end in ends(fabric):
        netdev = netdevs(nodes[end.node])[end.netdev]
        assert (end.mac, netdev.carrier) == (netdev.mac, True)
        assert end.ip == (netdev.addresses[0].ip if netdev.addresses else None)
        (hca,) = [hca for hca in hcas(nodes[end.node]) if hca.ports[0].netdev == end.netdev]
        assert end.hca == hca.name


@pytest.mark.parametrize("name", [name for name in sorted(RECORDED) if name not in ("servers-swapped-rails",)])
def test_every_address_has_its_peer_on_the_same_wire(name: str) -> None:
    """Each addressed end of a link shares a subnet with an end of another node on the same wire."""
    fabric = RECORDED[name]()
    for link in links(fabric):
        if link.kind == "cable" and link.a.ip and link.b.ip:
            assert (
                ipaddress.ip_interface(f"{link.a.ip}/24").network == ipaddress.ip_interface(f"{link.b.ip}/24").network
            )


@PAIRS
def test_a_frame_reaches_both_twins_of_a_cage(cabling: str) -> None:
    fabric = spark_pair(cabling)
    wires = len(CABLES[cabling])
    assert [link.kind for link in links(fabric)].count("segment") == 4 * wires
    assert [link.kind for link in links(fabric)].count("loop") == 2 * wires
    tidy = spark_pair(cabling, heard="pairs")
    assert [link.kind for link in links(tidy)] == ["cable"] * 2 * wires


def test_crossed_cables_join_cage_0_and_cage_1() -> None:
    joined = {(link.a.netdev, link.b.netdev) for link in links(spark_pair("crossed", heard="pairs"))}
    assert joined == {
        ("enp1s0f0np0", "enp1s0f1np1"), ("enp1s0f1np1", "enp1s0f0np0"),
        ("enP2p1s0f0np0", "enP2p1s0f1np1"), ("enP2p1s0f1np1", "enP2p1s0f0np0"),
    }  # fmt: skip


def test_wires_may_be_given() -> None:
    """Cage 1 of the head to cage 0 of the worker, and a ring with a cable from cage 0 to cage 0."""
    back = spark_pair((((0, 1), (1, 0)),), heard="pairs")
    assert {(link.a.netdev, link.b.netdev) for link in links(back)} == {
        ("enp1s0f1np1", "enp1s0f0np0"), ("enP2p1s0f1np1", "enP2p1s0f0np0"),
    }  # fmt: skip
    wrong = spark_ring((((0, 0), (1, 0)), ((1, 1), (2, 1)), ((2, 0), (0, 1))))
    ends_of = {frozenset((end.node, end.netdev[-1]) for end in (link.a, link.b)) for link in links(wrong)}
    assert frozenset({("spark-a", "0"), ("spark-b", "0")}) in ends_of


def test_a_ring_goes_from_cage_0_to_cage_1_in_subnets_of_its_own() -> None:
    fabric = spark_ring()
    between = [link for link in links(fabric) if link.a.node != link.b.node]
    assert {frozenset(end.netdev[-1] for end in (link.a, link.b)) for link in between} == {frozenset("01")}
    assert len({str(end.ip).rsplit(".", 1)[0] for end in ends(fabric)}) == 6
    assert all(hca.ports[0].state == "ACTIVE" for node in fabric.nodes for hca in hcas(node))


def test_a_switch_joins_every_port_with_every_other() -> None:
    found = links(spark_switch())
    assert len(found) == 8 * 7 // 2
    assert len([link for link in found if link.kind == "loop"]) == 4


def test_a_foreign_port_is_up_and_meets_nobody() -> None:
    fabric = RECORDED["spark-foreign"]()
    up = {hca.ports[0].netdev for hca in hcas(fabric.nodes[0]) if hca.ports[0].state == "ACTIVE"}
    met = {end.netdev for end in ends(fabric) if end.node == "spark-a"}
    assert up - met == {"enp1s0f1np1", "enP2p1s0f1np1"}


@EVERY
def test_neighbours_are_the_addresses_at_the_other_ends(name: str) -> None:
    fabric = RECORDED[name]()
    macs = {(end.ip, end.mac) for end in ends(fabric)}
    for node in fabric.nodes:
        own = {address.ip for netdev in netdevs(node).values() for address in netdev.addresses}
        for one in known_neighbours(node):
            assert one.ip not in own
            assert (one.ip, one.mac) in macs or one.netdev in ("enP7s7", "eno1")
    if name == "spark-one-cable":
        assert {(one.netdev, one.ip) for one in known_neighbours(fabric.nodes[0])} == {
            ("enP7s7", "192.168.1.1"), ("enp1s0f0np0", "192.168.100.11"), ("enP2p1s0f0np0", "192.168.101.11"),
        }  # fmt: skip


# --- servers ---------------------------------------------------------------------------------------------------------

FAULTS: list[tuple[Fault, str, Any]] = [
    ("speed", "speed_mbps", 100_000),
    ("mtu", "mtu", 1500),
    ("down", "carrier", False),
]


@pytest.mark.parametrize(("fault", "field", "value"), FAULTS)
def test_a_bad_rail_is_bad_on_the_last_server_only(fault: Fault, field: str, value: Any) -> None:
    fabric = eight_rail_servers(bad_rail=5, fault=fault)
    healthy = eight_rail_servers()
    for node, well in zip(fabric.nodes, healthy.nodes, strict=True):
        now, then = netdevs(node), netdevs(well)
        odd = {name for name in then if getattr(now[name], field) != getattr(then[name], field)}
        assert odd == ({hcas(well)[5].ports[0].netdev} if node is fabric.nodes[-1] else set())
        assert all(getattr(now[name], field) == value for name in odd)


def test_other_faults_of_a_rail() -> None:
    node = eight_rail_servers(bad_rail=5).nodes[-1]
    assert isinstance(node.pcie, tuple)
    assert [one.address for one in node.pcie if one.current_width != one.max_width] == ["0000:b2:01.0", "0000:b4:00.0"]
    node = eight_rail_servers(bad_rail=5, fault="lossy").nodes[-1]
    assert isinstance(node.counters, tuple)
    assert [one.subject for one in node.counters if "packet_seq_err" in one.deltas] == ["mlx5_5/1"]
    node = eight_rail_servers(bad_rail=5, fault="pfc").nodes[-1]
    qos = [netdev.qos for netdev in netdevs(node).values() if not isinstance(netdev.qos, Unknown)]
    assert [one.trust for one in qos] == ["dscp"] * 5 + ["pcp"] + ["dscp"] * 2
    crossed = [link for link in links(RECORDED["servers-swapped-rails"]()) if link.a.hca != link.b.hca]
    assert {(link.a.hca, link.b.hca) for link in crossed} == {("mlx5_5", "mlx5_6"), ("mlx5_6", "mlx5_5")}


@pytest.mark.long
def test_many_servers_have_names_and_addresses_of_their_own() -> None:
    fabric = eight_rail_servers(300)
    assert len({node.name for node in fabric.nodes}) == 300
    ips = [address.ip for node in fabric.nodes for netdev in netdevs(node).values() for address in netdev.addresses]
    unique = [ip for ip in ips if ip != "127.0.0.1"]
    assert len(unique) == len(set(unique)) == 300 * 9
    assert (
        len({node.host.boot_id for node in fabric.nodes}) == len({node.host.machine_id for node in fabric.nodes}) == 300
    )
    assert len({hca.node_guid for node in fabric.nodes for hca in hcas(node)}) == 300 * 8


# --- altering --------------------------------------------------------------------------------------------------------


def test_one_fact_is_changed_and_no_other() -> None:
    fabric = spark_straight()
    odd = changed(fabric, "spark-b", "netdev", "enp1s0f0np0", mtu=1500)
    assert netdevs(odd.nodes[1])["enp1s0f0np0"].mtu == 1500
    assert changed(odd, "spark-b", "netdev", "enp1s0f0np0", mtu=9000) == fabric
    assert odd.nodes[0] is fabric.nodes[0]


def test_what_follows_is_told_anew() -> None:
    bare = changed(spark_one_cable(), "spark-b", "port", "rocep1s0f0", gids=())
    assert {choice.hca: choice.index for choice in bare.nodes[1].nccl_gids} == {"rocep1s0f0": 0, "roceP2p1s0f0": 3}
    given = changed(spark_one_cable(), "*", "node", cages=())
    assert all(node.cages == () and node.gpu_paths for node in given.nodes)


@pytest.mark.parametrize(
    ("part", "of", "facts", "where"),
    [
        ("hca", "rocep1s0f0", {"firmware": "28.40.1000"}, lambda node: hcas(node)[2].firmware),
        ("port", "rocep1s0f0", {"state": "DOWN"}, lambda node: hcas(node)[2].ports[0].state),
        ("qos", "enp1s0f0np0", {"trust": "dscp"}, lambda node: netdevs(node)["enp1s0f0np0"].qos.trust),
        (
            "pcie",
            "0002:01:00.0",
            {"current_width": 2},
            lambda node: node.pcie[4].current_width,
        ),
        ("gpu", 0, {"sm_clock_mhz": 611}, lambda node: node.gpus[0].sm_clock_mhz),
        ("host", "*", {"memlock": 8192}, lambda node: node.host.memlock),
        ("container", "*", {"kind": "docker"}, lambda node: node.container.kind),
        ("counters", "rocep1s0f0/1:hw", {"deltas": {"x": 1}}, lambda node: node.counters[7].deltas),
        ("node", "*", {"watched_s": 9.5}, lambda node: node.watched_s),
    ],
)
def test_every_part_can_be_changed(part: Any, of: str | int, facts: dict[str, Any], where: Any) -> None:
    odd = changed(spark_straight(), "*", part, of, **facts)
    assert [where(node) for node in odd.nodes] == [next(iter(facts.values()))] * 2


def test_what_is_not_there_is_an_error() -> None:
    fabric = spark_straight()
    for node, part, of in (("spark-z", "host", "*"), ("spark-a", "hca", "mlx5_9"), ("spark-a", "counters", "x:hw")):
        with pytest.raises(KeyError):
            changed(fabric, node, part, of)  # type: ignore[arg-type]
    for facts in ({"mut": 1500}, {"mtu": "large"}):
        with pytest.raises(ValidationError):
            changed(fabric, "spark-a", "netdev", "enp1s0f0np0", **facts)
    with pytest.raises(KeyError):
        without(fabric, "spark-z")


def test_a_node_taken_out_takes_its_links_along() -> None:
    left = without(spark_switch(), "spark-b", "spark-d")
    assert [node.name for node in left.nodes] == ["spark-a", "spark-c"]
    assert len(links(left)) == 4 * 3 // 2
    assert without(container_node()).links == container_node().links
