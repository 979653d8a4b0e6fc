"""The nodes' clocks held against one another."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.checks.clocks import check_clocks
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric
from tests.fabrics import node
from tests.unit.checks.between import ids, nodes_with

pytestmark = pytest.mark.unit

HIDDEN = Unknown(unknown="no")


def clocks(*offsets: Any) -> Fabric:
    return nodes_with(offsets, lambda name, offset: node(name).model_copy(update={"clock_offset_s": offset}))


def test_the_node_that_is_off_is_named() -> None:
    (found,) = check_clocks(clocks(0.1, -42.5, 0.0, 0.3))
    assert ids([found]) == [("clock-skew", "warning", "beta")]
    assert [(piece.file, piece.text) for piece in found.evidence] == [
        ("alpha", "clock +0.1 s against the machine that asked"),
        ("beta", "clock -42.5 s against the machine that asked"),
    ]
    assert found.fix[:2] == ("on beta:", "sudo timedatectl set-ntp true")


def test_of_two_both_are_told() -> None:
    assert ids(check_clocks(clocks(0.0, 1.5))) == [("clock-skew", "warning", "alpha, beta")]


@pytest.mark.parametrize(
    "fabric",
    [clocks(), clocks(900.0), clocks(900.0, 900.2), clocks(0.0, 1.0), clocks(0.0, HIDDEN), clocks(HIDDEN, 7.0)],
)
def test_alike_alone_or_unknown_is_no_skew(fabric: Fabric) -> None:
    assert check_clocks(fabric) == ()


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=12), st.floats(-1e6, 1e6))
def test_a_wrong_clock_of_the_machine_that_asks_changes_nothing(offsets: list[float], shift: float) -> None:
    rounded = [float(round(offset)) for offset in offsets]
    moved = [offset + round(shift) for offset in rounded]
    assert [one.subject for one in check_clocks(clocks(*rounded))] == [
        one.subject for one in check_clocks(clocks(*moved))
    ]
    if max(rounded) - min(rounded) > 1:
        assert len(check_clocks(clocks(*rounded))) == 1
