"""Blame by a second test against proven-good partners: no healthy node is blamed, and no ill one gets away."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.workflow.pair_rounds import Pair, rounds_of
from fabricdoc.workflow.suspects import Blame, blame, proven_good, retests, suspects

pytestmark = pytest.mark.unit


class World:
    """Nodes of which some are ill, and links of which some are broken; a pair passes where nothing is wrong with it."""

    def __init__(self, count: int, ill: set[int], broken: set[frozenset[int]]) -> None:
        self.nodes = [f"n{at}" for at in range(count)]
        self.ill = {f"n{at}" for at in ill if at < count}
        self.broken = {frozenset(f"n{at}" for at in pair) for pair in broken if max(pair) < count}

    def passes(self, pair: Pair) -> bool:
        return not self.ill & set(pair) and frozenset(pair) not in self.broken

    def tested(self, most: int | None = None) -> dict[Pair, bool]:
        return {pair: self.passes(pair) for one in rounds_of(self.nodes, most) for pair in one}

    def judged(self, most: int | None = None) -> Blame:
        first = self.tested(most)
        return blame(first, {pair: self.passes(pair) for one in retests(first) for pair in one})

    def failing_between(self) -> set[frozenset[str]]:
        return {pair for pair in self.broken if not pair & self.ill}


ILL = st.sets(st.integers(0, 11), max_size=3)
# links that break have no node in common: a node whose links break one after another is ill
BROKEN = st.permutations(range(12)).flatmap(
    lambda order: st.integers(0, 3).map(lambda n: {frozenset(order[2 * at : 2 * at + 2]) for at in range(n)})
)
WORLDS = st.builds(World, st.integers(2, 12), ILL, BROKEN)


@given(WORLDS, st.one_of(st.none(), st.integers(1, 4)))
def test_no_healthy_node_is_blamed_whatever_is_wrong(world: World, most: int | None) -> None:
    """Unless its only known partners were ill or broken links: with a proven-good partner it is cleared."""
    first = world.tested(most)
    again = {pair: world.passes(pair) for one in retests(first) for pair in one}
    met_broken = {suspect for (suspect, partner) in again if frozenset((suspect, partner)) in world.broken}
    assert set(blame(first, again).nodes) <= world.ill | met_broken


@pytest.mark.long
@given(WORLDS)
def test_after_all_rounds_no_healthy_node_is_blamed_at_all(world: World) -> None:
    """Everybody met everybody: a healthy node passed with somebody, or there is nobody to blame it."""
    assert set(world.judged().nodes) <= world.ill


@given(WORLDS)
def test_every_ill_node_is_blamed_where_somebody_is_proven_good(world: World) -> None:
    if proven_good(world.tested()):
        assert set(world.judged().nodes) == world.ill


@pytest.mark.long
@given(WORLDS)
def test_every_broken_link_between_healthy_nodes_is_told(world: World) -> None:
    found = world.judged()
    assert {frozenset(pair) for pair in (*found.pairs, *found.open)} >= world.failing_between()
    if proven_good(world.tested()):
        assert {frozenset(pair) for pair in found.pairs} == world.failing_between()
        assert found.open == ()


@given(WORLDS)
def test_nothing_is_blamed_where_nothing_failed(world: World) -> None:
    if all(world.tested().values()):
        assert world.judged() == Blame()
        assert retests(world.tested()) == ()


@given(WORLDS)
def test_one_ill_node_does_not_make_suspects_of_those_it_met(world: World) -> None:
    """In a full tournament it met everybody: whoever passed with somebody else is cleared all the same."""
    first = world.tested()
    healthy = [name for name in world.nodes if name not in world.ill]
    if len(healthy) > 2 and not world.broken:
        assert set(suspects(first)) == world.ill
        assert world.judged() == Blame(nodes=tuple(suspects(first)))


@given(WORLDS, st.integers(1, 3))
def test_a_partner_it_did_not_fail_with_comes_first(world: World, most: int) -> None:
    first = world.tested(most)
    failed = {frozenset(pair) for pair, good in first.items() if not good}
    for one in retests(first):
        for suspect, partner in one:
            others = set(proven_good(first)) - {name for pair in one for name in pair}
            if frozenset((suspect, partner)) in failed:
                assert all(frozenset((suspect, other)) in failed for other in others)


@given(WORLDS)
def test_a_retest_pairs_each_suspect_once_with_a_good_node(world: World) -> None:
    first = world.tested()
    rounds = retests(first)
    if rounds:
        assert [suspect for one in rounds for suspect, _ in one] == suspects(first)
    for one in rounds:
        busy = [name for pair in one for name in pair]
        assert len(busy) == len(set(busy))
        assert {partner for _, partner in one} <= set(proven_good(first))


@pytest.mark.parametrize("ill", [set(), {0}, {1}, {0, 1}])
def test_of_two_nodes_only_the_pair_can_be_blamed(ill: set[int]) -> None:
    found = World(2, ill, set()).judged()
    assert found == (Blame(open=(("n0", "n1"),)) if ill else Blame())


def test_where_all_fail_nobody_is_named() -> None:
    world = World(4, {0, 1, 2, 3}, set())
    assert world.judged() == Blame(open=tuple(world.tested()))
    assert set(world.judged().open) == set(combinations(world.nodes, 2))


def test_a_suspect_that_was_not_tested_again_is_not_blamed() -> None:
    """A retest that could not be made (a deadline) leaves it open."""
    first: Mapping[Pair, bool] = {("a", "b"): False, ("c", "d"): True}
    assert blame(first, {("a", "c"): True}) == Blame(open=(("a", "b"),))
    assert blame(first, {("a", "c"): False}) == Blame(nodes=("a",))
    assert blame(first, {("a", "c"): True, ("b", "d"): True}) == Blame(pairs=(("a", "b"),))
    assert blame(first, {}) == Blame(open=(("a", "b"),))
