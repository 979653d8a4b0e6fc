"""Which ports are pinged, and in which rounds: cables always, on a switch those of one subnet, never endlessly many."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.fabric.rdma_pairs import End, Pair, ends_of, pairs_of, rounds_of
from fabricdoc.fabric.rdma_words import ping_limit
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric
from tests.fabrics import crossed_pair, link
from tests.fabrics.spark import spark_pair
from tests.unit.fabric.test_rdma_ping import crossed, with_hcas

pytestmark = pytest.mark.unit


def subjects(fabric: Fabric) -> list[str]:
    return [pair.subject for pair in pairs_of(fabric)]


def switched(nodes: int, rails: int = 1) -> Fabric:
    """Nodes on one switch without VLANs, told as a star per rail; rail k is subnet 10.77.k.0."""
    names = [f"n{at:03}" for at in range(nodes)]
    made = tuple(
        with_hcas(name, (f"10.77.0.{at % 250 + 1}", f"10.77.1.{at % 250 + 1}")) for at, name in enumerate(names)
    )
    ports = [(name, f"p{rail}") for rail in range(rails) for name in names]
    star = tuple(
        link((*ports[0], None), (*other, None), kind="segment" if other[0] != ports[0][0] else "loop", hca=True)
        for other in ports[1:]
    )
    joined = (link((names[1], "p0", None), (names[0], "p1", None), kind="segment", hca=True),) if rails > 1 else ()
    return Fabric(nodes=made, links=(*star, *joined))


def test_the_ends_of_a_crossed_pair_are_its_cables() -> None:
    assert subjects(crossed()) == ["alpha/p0 - beta/p1", "alpha/p1 - beta/p0"]


def test_an_end_has_the_gid_that_nccl_takes() -> None:
    end = ends_of(crossed())["alpha", "p0"]
    assert (end.hca, end.port, end.gid_index, end.gid) == ("hca-p0", 1, 3, "::ffff:10.77.0.1")
    assert (end.ip, end.network, end.shown) == ("10.77.0.1", "10.77.0.0/24", "::ffff:10.77.0.1")


def test_without_hcas_or_links_there_is_nothing_to_ping() -> None:
    assert pairs_of(crossed_pair()) == ()
    assert pairs_of(crossed().model_copy(update={"links": ()})) == ()


def test_where_links_are_unknown_ports_that_share_a_subnet_are_tried() -> None:
    fabric = crossed().model_copy(update={"links": Unknown(unknown="no permission")})
    assert subjects(fabric) == ["alpha/p0 - beta/p1", "alpha/p1 - beta/p0"]
    bare = tuple(one.model_copy(update={"netdevs": (), "nccl_gids": ()}) for one in fabric.nodes)
    assert pairs_of(fabric.model_copy(update={"nodes": bare})) == ()


def test_a_cable_is_pinged_whatever_its_subnets_and_a_loop_never() -> None:
    straight = tuple(link(("alpha", f"p{at}", None), ("beta", f"p{at}", None), hca=True) for at in (0, 1))
    loop = link(("alpha", "p0", None), ("alpha", "p1", None), kind="loop", hca=True)
    fabric = crossed().model_copy(update={"links": (*straight, loop)})
    assert subjects(fabric) == ["alpha/p0 - beta/p0", "alpha/p1 - beta/p1"]


def test_twins_of_one_cable_meet_those_of_their_own_subnet() -> None:
    found = subjects(spark_pair("one-crossed"))
    assert len(found) == 2
    assert all(("P2p1" in first) == ("P2p1" in second) for first, second in (one.split(" - ") for one in found))


def test_twins_in_one_subnet_meet_both() -> None:
    assert len(subjects(spark_pair("one", addressing="twins-share"))) == 4


def test_few_nodes_on_a_switch_are_all_pinged() -> None:
    assert len(subjects(switched(5))) == 10


def test_rails_of_a_flat_switch_are_kept_apart() -> None:
    pairs = pairs_of(switched(4, rails=2))
    assert len(pairs) == 12
    assert all(pair.a.network == pair.b.network for pair in pairs)


def test_many_nodes_have_one_partner_each() -> None:
    for nodes in (17, 18, 64):
        pairs = pairs_of(switched(nodes, rails=2))
        met = Counter(key for pair in pairs for key in (pair.a.key, pair.b.key))
        assert len(met) == 2 * nodes
        assert max(met.values()) <= 1 + nodes % 2
        assert len(rounds_of(pairs)) <= 2


def numbered(edges: list[tuple[int, int]]) -> list[Pair]:
    ends = [End(f"n{at}", "p0", "hca", 1, 3, "::1") for at in range(32)]
    return [Pair(number, ends[a], ends[b]) for number, (a, b) in enumerate(edges)]


@given(st.lists(st.tuples(st.integers(0, 31), st.integers(0, 31)).filter(lambda edge: edge[0] < edge[1]), unique=True))
def test_a_port_takes_part_once_in_a_round_and_no_pair_is_lost(edges: list[tuple[int, int]]) -> None:
    pairs = numbered(edges)
    rounds = rounds_of(pairs)
    assert sorted(pair.number for one in rounds for pair in one) == list(range(len(pairs)))
    for one in rounds:
        keys = [key for pair in one for key in (pair.a.key, pair.b.key)]
        assert len(keys) == len(set(keys)) > 0
    degree = max(Counter(key for pair in pairs for key in (pair.a.key, pair.b.key)).values(), default=0)
    assert len(rounds) <= max(2 * degree - 1, 0)


def test_sixteen_nodes_all_against_all_take_fewer_rounds_than_nodes() -> None:
    assert len(rounds_of(numbered(list(combinations(range(16), 2))))) == 15


def test_a_node_takes_part_in_no_more_pairs_at_once_than_its_probe_allows() -> None:
    one = [End("hub", f"p{at}", f"hca{at}", 1, 3, "::1") for at in range(80)]
    other = [End(f"n{at}", "p0", "hca", 1, 3, "::1") for at in range(80)]
    rounds = rounds_of(Pair(at, a, b) for at, (a, b) in enumerate(zip(one, other, strict=True)))
    assert max(map(len, rounds)) == ping_limit("pairs_at_once") <= 64
    assert sum(map(len, rounds)) == 80
