"""Who is dropped, who stays, and what is tried beside the leader."""

from __future__ import annotations

import random

import pytest

from fabricdoc.bench.search import TRIALS, behind, leaders, next_trials, slower_than_base, survivors, worth_combining
from fabricdoc.model.run import Candidate
from fabricdoc.model.standing import Standing, Standings

pytestmark = pytest.mark.unit


def _standings(launches: int = 3, noise: float = 0.05, lost: tuple[str, ...] = (), **ratios: float) -> Standings:
    of = {name: Standing(name, value, launches) for name, value in ratios.items()}
    return Standings(of, noise, 20.0, 2 * launches, frozenset(lost))


def test_two_launches_drop_nobody() -> None:
    standings = _standings(launches=2, good=0.5, bad=-2.0)
    assert survivors(standings, ["good", "bad"]) == ("good", "bad")


def test_three_launches_drop_who_is_surely_behind_the_leader_or_base() -> None:
    standings = _standings(good=0.3, near=0.25, mid=0.1, bad=-0.5)
    assert survivors(standings, ["bad", "mid", "near", "good"]) == ("good", "near")
    assert worth_combining(standings, ["bad", "mid", "near", "good"]) == ["good", "near", "mid"]
    assert slower_than_base(standings, "bad")


def test_noise_keeps_more_of_them() -> None:
    assert survivors(_standings(noise=0.5, good=0.3, mid=0.1, bad=-0.4), ["good", "mid", "bad"]) == (
        "good", "mid", "bad",
    )  # fmt: skip


def test_the_leader_stays_though_it_is_slower_than_base() -> None:
    assert survivors(_standings(one=-0.5, two=-0.9), ["one", "two"]) == ("one",)


def test_who_loses_where_none_may_is_no_leader_and_no_partner() -> None:
    standings = _standings(lost=("fast",), fast=0.9, good=0.1)
    assert leaders(standings, ["fast", "good"]) == ["good"]
    assert survivors(standings, ["fast", "good"]) == ("good",)
    assert survivors(_standings(lost=("fast",), fast=0.9), ["fast"]) == ("fast",)


def test_the_best_is_rarely_dropped_by_chance() -> None:
    """Five candidates as fast as each other: after three launches each, hardly any leader drops the first."""
    chance, dropped = random.Random(1), 0
    for _ in range(2000):
        means = {f"c{n}": sum(chance.gauss(0, 0.05) for _ in range(3)) / 3 for n in range(5)}
        dropped += "c0" not in survivors(_standings(**means), list(means))
    assert dropped / 2000 < 0.03


def test_behind_needs_degrees_of_freedom() -> None:
    standings = Standings({"bad": Standing("bad", -9.0, 3)}, 0.01, 0.0, 6)
    assert not behind(standings, "bad", Standing("base", 0.0, 6))


A = Candidate(name="a", variables={"ALGO": "tree"})
B = Candidate(name="b", variables={"PROTO": "simple"})
B2 = Candidate(name="b2", variables={"PROTO": "ll"})
C = Candidate(name="c", variables={"CTAS": "1"})


KNOWN = _standings(a=0.3, b=0.2, b2=0.1, c=0.05, **{"a+b": 0.4, "a+b+c": 0.45})


def _names(starts, partners, known, standings=KNOWN):  # type: ignore[no-untyped-def]
    return [union.name for _, union in next_trials(standings, starts, partners, known)]


def test_a_leader_is_tried_with_every_partner_that_fits_the_most_promising_first() -> None:
    assert _names([(A,)], [C, A, B2, B], set()) == ["a+b", "a+b2", "a+c"]


def test_a_partner_that_clashes_takes_the_place_of_what_it_clashes_with() -> None:
    found = next_trials(KNOWN, [(A, B)], [B2, C], {"a", "b", "a+b"})
    assert [(tuple(one.name for one in members), union.name) for members, union in found] == [
        (("a", "b", "c"), "a+b+c"), (("a", "b2"), "a+b2"),
    ]  # fmt: skip


def test_a_member_may_be_left_out_again() -> None:
    assert _names([(A, B, C)], [], {"a+b+c"}) == ["a+b", "a+c", "b+c"]


def test_several_leaders_are_combined_on_and_the_best_promise_of_each_union_counts() -> None:
    assert _names([(A,), (B,), (C,)], [A, B, C], {"a+b"}) == ["a+c", "b+c"]


def test_what_was_tried_is_not_tried_again_and_there_is_an_end() -> None:
    assert _names([(A,)], [B, C], {"a+b"}) == ["a+c"]
    many = [Candidate(name=f"x{n}", variables={f"X{n}": "1"}) for n in range(9)]
    assert len(next_trials(KNOWN, [(A,)], many, set())) == TRIALS
