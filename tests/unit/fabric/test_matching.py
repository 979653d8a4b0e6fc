"""What a value would take on every node of recorded fabrics, in NCCL's order, and whom those ports meet."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.errors import UsageError
from fabricdoc.fabric.matching import MOST_REMARKS, NOTHING, Question, matched, questions
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Match, MatchedPort, NodeMatch
from tests.fabrics import crossed_pair
from tests.fabrics.servers import eight_rail_servers
from tests.fabrics.spark import (
    spark_crossed,
    spark_foreign,
    spark_one_cable,
    spark_one_crossed,
    spark_ring,
    spark_straight,
    spark_twins_one_subnet,
)

pytestmark = pytest.mark.unit


def ask(fabric: Fabric, *words: str) -> Match:
    (found,) = matched(fabric, questions(words)).matches
    return found


def ports(one: NodeMatch) -> tuple[MatchedPort, ...]:
    assert not isinstance(one.ports, Unknown)
    return one.ports


def hcas(match: Match) -> dict[str, list[str]]:
    return {one.node: [f"{port.hca}:{port.port}" for port in ports(one)] for one in match.nodes}


def peers(match: Match, node: str) -> list[object]:
    return [port.peers for one in match.nodes if one.node == node for port in ports(one)]


# --- the question ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("word", "asked"),
    [
        ("=mlx5_0,mlx5_1:1", Question("NCCL_IB_HCA", "=mlx5_0,mlx5_1:1")),
        ("", Question("NCCL_IB_HCA", "")),
        ("^mlx5", Question("NCCL_IB_HCA", "^mlx5")),
        ("NCCL_IB_HCA==mlx5_0", Question("NCCL_IB_HCA", "=mlx5_0")),
        ("NCCL_IB_HCA=mlx5_0", Question("NCCL_IB_HCA", "mlx5_0")),
        ("NCCL_SOCKET_IFNAME==eth0", Question("NCCL_SOCKET_IFNAME", "=eth0")),
        (" =mlx5_0", Question("NCCL_IB_HCA", " =mlx5_0")),
    ],
)
def test_a_word_is_a_value_or_a_line_of_an_env_file(word: str, asked: Question) -> None:
    assert questions([word, word]) == (asked,)


def test_another_variable_is_refused_with_what_may_be_meant() -> None:
    with pytest.raises(UsageError, match="not UCX_NET_DEVICES") as refused:
        questions(["UCX_NET_DEVICES=mlx5_0:1"])
    assert refused.value.fix == "--match 'NCCL_IB_HCA=mlx5_0:1', if that is what you mean"


@pytest.mark.parametrize("word", ["a\0b", "x" * 4097, "\udcff", "\u20ac" * 2000])
def test_what_no_environment_holds_is_refused(word: str) -> None:
    with pytest.raises(UsageError, match="--match"):
        questions([word])


# --- HCAs ------------------------------------------------------------------------------------------------------------


def test_a_spark_pair_with_one_cable_takes_the_twins_in_pci_order_whatever_the_list_says() -> None:
    match = ask(spark_one_cable(), "=roceP2p1s0f0,rocep1s0f0")
    assert hcas(match) == {name: ["rocep1s0f0:1", "roceP2p1s0f0:1"] for name in ("spark-a", "spark-b")}
    assert peers(match, "spark-a") == [("spark-b/enP2p1s0f0np0", "spark-b/enp1s0f0np0")] * 2
    assert match.remarks == ()
    assert [one.remarks for one in match.nodes] == [(), ()]


def test_the_list_of_one_node_takes_nothing_on_the_other_of_a_crossed_pair() -> None:
    """The recorded pair whose cable runs from cage 0 to cage 1."""
    match = ask(spark_one_crossed(), "=rocep1s0f1,roceP2p1s0f1")
    assert hcas(match) == {"spark-a": [], "spark-b": ["rocep1s0f1:1", "roceP2p1s0f1:1"]}
    assert match.nodes[0].remarks == (
        "'rocep1s0f1' fits only ports that are not ACTIVE: rocep1s0f1:1 DOWN",
        "'roceP2p1s0f1' fits only ports that are not ACTIVE: roceP2p1s0f1:1 DOWN",
        NOTHING,
    )
    assert match.remarks == (
        "spark-a takes 0 devices and spark-b 2: the number should be equal, and NCCL 2.30.3 and later warn of it",
    )


def test_a_port_that_leads_elsewhere_has_no_peer() -> None:
    match = ask(spark_foreign(), "rocep1s0f")
    lonely = [(one.node, port.hca) for one in match.nodes for port in ports(one) if port.peers == ()]
    assert lonely
    assert all(port.netdev for one in match.nodes for port in ports(one))


def test_ports_that_nccl_would_pair_and_that_do_not_meet_are_named() -> None:
    """Two cables, crossed: device 0 of one node is on the other wire than device 0 of the other."""
    match = ask(spark_crossed(), "=rocep1s0f0,rocep1s0f1")
    assert match.remarks == (
        "NCCL pairs device 0 of each node: spark-a rocep1s0f0 with spark-b rocep1s0f0, and no proven link joins them",
        "NCCL pairs device 1 of each node: spark-a rocep1s0f1 with spark-b rocep1s0f1, and no proven link joins them",
    )
    assert ask(spark_straight(), "=rocep1s0f0,rocep1s0f1").remarks == ()


def test_ports_that_meet_and_share_no_subnet_are_named() -> None:
    swapped = spark_one_cable()
    node = swapped.nodes[1]
    assert not isinstance(node.netdevs, Unknown)
    twins = {one.name: one for one in node.netdevs}
    a, b = twins["enp1s0f0np0"], twins["enP2p1s0f0np0"]
    moved = {a.name: b.addresses, b.name: a.addresses}
    netdevs = tuple(one.model_copy(update={"addresses": moved.get(one.name, one.addresses)}) for one in node.netdevs)
    fabric = swapped.model_copy(update={"nodes": (swapped.nodes[0], node.model_copy(update={"netdevs": netdevs}))})
    match = ask(fabric, "=rocep1s0f0,roceP2p1s0f0")
    assert [text.partition(": ")[2] for text in match.remarks] == [
        "spark-a rocep1s0f0 with spark-b rocep1s0f0, and they share no subnet",
        "spark-a roceP2p1s0f0 with spark-b roceP2p1s0f0, and they share no subnet",
    ]
    assert ask(spark_twins_one_subnet(), "=rocep1s0f0,roceP2p1s0f0").remarks == ()


def test_in_a_ring_devices_are_not_compared_by_their_number() -> None:
    assert ask(spark_ring(), "rocep1s0f").remarks == ()


def test_links_that_are_not_known_leave_peers_unknown_and_nothing_is_compared() -> None:
    fabric = spark_crossed().model_copy(update={"links": Unknown(unknown="not asked")})
    match = ask(fabric, "=rocep1s0f0")
    assert peers(match, "spark-a") == [Unknown(unknown="not asked")]
    assert match.remarks == ()


def test_a_link_where_rdma_failed_or_that_is_one_way_is_no_peer() -> None:
    fabric = spark_one_cable()
    assert not isinstance(fabric.links, Unknown)
    for change in ({"rdma": False}, {"kind": "one-way"}):
        links = tuple(one.model_copy(update=change) for one in fabric.links)
        match = ask(fabric.model_copy(update={"links": links}), "=rocep1s0f0")
        assert peers(match, "spark-a") == [()], change


def test_a_node_whose_hcas_were_not_read_says_why() -> None:
    first, second = spark_straight().nodes
    blind = second.model_copy(update={"hcas": Unknown(unknown="no /sys/class/infiniband")})
    match = ask(spark_straight().model_copy(update={"nodes": (first, blind)}), "=rocep1s0f0")
    assert match.nodes[1].ports == Unknown(unknown="no /sys/class/infiniband")
    assert match.remarks == ()


def test_without_pci_addresses_the_order_is_not_claimed() -> None:
    node = spark_straight().nodes[0]
    assert not isinstance(node.hcas, Unknown)
    listed = tuple(one.model_copy(update={"pci": Unknown(unknown="x")}) for one in reversed(node.hcas))
    fabric = Fabric(nodes=(node.model_copy(update={"hcas": listed}),), links=())
    match = ask(fabric, "roce")
    assert match.nodes[0].remarks == ("in which order NCCL numbers them is not known: PCI addresses were not read",)
    assert hcas(match)["spark-a"] == [f"{one.name}:1" for one in listed]


@pytest.mark.long
def test_of_many_nodes_the_remarks_are_bounded() -> None:
    fabric = eight_rail_servers(40)
    nodes = [fabric.nodes[0]]
    for node in fabric.nodes[1:]:
        assert not isinstance(node.hcas, Unknown)
        down = tuple(one.ports[0].model_copy(update={"state": "DOWN"}) for one in node.hcas[:1])
        hca = node.hcas[0].model_copy(update={"ports": down})
        nodes.append(node.model_copy(update={"hcas": (hca, *node.hcas[1:])}))
    match = ask(fabric.model_copy(update={"nodes": tuple(nodes)}), "mlx5")
    assert len(match.remarks) == MOST_REMARKS + 1
    assert match.remarks[-1].startswith("and ")


# --- interfaces ------------------------------------------------------------------------------------------------------


def test_interfaces_are_in_nccls_order_with_whom_they_meet() -> None:
    match = ask(crossed_pair(), "NCCL_SOCKET_IFNAME=p")
    assert match.reading == "every interface whose name begins with p" or match.reading.startswith("what NCCL chooses")
    match = ask(crossed_pair(), "NCCL_SOCKET_IFNAME==p1,p0")
    assert [(port.netdev, port.hca, port.peers) for port in ports(match.nodes[0])] == [
        ("p0", None, ("beta/p1",)),
        ("p1", None, ("beta/p0",)),
    ]
    assert match.remarks == (), "bootstrap needs no equal numbers"


def test_a_value_that_is_too_short_is_what_nccl_chooses() -> None:
    match = ask(crossed_pair(), "NCCL_SOCKET_IFNAME=p")
    assert match.reading == "what NCCL chooses by itself: a value this short counts as none"
    assert [port.netdev for port in ports(match.nodes[0])] == ["p0", "p1"]


def test_no_interface_is_said_with_what_nccl_does() -> None:
    match = ask(crossed_pair(), "NCCL_SOCKET_IFNAME==wlan0")
    assert match.nodes[0].remarks == (
        "'wlan0' fits no interface here",
        "it takes no interface: NCCL ends at start with 'no socket interface found'",
    )


@pytest.mark.long
@given(st.text(max_size=30), st.booleans())
def test_any_value_has_an_answer_on_every_node(value: str, is_hca: bool) -> None:
    asked = Question("NCCL_IB_HCA" if is_hca else "NCCL_SOCKET_IFNAME", value)
    (match,) = matched(spark_crossed(), [asked]).matches
    assert [one.node for one in match.nodes] == ["spark-a", "spark-b"]
    assert Fabric.model_validate_json(Fabric(matches=(match,)).model_dump_json(by_alias=True)).matches == (match,)
