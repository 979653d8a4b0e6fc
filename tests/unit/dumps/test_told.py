"""Readings: facts of all parts in order, and the parts nothing is known of."""

from __future__ import annotations

import pytest

from fabricdoc.dumps import Note, Part, Place, Reading, Told

pytestmark = pytest.mark.unit

FIRST, SECOND = Told(("host", "os"), "a", 1), Told(("host", "arch"), "b", 5)
READING = Reading("f", (Part("uname", 1, 2, (FIRST,)), Part("", 3, 4, why="?"), Part("uname", 5, 5, (SECOND,))))


def test_facts_come_in_order() -> None:
    assert READING.told == (FIRST, SECOND)


def test_unrecognised_parts() -> None:
    assert [(part.first, part.last) for part in READING.unrecognised] == [(3, 4)]


def test_they_are_values() -> None:
    assert Place("f", 3) == Place("f", 3)
    assert Note("unreadable", "f", "m").first is None
    assert not FIRST.weak
