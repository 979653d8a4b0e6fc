"""One value for each fact, with its place; two values are named, weak ones give way."""

from __future__ import annotations

import pytest

from fabricdoc.dumps.sources import MAX_NOTES, Facts
from fabricdoc.dumps.told import Place, Told

pytestmark = pytest.mark.unit

MTU = ("netdev", "e0", "mtu")


def test_the_first_value_counts_and_keeps_its_place() -> None:
    facts = Facts()
    facts.add("a", [Told(MTU, 9000, 3)])
    facts.add("b", [Told(MTU, 9000, 7)])
    assert facts.values == {MTU: 9000}
    assert facts.places == {MTU: Place("a", 3)}
    assert facts.notes == []


def test_another_value_is_a_contradiction_with_both_places() -> None:
    facts = Facts()
    facts.add("a", [Told(MTU, 9000, 3)])
    facts.add("b", [Told(MTU, 1500, 7)])
    (note,) = facts.notes
    assert (note.kind, note.file, note.first) == ("contradiction", "b", 7)
    assert note.message == "netdev e0 mtu is 1500 here and 9000 in a:3"
    assert facts.values[MTU] == 9000


@pytest.mark.parametrize("weak_first", [True, False])
def test_a_weak_value_gives_way_in_silence(weak_first: bool) -> None:
    facts = Facts()
    told = [Told(MTU, 1, 1, weak=True), Told(MTU, 2, 2)]
    facts.add("a", told if weak_first else told[::-1])
    assert facts.values[MTU] == 2
    assert facts.places[MTU] == Place("a", 2)
    assert facts.notes == []


def test_of_two_weak_values_the_first_counts() -> None:
    facts = Facts()
    facts.add("a", [Told(MTU, 1, 1, weak=True), Told(MTU, 2, 2, weak=True)])
    assert facts.values[MTU] == 1


def test_counters_change_without_a_contradiction() -> None:
    facts = Facts()
    facts.add("a", [Told(("counter", "m/1", "hw", "x"), 1, 1), Told(("counter", "m/1", "hw", "x"), 2, 2)])
    assert facts.notes == []


def test_the_number_of_notes_is_bounded() -> None:
    facts = Facts()
    for file in "ab":
        facts.add(file, [Told(("netdev", f"e{k}", "mtu"), file, k) for k in range(2 * MAX_NOTES)])
    assert len(facts.notes) == MAX_NOTES


def test_kinds() -> None:
    facts = Facts()
    facts.add("a", [Told(MTU, 1, 1), Told(("host", "os"), "x", 2)])
    assert list(facts.kind("host")) == [(("host", "os"), "x")]
