"""Joining: the connected parts, whatever the order, in near linear time."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.model.joining import Joining

pytestmark = pytest.mark.unit


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=30))
def test_joining_gives_the_connected_parts(pairs: list[tuple[int, int]]) -> None:
    groups = Joining[int]()
    parts = {k: {k} for k in range(13)}
    for one, other in pairs:
        assert groups.join(one, other) == (other not in parts[one])
        whole = parts[one] | parts[other]
        for member in whole:
            parts[member] = whole
    for one in range(13):
        for other in range(13):
            assert groups.are_joined(one, other) == (other in parts[one])
            assert (groups.root(one) == groups.root(other)) == (other in parts[one])
    assert {frozenset(group) for group in groups.groups()} == {frozenset(part) for part in parts.values()}
    assert sorted(groups.sizes().values()) == sorted(len(group) for group in groups.groups())


def test_groups_keep_the_order_in_which_keys_came() -> None:
    groups = Joining[str]()
    groups.join("c", "a")
    groups.join("x", "y")
    groups.join("b", "c")
    assert groups.groups() == [["c", "a", "b"], ["x", "y"]]


def test_a_key_alone_is_a_set_of_one() -> None:
    groups = Joining[str]()
    assert groups.root("a") == "a"
    assert not groups.join("a", "a")
    assert groups.groups() == [["a"]]
    assert groups.sizes() == {"a": 1}


def test_a_long_chain_takes_no_deep_way() -> None:
    """20,000 links in the worst order: path halving keeps each look short (and no recursion is there to overflow)."""
    groups = Joining[int]()
    began = time.process_time()
    for key in range(20_000, 0, -1):
        groups.join(key, key - 1)
    assert len(groups.groups()) == 1
    assert time.process_time() - began < 2.0
