"""The majority rule: the odd one is named, ties name nobody, the unknown has no vote, and the work is linear."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.checks.majority import Place, Split, split, split_ports
from fabricdoc.model.documents import Fact, Unknown

pytestmark = pytest.mark.unit

HIDDEN = Unknown(unknown="no")
Votes = list[tuple[str, Fact[str]]]
VOTES = st.lists(st.sampled_from(["a", "b", "c", None]), max_size=24).map(
    lambda values: [(f"n{k}", HIDDEN if value is None else value) for k, value in enumerate(values)]
)


def odd(found: Split[str, str] | None) -> list[str]:
    return [] if found is None else [one.key for one in found.odd]


def test_the_odd_one_is_named_with_what_most_have() -> None:
    found = split([("n0", "a"), ("n1", "b"), ("n2", "a"), ("n3", HIDDEN)])
    assert found is not None
    (one,) = found.odd
    assert (one.key, one.value, one.usual, one.like, one.most, one.voters) == ("n1", "b", "a", "n0", 2, 3)
    assert found.sides == ()


def test_two_that_differ_are_both_told_and_neither_is_odd() -> None:
    found = split([("n0", "a"), ("n1", "b")])
    assert found is not None
    assert found.odd == ()
    assert [(side.value, side.keys) for side in found.sides] == [("a", ("n0",)), ("b", ("n1",))]


@pytest.mark.parametrize("values", ["aabb", "abc", "aabbc", "aab" * 0 + "aabcde"])
def test_without_more_than_half_nobody_is_odd(values: str) -> None:
    found = split((f"n{k}", value) for k, value in enumerate(values))
    assert found is not None
    assert found.odd == ()
    assert sum(len(side.keys) for side in found.sides) == len(values)
    assert [len(side.keys) for side in found.sides] == sorted((len(side.keys) for side in found.sides), reverse=True)


@pytest.mark.parametrize("votes", [[], [("n0", "a")], [("n0", "a"), ("n1", "a")], [("n0", "a"), ("n1", HIDDEN)]])
def test_what_is_alike_or_alone_is_no_split(votes: Votes) -> None:
    assert split(votes) is None


def test_a_value_that_counts_as_false_is_a_value() -> None:
    found = split([("n0", False), ("n1", False), ("n2", True)])
    assert found is not None
    assert [(one.key, one.usual) for one in found.odd] == [("n2", False)]


@given(VOTES)
def test_the_odd_ones_are_exactly_those_that_differ_from_the_strict_majority(votes: Votes) -> None:
    known = [(key, value) for key, value in votes if not isinstance(value, Unknown)]
    values = [value for _key, value in known]
    usual = next((value for value in values if values.count(value) * 2 > len(values)), None)
    found = split(votes)
    assert odd(found) == ([] if usual is None else [key for key, value in known if value != usual])
    assert (found is None) == (len(set(values)) < 2)
    if found is not None and usual is None:
        assert sorted(key for side in found.sides for key in side.keys) == sorted(key for key, _value in known)


@given(VOTES, st.randoms(use_true_random=False))
def test_order_does_not_matter_and_the_unknown_never_votes(votes: Votes, chance: random.Random) -> None:
    shuffled = chance.sample(votes, len(votes))
    assert sorted(odd(split(shuffled))) == sorted(odd(split(votes)))
    without = [(key, value) for key, value in votes if not isinstance(value, Unknown)]
    assert split(without) == split(votes)


@given(VOTES)
def test_one_more_vote_for_the_usual_value_changes_nobody(votes: Votes) -> None:
    found = split(votes)
    if found is not None and found.odd:
        assert odd(split([*votes, ("new", found.odd[0].usual)])) == odd(found)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3), st.sampled_from(["a", "b"])), max_size=24))
def test_ports_of_one_slot_everywhere_are_judged_like_nodes(cells: list[tuple[int, int, str]]) -> None:
    ports = {Place(f"n{node}", f"p{slot}"): value for node, slot, value in cells}
    found = split_ports(ports.items())
    if found is None:
        return
    told = {one.key for one in found.odd} | {key for side in found.sides for key in side.keys}
    assert told <= set(ports)
    for one in found.odd:
        assert ports[one.key] == one.value != one.usual == ports[one.like]


def rails(nodes: int, values: dict[str, str], **changed: str) -> list[tuple[Place, str]]:
    cells = {Place(f"n{k}", slot): value for k in range(nodes) for slot, value in values.items()}
    cells |= {Place(*name.split("_")): value for name, value in changed.items()}
    return list(cells.items())


def test_the_bad_rail_of_one_node_is_named() -> None:
    found = split_ports(rails(3, {"r0": "400", "r1": "400", "r2": "400"}, n1_r2="200"))
    assert found is not None
    assert [(one.key, one.usual, one.most, one.voters) for one in found.odd] == [(Place("n1", "r2"), "400", 2, 3)]


def test_of_two_nodes_the_other_rails_decide() -> None:
    found = split_ports(rails(2, {"r0": "400", "r1": "400", "r2": "400"}, n1_r2="200"))
    assert found is not None
    assert [(one.key, one.usual, one.voters) for one in found.odd] == [(Place("n1", "r2"), "400", 6)]


def test_a_slot_that_differs_on_every_node_is_meant_so() -> None:
    assert split_ports(rails(3, {"r0": "400", "r1": "400", "storage": "200"})) is None
    found = split_ports(rails(3, {"r0": "400", "r1": "400", "storage": "200"}, n2_storage="400"))
    assert found is not None
    assert [one.key for one in found.odd] == [Place("n2", "storage")]


def test_two_ports_of_one_node_that_differ_are_two_sides() -> None:
    found = split_ports(rails(1, {"r0": "400", "r1": "200"}))
    assert found is not None
    assert found.odd == ()
    assert [side.keys for side in found.sides] == [(Place("n0", "r0"),), (Place("n0", "r1"),)]
