"""A difference told: who is odd and what most have, or both sides; bounded however many they are."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.checks.differences import NAMED, SHOWN, Told, difference, named, node_lines, node_of, text_of
from fabricdoc.checks.majority import Odd, Place, split, split_ports
from fabricdoc.model.findings import Finding

pytestmark = pytest.mark.unit

TOLD = Told(
    "kernel-differs-between-nodes",
    "warning",
    "kernel",
    "They differ.",
    lambda one: (f"on {one.key}: {one.value} to {one.usual} as on {one.like}", "reboot"),
    ("bring both to one",),
)


def of(*values: Any, **changes: Any) -> Finding:
    """The difference of nodes n0, n1, ... with these values."""
    found = split((f"n{k}", value) for k, value in enumerate(values))
    assert found is not None
    return difference(TOLD._replace(**changes), found)


def texts(finding: Finding) -> list[tuple[str, str]]:
    return [(piece.file, piece.text) for piece in finding.evidence]


def test_the_odd_one_is_the_subject_and_the_usual_value_comes_first() -> None:
    found = of("a", "b", "a")
    assert (found.id, found.severity, found.subject) == ("kernel-differs-between-nodes", "warning", "n1")
    assert texts(found) == [("n0", "kernel: a, as on 2 of 3"), ("n1", "kernel: b")]
    assert found.fix == ("on n1: b to a as on n0", "reboot")
    assert (found.cause, found.confidence) == ("They differ.", "certain")


def test_without_a_majority_both_sides_are_told_and_nobody_is_odd() -> None:
    found = of("a", "b")
    assert found.subject == "n0, n1"
    assert texts(found) == [("n0", "kernel: a"), ("n1", "kernel: b")]
    assert found.fix == ("bring both to one",)
    assert texts(of("a", "a", "b", "b")) == [("n0", "kernel: a, also on n1"), ("n2", "kernel: b, also on n3")]


def test_values_are_shown_in_their_own_words() -> None:
    found = of(("x", "y"), ("x",), ("x", "y"), show=" and ".join, confidence="likely", severity="info")
    assert texts(found) == [("n0", "kernel: x and y, as on 2 of 3"), ("n1", "kernel: x")]
    assert (found.confidence, found.severity) == ("likely", "info")


@pytest.mark.parametrize("odd", [SHOWN - 1, SHOWN, SHOWN + 1, 400])
def test_many_odd_ones_make_a_finding_one_can_read(odd: int) -> None:
    found = of(*(["a"] * (odd + 1)), *(f"b{k}" for k in range(odd)))
    shown = min(odd, SHOWN)
    more = odd - SHOWN
    assert len(found.evidence) == 1 + shown + (more > 0)
    assert (found.evidence[-1].text == f"the last of {more} more") is (more > 0)
    assert found.subject.endswith(f"and {odd - NAMED} more") is (odd > NAMED)
    assert len([line for line in found.fix if line.startswith("on ")]) == shown
    assert found.fix[-1].startswith("the same on ") is (more > 0)
    assert all(len(line) < 400 for line in found.fix)


@pytest.mark.parametrize("sides", [2, SHOWN, SHOWN + 3])
def test_many_sides_are_bounded_too(sides: int) -> None:
    found = of(*range(sides))
    assert len(found.evidence) == min(sides, SHOWN) + (sides > SHOWN)


def test_odd_ports_are_told_with_their_place() -> None:
    votes = [(Place(f"n{k}", slot), 1 if (k, slot) == (2, "b") else 4) for k in range(3) for slot in "ab"]
    found = split_ports(votes)
    assert found is not None
    told = difference(TOLD, found)
    assert told.subject == "n2/b"
    assert texts(told) == [("n0", "b kernel: 4, as on 2 of 3"), ("n2", "b kernel: 1")]


def test_ports_that_are_usual_among_others_are_each_told_with_their_own_usual_value() -> None:
    votes = [(Place(f"n{k}", slot), value) for k in range(3) for slot, value in (("a", 1), ("b", 2))]
    votes[0] = (Place("n0", "a"), 9)
    votes[1] = (Place("n0", "b"), 9)
    found = split_ports(votes)
    assert found is not None
    assert [text for _file, text in texts(difference(TOLD, found))][:2] == [
        "a kernel: 1, as on 2 of 3",
        "b kernel: 2, as on 2 of 3",
    ]


def test_names_and_places() -> None:
    assert (text_of("n0"), text_of(Place("n0", "mlx5_0"))) == ("n0", "n0/mlx5_0")
    assert (node_of("n0"), node_of(Place("n0", "mlx5_0"))) == ("n0", "n0")


@given(st.lists(st.text("ab", min_size=1, max_size=3), min_size=1, max_size=12), st.integers(1, 6))
def test_a_list_of_names_is_whole_or_counts_the_rest(names: list[str], most: int) -> None:
    text = named(names, most)
    if len(names) <= most:
        assert text == ", ".join(names)
    else:
        assert text == f"{', '.join(names[:most])} and {len(names) - most} more"


def test_commands_stand_under_one_heading_for_each_node_once_each() -> None:
    lines = node_lines([("a", ["one"]), ("b", ["two"]), ("a", ["one", "three"])])
    assert lines == ["on a:", "one", "three", "on b:", "two"]
    many = node_lines((f"n{k:02d}", ["do"]) for k in range(SHOWN + 2))
    assert many[-1] == f"the same on n{SHOWN:02d}, n{SHOWN + 1:02d}"
    assert many.count("do") == SHOWN
    assert node_lines([]) == []


def test_an_odd_node_of_several_ports_gets_its_lines_once() -> None:
    votes = [(Place(f"n{k}", slot), 1 if k == 2 else 4) for k in range(3) for slot in "abc"]
    found = split_ports(votes)
    assert found is not None
    same = difference(TOLD._replace(one=lambda odd: (f"on {odd.key.node}: reboot",)), found)
    assert same.fix == ("on n2: reboot",)
    assert isinstance(found.odd[0], Odd)
