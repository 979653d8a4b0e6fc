"""The questions that rules ask of a case: events, values in force, facts, warnings, nodes, errors."""

from __future__ import annotations

from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.explain.case import Case, same
from fabricdoc.explain.hits import MOST_EVIDENCE, listing, spots, words
from fabricdoc.explain.seen import Fact, Seen, Set, Spot
from fabricdoc.explain.views import addresses, by_node, may_be
from tests.excerpts import case, completion, gids, log, using, warn

pytestmark = pytest.mark.unit


def test_the_value_in_force_is_nccls_own_word_then_the_last_file() -> None:
    made = case(
        {"a.log": log("alpha", "NCCL_IB_TC set by environment to 1."), "x.env": "NCCL_IB_TC=2\nNCCL_X=3\nNCCL_X=4\n"}
    )
    assert (made.value("NCCL_IB_TC").value, made.value("NCCL_X").value) == ("1", "4")  # type: ignore[union-attr]
    assert made.value("NCCL_NOT_SET") is None


def test_a_value_of_another_node_is_none_of_this() -> None:
    made = case({"alpha.env": "NCCL_IB_TC=2\n", "bravo.env": "NCCL_IB_TC=3\n"})
    assert made.value("NCCL_IB_TC", "bravo").value == "3"  # type: ignore[union-attr]
    assert len(made.values("NCCL_IB_TC")) == 2
    assert made.values("NCCL_IB_TC", by="log") == []


def test_warnings_by_message_and_by_place() -> None:
    made = case(
        {"a.log": log("alpha", warn("transport/nvls.cc:5", "it broke"), warn("init.cc:1", "nvls is named here"))}
    )
    assert [seen.spot.line for seen in made.warned("nvls")] == [4]
    assert [seen.spot.line for seen in made.placed("nvls")] == [2]


def test_causes_come_before_followers() -> None:
    made = case({"a.log": log("alpha", "transport/net.cc:1 -> 6", completion(12))})
    assert made.errors[0].event.startswith("err.cqe")


def test_nodes_in_the_order_told() -> None:
    made = case(
        {"bravo.log": log("bravo", using("mlx5_0")), "alpha_show_gids.txt": gids(("mlx5_0", 3, "10.1.0.5", "v2"))}
    )
    assert made.nodes == ["bravo", "alpha"]


@pytest.mark.parametrize(
    ("one", "other", "answer"), [("a", "a", True), ("a", "b", False), ("", "b", True), ("a", "", True)]
)
def test_nodes_that_may_be_one(one: str, other: str, answer: bool) -> None:
    assert same(one, other) is answer


def test_places_are_each_once_and_bounded() -> None:
    many = [Spot("a", at, "x") for at in range(99)]
    assert len(spots(many[0], many, None, many[0])) == MOST_EVIDENCE


def test_words_take_only_what_is_harmless_to_paste() -> None:
    found = words(a="mlx5_0", b="$(rm -rf /)", c="", d="a;b", e="x" * 999, f=5, g="a\nb", h="`x`", i="a'b", j="a|b")
    assert found == {"a": "mlx5_0", "f": "5"}


def test_a_listing_is_short() -> None:
    assert listing(["a", "b", "a"]) == "a, b"
    assert listing([str(at) for at in range(12)], 3) == "0, 1, 2 and 9 more"


NODES = ("", "alpha", "bravo")


@given(
    st.lists(st.tuples(st.sampled_from(("NCCL_A", "NCCL_B")), st.sampled_from(NODES), st.sampled_from(("log", "file"))))
)
def test_a_value_is_that_of_all_who_may_be_the_node(told: list[tuple[str, str, Literal["log", "file"]]]) -> None:
    """Looked up by node, since there may be thousands: the same as asking each."""
    made = Case(sets=[Set(name, str(at), Spot("a", at, "", node), by) for at, (name, node, by) in enumerate(told)])
    made.index()
    for node in NODES:
        fitting = [each for each in made.sets if each.name == "NCCL_A" and same(each.spot.node, node)]
        said = [each for each in fitting if each.by == "log"]
        assert made.value("NCCL_A", node) == (said[0] if said else fitting[-1] if fitting else None)


@given(st.lists(st.sampled_from(NODES)))
def test_device_lists_of_a_node_are_those_of_all_who_may_be_it(nodes: list[str]) -> None:
    pairs = [(Seen("ib.using", Spot("a", at, "", node)), at) for at, node in enumerate(nodes)]
    for node in NODES:
        assert may_be(by_node(pairs), node) == [pair for pair in pairs if same(pair[0].spot.node, node)]


@given(st.lists(st.tuples(st.sampled_from(("gid", "port")), st.sampled_from(NODES))))
def test_facts_of_a_node_are_those_of_all_that_may_be_it(told: list[tuple[str, str]]) -> None:
    made = Case(facts=[Fact((kind, node, at), at, Spot("a", at, "", node)) for at, (kind, node) in enumerate(told)])
    made.index()
    for node in NODES:
        fitting = [fact for fact in made.facts if fact.path[0] == "gid" and same(fact.spot.node, node)]
        assert made.told("gid", node) == fitting


@given(st.lists(st.sampled_from(NODES)))
def test_addresses_of_a_node_are_those_of_all_that_may_be_it(nodes: list[str]) -> None:
    told = [
        Fact(("address", f"eth{at}", f"10.0.0.{at + 1}/24"), "", Spot("a", at, "", node))
        for at, node in enumerate(nodes)
    ]
    made = Case(facts=told)
    made.index()
    assert len(addresses(made)) == len(nodes)
    for node in NODES:
        assert addresses(made, node) == [view for view in addresses(made) if same(view.node, node)]
