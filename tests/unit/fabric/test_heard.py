"""One hearing per direction of two ports, of the kind of frame that tells most."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.fabric.heard import DIRECT, SWITCHED, Hearing, Method, proof_of, settled
from fabricdoc.model.fabric import PortKey

pytestmark = pytest.mark.unit

A0, B1 = ("alpha", "p0"), ("beta", "p1")


def both(method: Method, first: PortKey = A0, second: PortKey = B1) -> list[Hearing]:
    return [Hearing(first, second, 3, method), Hearing(second, first, 3, method)]


def test_raw_frames_beat_multicast_where_both_carried() -> None:
    assert settled([*both("multicast"), *both("beacon")], ()) == both("beacon")


def test_multicast_both_ways_beats_raw_frames_one_way() -> None:
    """A filter on the EtherType at one end is no one-way cable."""
    assert settled([Hearing(A0, B1, 3), *both("multicast")], ()) == both("multicast")


def test_one_way_stays_one_way_by_raw_frames_before_multicast() -> None:
    raw, other = Hearing(A0, B1, 3), Hearing(B1, A0, 3, "multicast")
    assert settled([other, raw], ()) == [raw]
    assert settled([other], ()) == [other]


def test_the_silence_of_a_port_that_kept_no_more_proves_nothing() -> None:
    one_way = Hearing(A0, B1, 3)
    assert settled([one_way], {(B1, "beacon")}) == []
    assert settled([one_way], {(A0, "beacon")}) == [one_way], "the listener being full says nothing of the sender"
    assert settled([one_way], {(B1, "multicast")}) == [one_way]
    assert settled(both("beacon"), {(A0, "beacon"), (B1, "beacon")}) == both("beacon")


def test_a_port_that_hears_itself_is_no_pair() -> None:
    assert settled([Hearing(A0, A0, 3)], ()) == []


@pytest.mark.parametrize(
    ("near", "method", "text"),
    [((2, 0), "beacon", DIRECT), ((0, 0), "beacon", SWITCHED), ((None, None), "beacon", ""), ((0, 0), "multicast", "")],
)
def test_frames_for_the_nearest_bridge_tell_a_switch(
    near: tuple[int | None, int | None], method: Method, text: str
) -> None:
    pair = [Hearing(A0, B1, 6, method, near[0]), Hearing(B1, A0, 6, method, near[1])]
    assert proof_of(pair) == (method, text)


def test_one_direction_that_reached_the_far_end_directly_is_enough_to_know_that_nothing_lies_between() -> None:
    assert proof_of([Hearing(A0, B1, 6, near=2)]) == ("beacon", DIRECT)
    assert proof_of([Hearing(A0, B1, 6, near=2), Hearing(B1, A0, 6)]) == ("beacon", DIRECT)


def test_a_pair_is_as_weak_as_its_weaker_half() -> None:
    assert proof_of([Hearing(A0, B1, 6), Hearing(B1, A0, 6, "multicast")]) == ("multicast", "")
    assert proof_of([]) == ("beacon", "")


def test_what_other_pairs_heard_changes_nothing() -> None:
    others = both("multicast", ("alpha", "p1"), ("beta", "p0"))
    assert settled([*others, *both("beacon")], ()) == [*others, *both("beacon")]


PORTS = [(node, netdev) for node in ("alpha", "beta", "gamma") for netdev in ("p0", "p1")]
HEARING = st.builds(
    Hearing, st.sampled_from(PORTS), st.sampled_from(PORTS), st.integers(1, 9), st.sampled_from(["beacon", "multicast"])
)


@pytest.mark.long
@given(st.lists(HEARING, max_size=40, unique_by=lambda one: (one.listener, one.sender, one.method)))
def test_no_pair_is_lost_and_none_has_two_kinds(hearings: list[Hearing]) -> None:
    found = settled(hearings, ())
    pairs = {frozenset((one.listener, one.sender)) for one in hearings if one.listener != one.sender}
    assert {frozenset((one.listener, one.sender)) for one in found} == pairs
    assert len({(one.listener, one.sender) for one in found}) == len(found)
    for one, other in itertools.combinations(found, 2):
        if {one.listener, one.sender} == {other.listener, other.sender}:
            assert one.method == other.method
