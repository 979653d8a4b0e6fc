"""From heard beacons to links: kinds, proof, ends."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.checks import limit
from fabricdoc.fabric.cabling import hca_of_netdev, links_from, rdma_netdevs
from fabricdoc.fabric.heard import Heard, Hearing, Method
from fabricdoc.fabric.rails import joined_ports
from fabricdoc.model.fabric import Link, PortKey
from fabricdoc.model.joining import Joining
from tests.fabrics import hca, netdev, node

pytestmark = pytest.mark.unit

A0, A1, B0, B1 = ("alpha", "p0"), ("alpha", "p1"), ("beta", "p0"), ("beta", "p1")


def both_ways(first: PortKey, second: PortKey, count: int = 3) -> list[Hearing]:
    return [Hearing(first, second, count), Hearing(second, first, count)]


def test_crossed_pair_is_two_cables_with_proof() -> None:
    heard = Heard(hearings=[*both_ways(A0, B1), *both_ways(A1, B0, 6)])
    links = links_from(heard, [])
    assert [(x.a.netdev, x.b.netdev, x.kind) for x in links] == [("p0", "p1", "cable"), ("p1", "p0", "cable")]
    assert (links[1].proof.frames_a_to_b, links[1].proof.frames_b_to_a) == (6, 6)
    assert links[0].proof.method == "beacon"
    assert links[0].proof.at.endswith("Z")


def test_one_direction_only_is_one_way_and_says_which() -> None:
    (link,) = links_from(Heard(hearings=[Hearing(listener=B0, sender=A0, count=4)]), [])
    assert link.kind == "one-way"
    assert (link.a.node, link.proof.frames_a_to_b, link.proof.frames_b_to_a) == ("alpha", 4, 0)


def test_three_ports_that_hear_each_other_are_a_segment() -> None:
    ports = [A0, B0, ("gamma", "p0")]
    heard = Heard(hearings=[h for x, y in itertools.combinations(ports, 2) for h in both_ways(x, y)])
    assert {link.kind for link in links_from(heard, [])} == {"segment"}
    assert len(links_from(heard, [])) == 3


def test_a_node_that_hears_itself_is_a_loop() -> None:
    (link,) = links_from(Heard(hearings=both_ways(A0, A1)), [])
    assert link.kind == "loop"


def test_ends_carry_mac_hca_and_address() -> None:
    nodes = [
        node("alpha", netdevs=[netdev("p0", mac="02:00:00:00:00:01", ip="10.0.0.1")], hcas=[hca("mlx5_0", "p0")]),
        node("beta", netdevs=[netdev("p1", mac="02:00:00:00:00:02")]),
    ]
    heard = Heard(hearings=both_ways(A0, B1), macs={A0: "02:aa:00:00:00:01"})
    (link,) = links_from(heard, nodes)
    assert (link.a.mac, link.a.hca, link.a.ip) == ("02:aa:00:00:00:01", "mlx5_0", "10.0.0.1")
    assert (link.b.mac, link.b.hca, link.b.ip) == ("02:00:00:00:00:02", None, None)


def test_rdma_backed_netdevs_are_those_of_hca_ports() -> None:
    spark = node("alpha", netdevs=[netdev("p0"), netdev("p1"), netdev("wlan0")], hcas=[hca("a", "p1"), hca("b", "p0")])
    assert rdma_netdevs(spark) == ("p0", "p1")
    assert hca_of_netdev(spark) == {"p1": "a", "p0": "b"}


PORTS = st.tuples(st.sampled_from(["alpha", "beta", "gamma"]), st.sampled_from(["p0", "p1"]))


@given(st.lists(st.builds(Hearing, PORTS, PORTS, st.integers(1, 9)), max_size=12))
def test_every_hearing_is_in_exactly_one_link(hearings: list[Hearing]) -> None:
    hearings = list({(h.listener, h.sender): h for h in hearings if h.listener != h.sender}.values())
    links = links_from(Heard(hearings=hearings), [])
    total = sum(link.proof.frames_a_to_b + link.proof.frames_b_to_a for link in links)
    assert total == sum(h.count for h in hearings)
    ends = [frozenset([(x.a.node, x.a.netdev), (x.b.node, x.b.netdev)]) for x in links]
    assert len(ends) == len(set(ends))


MOST = int(limit("cables", "pairwise_ports"))


def crowd(ports: list[PortKey], *, deaf: tuple[PortKey, ...] = (), mute: tuple[PortKey, ...] = ()) -> list[Hearing]:
    """All ports of a switch hear all others, but `deaf` ones hear nobody and `mute` ones are heard by nobody."""
    return [Hearing(x, y, 3) for x, y in itertools.permutations(ports, 2) if x not in deaf and y not in mute]


def named(count: int) -> list[PortKey]:
    return [(f"n{number:04}", "p0") for number in range(count)]


def ends(links: tuple[Link, ...]) -> list[tuple[PortKey, PortKey]]:
    return [((x.a.node, x.a.netdev), (x.b.node, x.b.netdev)) for x in links]


def test_up_to_the_limit_every_pair_is_told_and_above_it_only_what_joins_them() -> None:
    few, many = (links_from(Heard(hearings=crowd(named(count))), []) for count in (MOST, MOST + 1))
    assert len(few) == MOST * (MOST - 1) // 2
    assert len(many) == MOST
    assert {x.kind for x in (*few, *many)} == {"segment"}
    assert {x.a.node for x in many} == {"n0000"}
    assert all(x.proof.frames_a_to_b == x.proof.frames_b_to_a == 3 for x in many)
    assert len(joined_ports(list(many))) == 1


def test_a_thousand_ports_on_a_switch_are_a_thousand_links() -> None:
    """200 ports are 39,800 hearings and 199 links; the growth, not the size, is what counts."""
    assert len(links_from(Heard(hearings=crowd(named(200))), [])) == 199


def test_cables_beside_a_crowded_switch_stay_cables() -> None:
    a, b = ("n0000", "p9"), ("n0001", "p9")
    links = links_from(Heard(hearings=[*crowd(named(MOST + 4)), *both_ways(a, b)]), [])
    assert [pair for pair, x in zip(ends(links), links, strict=True) if x.kind == "cable"] == [(a, b)]


def test_a_port_of_a_crowd_that_nobody_hears_is_one_one_way_link() -> None:
    ports = named(MOST + 4)
    links = links_from(Heard(hearings=crowd(ports, mute=(ports[7],))), [])
    (odd,) = [x for x in links if x.kind == "one-way"]
    assert {odd.a.node, odd.b.node} == {"n0000", "n0007"}
    assert (odd.proof.frames_a_to_b, odd.proof.frames_b_to_a) == (3, 0)
    deaf = links_from(Heard(hearings=crowd(ports, deaf=(ports[0],))), [])
    assert [x.proof.frames_a_to_b for x in deaf if x.kind == "one-way"] == [3]
    assert len(joined_ports([x for x in deaf if x.kind == "segment"])[0]) == len(ports) - 1


def test_a_frame_lost_in_a_crowd_is_no_one_way_link() -> None:
    ports = named(MOST + 4)
    heard = [h for h in crowd(ports) if (h.listener, h.sender) != (ports[0], ports[3])]
    links = links_from(Heard(hearings=heard), [])
    assert {x.kind for x in links} == {"segment"}
    assert len(joined_ports(list(links))[0]) == len(ports)


def test_ports_of_one_node_in_a_crowd_are_loops_joined_among_themselves() -> None:
    ports = [(f"n{number:02}", f"p{port}") for number in range(6) for port in range(3)]
    links = links_from(Heard(hearings=crowd(ports)), [])
    loops = [pair for pair, x in zip(ends(links), links, strict=True) if x.kind == "loop"]
    assert [one[0] for one, _other in loops] == [f"n{number:02}" for number in range(6) for _ in range(2)]
    assert len([x for x in links if x.kind == "segment"]) == len(ports) - 1


@pytest.mark.parametrize(
    ("methods", "wanted"), [({}, "beacon"), ({B1: "multicast"}, "multicast"), ({A0: "beacon"}, "beacon")]
)
def test_multicast_at_either_end_is_the_links_method(methods: dict[PortKey, Method], wanted: str) -> None:
    (link,) = links_from(Heard(hearings=both_ways(A0, B1), methods=methods), [])
    assert link.proof.method == wanted


@given(st.lists(st.tuples(st.integers(0, 24), st.integers(0, 24), st.booleans()), max_size=300))
def test_a_star_joins_what_all_pairs_would(pairs: list[tuple[int, int, bool]]) -> None:
    """Whatever is heard: ports joined both ways by all pairs are joined so by the links, and no pair is invented."""
    names = named(25)
    hearings = {}
    for one, other, back in pairs:
        if one != other:
            hearings[names[one], names[other]] = 3
            if back:
                hearings[names[other], names[one]] = 3
    links = links_from(Heard(hearings=[Hearing(*pair, 3) for pair in hearings]), [])
    both = [pair for pair in hearings if (pair[1], pair[0]) in hearings]
    assert groups_of(both) == groups_of(
        [pair for pair, x in zip(ends(links), links, strict=True) if x.kind != "one-way"]
    )
    assert groups_of(list(hearings)) == groups_of(ends(links))
    assert all(pair in hearings or pair[::-1] in hearings for pair in ends(links))
    assert len(links) <= max(MOST * (MOST - 1) // 2, 25 * MOST)


def groups_of(pairs: list[tuple[PortKey, PortKey]]) -> set[frozenset[PortKey]]:
    groups = Joining[PortKey]()
    for one, other in pairs:
        groups.join(one, other)
    return {frozenset(group) for group in groups.groups()}


def test_ports_with_raw_sockets_that_heard_only_multicast_are_proven_by_that() -> None:
    """A switch may drop the beacons' EtherType; a claim of the stronger proof would be false."""
    heard = Heard(hearings=[Hearing(A0, B1, 3, "multicast"), Hearing(B1, A0, 3, "multicast"), *both_ways(A1, B0)])
    assert [link.proof.method for link in links_from(heard, [])] == ["multicast", "beacon"]


def test_what_lies_between_is_told_in_the_detail_of_the_proof() -> None:
    heard = Heard(hearings=[Hearing(A0, B1, 6, near=2), Hearing(B1, A0, 6, near=2), *both_ways(A1, B0)])
    first, second = links_from(heard, [])
    assert first.proof.detail == "frames that no switch passes on came through: nothing lies between"
    assert (first.kind, second.kind, second.proof.detail) == ("cable", "cable", "")
