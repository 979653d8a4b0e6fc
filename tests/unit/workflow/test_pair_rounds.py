"""Rounds of pairs: everybody meets everybody once, nobody is in two places at once, for any number of nodes."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.workflow.pair_rounds import rounds_of

pytestmark = pytest.mark.unit

NODES = st.integers(0, 40).map(lambda count: [f"node{at}" for at in range(count)])


@given(NODES)
def test_each_pair_meets_exactly_once(nodes: list[str]) -> None:
    met = [pair for one in rounds_of(nodes) for pair in one]
    assert sorted(met) == sorted(combinations(nodes, 2))


@given(NODES)
def test_no_node_is_twice_in_a_round_and_at_most_one_rests(nodes: list[str]) -> None:
    for one in rounds_of(nodes):
        busy = [name for pair in one for name in pair]
        assert len(busy) == len(set(busy)) >= len(nodes) - 1


@given(NODES)
def test_there_are_no_more_rounds_than_needed(nodes: list[str]) -> None:
    count = len(nodes)
    assert len(rounds_of(nodes)) == (0 if count < 2 else count - 1 + count % 2)


@given(NODES, st.integers(0, 50))
def test_a_limit_cuts_rounds_and_changes_none(nodes: list[str], most: int) -> None:
    assert rounds_of(nodes, most) == rounds_of(nodes)[:most]


@given(NODES)
def test_pairs_stand_in_the_order_of_the_nodes(nodes: list[str]) -> None:
    for one in rounds_of(nodes):
        places = [(nodes.index(a), nodes.index(b)) for a, b in one]
        assert all(a < b for a, b in places) and places == sorted(places)


def test_two_nodes_are_one_round_and_three_rest_in_turn() -> None:
    assert rounds_of(["a", "b"]) == ((("a", "b"),),)
    rests = [({"a", "b", "c"} - {name for pair in one for name in pair}).pop() for one in rounds_of(["a", "b", "c"])]
    assert sorted(rests) == ["a", "b", "c"]


def test_a_name_twice_is_one_node_and_names_are_not_ordered_by_spelling() -> None:
    assert rounds_of(["z", "a", "z"]) == ((("z", "a"),),)
