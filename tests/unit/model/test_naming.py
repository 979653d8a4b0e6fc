"""A node in a command that is pasted is the node that was meant."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.model.naming import node_word
from fabricdoc.transport import Config, parse_nodes

pytestmark = pytest.mark.unit


def test_a_target_is_named_where_it_is_another_word() -> None:
    assert node_word("spark1", "spark1") == "spark1"
    assert node_word("alpha", "netns:4711") == "alpha=netns:4711"


@given(st.from_regex(r"[a-z][a-z0-9]{0,8}", fullmatch=True), st.from_regex(r"[a-z][a-z0-9.]{0,8}[a-z]", fullmatch=True))
def test_what_is_written_is_read_as_the_same_node(name: str, target: str) -> None:
    (spec,) = parse_nodes([node_word(name, target)], Config())
    assert (spec.name, spec.target) == (name, target)
