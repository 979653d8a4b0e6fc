"""Rails: one port per node, from links, else from shared subnets and then called unproven."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.fabric.rails import joined_ports, rails_of
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric
from tests.fabrics import crossed_pair, hca, link, netdev, node
from tests.fabrics.altering import changed
from tests.fabrics.servers import eight_rail_servers
from tests.fabrics.spark import spark_pair, spark_ring, spark_switch

pytestmark = pytest.mark.unit


def test_crossed_pair_has_two_proven_rails_with_different_names() -> None:
    rails = rails_of(crossed_pair())
    assert [[(p.node, p.netdev) for p in rail.ports] for rail in rails] == [
        [("alpha", "p0"), ("beta", "p1")],
        [("alpha", "p1"), ("beta", "p0")],
    ]
    assert all(rail.proven for rail in rails)
    assert rails[0].port("beta").ip == "10.77.0.2"


def test_a_port_of_no_node_of_the_rail_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        rails_of(crossed_pair())[0].port("gamma")


def test_one_way_links_make_no_rail() -> None:
    fabric = crossed_pair()
    bad = fabric.model_copy(update={"links": tuple(x.model_copy(update={"kind": "one-way"}) for x in fabric.links)})  # type: ignore[union-attr]
    assert rails_of(bad) == ()


def test_without_link_proof_shared_subnets_count_but_are_unproven() -> None:
    fabric = crossed_pair().model_copy(update={"links": Unknown(unknown="no CAP_NET_RAW")})
    rails = rails_of(fabric)
    assert len(rails) == 2
    assert not any(rail.proven for rail in rails)
    assert [p.netdev for p in rails[0].ports] == ["p0", "p1"]


def test_a_cable_to_only_some_nodes_is_no_rail() -> None:
    nodes = tuple(node(name, netdevs=[netdev("p0")]) for name in ("alpha", "beta", "gamma"))
    fabric = Fabric(nodes=nodes, links=(link(("alpha", "p0", None), ("beta", "p0", None)),))
    assert rails_of(fabric) == ()


def test_a_segment_of_three_nodes_is_one_rail() -> None:
    names = ("alpha", "beta", "gamma")
    nodes = tuple(node(name, netdevs=[netdev("p0")]) for name in names)
    pairs = [("alpha", "beta"), ("beta", "gamma"), ("alpha", "gamma")]
    links = tuple(link((x, "p0", None), (y, "p0", None), kind="segment") for x, y in pairs)
    (rail,) = rails_of(Fabric(nodes=nodes, links=links))
    assert [port.node for port in rail.ports] == list(names)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=24))
def test_links_join_ports_as_brute_force_does(pairs: list[tuple[int, int]]) -> None:
    links = [link((f"n{a}", "p0", None), (f"n{b}", "p0", None), kind="segment") for a, b in pairs]
    whole: list[set[str]] = []
    for a, b in pairs:
        both = {f"n{a}", f"n{b}"}
        touching = [group for group in whole if group & both]
        whole = [group for group in whole if not group & both] + [both.union(*touching)]
    found = [{port.node for port in group} for group in joined_ports(links)]
    assert sorted(map(sorted, found)) == sorted(map(sorted, whole))


def test_thousands_of_cables_of_their_own_are_joined_without_comparing_each_with_all() -> None:
    links = [link((f"n{k}", "p0", None), (f"n{k + 1}", "p0", None)) for k in range(0, 6000, 2)]
    assert len(joined_ports(links)) == 3000


def ports(fabric: Fabric) -> list[list[str | None]]:
    return [[port.hca for port in rail.ports] for rail in rails_of(fabric)]


def test_the_twins_of_one_cable_are_two_rails() -> None:
    """A frame reaches both twins of the other end: four ports on one cable, and still two rails."""
    twins = [["rocep1s0f0", "rocep1s0f0"], ["roceP2p1s0f0", "roceP2p1s0f0"]]
    assert ports(spark_pair("one")) == ports(spark_pair("one", heard="pairs")) == twins
    assert ports(spark_pair("one-crossed")) == [["rocep1s0f0", "rocep1s0f1"], ["roceP2p1s0f0", "roceP2p1s0f1"]]


def test_twins_without_subnets_of_their_own_go_by_nccls_order() -> None:
    twins = [["rocep1s0f0", "rocep1s0f0"], ["roceP2p1s0f0", "roceP2p1s0f0"]]
    assert ports(spark_pair("one", addressing="twins-share")) == twins
    assert ports(spark_pair("one", addressing="one-twin-bare")) == twins
    assert ports(changed(spark_pair("one"), "*", "netdev", addresses=())) == twins


def test_two_cables_are_four_rails_and_four_nodes_on_a_switch_two() -> None:
    assert len(ports(spark_pair("straight"))) == len(ports(spark_pair("crossed"))) == 4
    assert ports(spark_switch()) == [["rocep1s0f0"] * 4, ["roceP2p1s0f0"] * 4]
    assert ports(eight_rail_servers()) and all(len(set(rail)) == 1 for rail in ports(eight_rail_servers()))


def test_swapped_addresses_of_twins_pair_by_subnet() -> None:
    fabric = spark_pair("one")
    one, other = (fabric.nodes[1].netdevs[at].addresses for at in (2, 4))  # type: ignore[index]
    fabric = changed(fabric, "spark-b", "netdev", "enp1s0f0np0", addresses=other)
    fabric = changed(fabric, "spark-b", "netdev", "enP2p1s0f0np0", addresses=one)
    assert ports(fabric) == [["rocep1s0f0", "roceP2p1s0f0"], ["roceP2p1s0f0", "rocep1s0f0"]]


def test_a_ring_has_no_rail_that_reaches_every_node() -> None:
    assert ports(spark_ring()) == []


def test_rails_are_in_the_order_in_which_nccl_numbers_the_first_nodes_hcas() -> None:
    """By PCI address, 0000 before 0002, whatever the interfaces are called; without HCAs by name."""
    assert ports(spark_pair("straight")) == [
        ["rocep1s0f0"] * 2,
        ["rocep1s0f1"] * 2,
        ["roceP2p1s0f0"] * 2,
        ["roceP2p1s0f1"] * 2,
    ]
    bare = changed(spark_pair("one"), "*", "node", hcas=())
    assert [rail.ports[0].netdev for rail in rails_of(bare)] == ["enP2p1s0f0np0", "enp1s0f0np0"]
    unknown = changed(spark_pair("one"), "spark-a", "hca", pci=Unknown(unknown="not read"))
    assert ports(unknown)[0][0] == "roceP2p1s0f0"  # then in the order in which they are listed


def test_a_link_over_which_rdma_failed_carries_no_rail() -> None:
    """It keeps what proved it, but NCCL could not use it; one of which it is not known still counts."""
    fabric = crossed_pair()
    assert not isinstance(fabric.links, Unknown)
    broken, other = fabric.links
    links = (broken.model_copy(update={"rdma": False}), other.model_copy(update={"rdma": Unknown(unknown="no verbs")}))
    rails = rails_of(fabric.model_copy(update={"links": links}))
    assert [[port.netdev for port in rail.ports] for rail in rails] == [["p1", "p0"]]


def test_a_rail_never_takes_a_port_whose_hca_is_dead_on_any_node() -> None:
    """NCCL passes over it without a word; a state that was not read counts as it did."""
    fabric = changed(spark_pair("straight"), "spark-b", "port", "roceP2p1s0f0", state="DOWN")
    assert ports(fabric) == [["rocep1s0f0"] * 2, ["rocep1s0f1"] * 2, ["roceP2p1s0f1"] * 2]
    assert ports(changed(fabric, "spark-b", "port", state="DOWN")) == []
    blind = changed(spark_pair("straight"), "spark-b", "port", state=Unknown(unknown="EINVAL"))
    assert ports(blind) == ports(spark_pair("straight"))


def test_one_dead_port_of_an_hca_with_two_leaves_the_other() -> None:
    two = hca("mlx4_0", "p0")
    second = two.ports[0].model_copy(update={"number": 2, "netdev": "p1", "state": "DOWN"})
    cards = two.model_copy(update={"ports": (*two.ports, second)})
    nodes = tuple(node(name, hcas=[cards], netdevs=[netdev("p0"), netdev("p1")]) for name in ("a", "b"))
    links = tuple(link(("a", port, None), ("b", port, None), hca=True) for port in ("p0", "p1"))
    assert [[one.netdev for one in rail.ports] for rail in rails_of(Fabric(nodes=nodes, links=links))] == [["p0", "p0"]]
