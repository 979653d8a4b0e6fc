"""Comment lines: whatever the evidence holds, they stay comments."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.export.comments import comment, evidence, head
from fabricdoc.export.content import Content
from fabricdoc.model.preset import Line
from tests.unit.export.presets_made import HEAD, node, pair, preset

pytestmark = pytest.mark.unit


@given(st.text(max_size=80))
def test_every_line_begins_with_a_hash_and_none_ends_in_a_backslash(text: str) -> None:
    for line in comment(text):
        assert line.startswith("#")
        assert not line.endswith("\\")
        assert line.splitlines() == [line]


def test_the_evidence_of_a_line() -> None:
    assert evidence(Line(name="A", value="1", kind="placed", evidence="proof")) == "placed: proof"
    assert evidence(Line(name="A", value="1", kind="measured", evidence="")) == "measured"


def test_the_head_says_whose_and_what_for() -> None:
    one, two, other = node("alpha", HEAD), node("beta", HEAD), node("gamma", {"NCCL_NET": "IB"})
    three = preset(one, two, other)
    assert head(Content(three, (one,)), "for shells") == [
        "# fabricdoc preset pair, node alpha (the same on alpha, beta)",
        "# exercised: two namespaces",
        "# for shells",
    ]
    assert "the same" not in head(Content(three, (other,)), "x")[0]
    assert head(Content(pair(), pair().nodes), "x")[0] == "# fabricdoc preset pair, nodes spark1, spark2"


def test_nothing_to_set_is_said() -> None:
    empty = preset(node("alpha", {}))
    assert "nothing to set" in head(Content(empty, empty.nodes), "x")[-1]
