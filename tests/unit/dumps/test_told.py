"""Readings: facts of all parts in order, and the parts nothing is known of."""

from __future__ import annotations

import json

import pytest

from fabricdoc.dumps import Note, Part, Place, Reading, Told, read_text
from fabricdoc.dumps.prompts import find_command
from tests.unit.dumps.texts import FIXTURES, fixture

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


# --- what holds for every fact of every reader -----------------------------------------------------------------------

TEXTS = sorted(path.name for path in FIXTURES.glob("*") if path.is_file() and path.name != "README")
KINDS = {
    "hca": 3, "port": 4, "gid": 5, "netdev": 3, "address": 3, "qos": 3, "route": 2, "rule": 2, "neighbour": 3,
    "pcie": 3, "acs": 2, "gpu": 3, "host": 2, "sysctl": 2, "counter": 4, "path": 3, "lldp": 4,
}  # fmt: skip


@pytest.mark.parametrize("name", TEXTS)
def test_facts_of_fixtures_have_their_kinds_and_lengths(name: str) -> None:
    for one in read_text(name, fixture(name)).told:
        assert len(one.path) == KINDS[str(one.path[0])] or one.path[2] == "altname", one
        assert all(isinstance(part, str | int) and part != "" for part in one.path), one
        assert one.line >= 1 and one.value is not None


@pytest.mark.parametrize("name", TEXTS)
def test_a_fact_stands_in_the_part_that_tells_it(name: str) -> None:
    reading = read_text(name, fixture(name))
    lines = fixture(name).splitlines()
    for part in reading.parts:
        assert 1 <= part.first <= part.last <= len(lines)
        assert all(part.first <= one.line <= part.last for one in part.told)
        assert part.tool or not part.told, "what no tool wrote tells nothing"


@pytest.mark.parametrize("name", TEXTS)
def test_parts_do_not_overlap_and_leave_no_line_out(name: str) -> None:
    reading = read_text(name, fixture(name))
    covered = [number for part in reading.parts for number in range(part.first, part.last + 1)]
    assert covered == sorted(set(covered))
    lines = fixture(name).splitlines()
    left = [lines[number - 1] for number in range(1, len(lines) + 1) if number not in covered]
    assert all(not line.strip() or find_command(line) or line.startswith("==>") for line in left)


@pytest.mark.parametrize("name", TEXTS)
def test_values_are_json(name: str) -> None:
    for one in read_text(name, fixture(name)).told:
        assert json.loads(json.dumps(one.value)) == one.value


@pytest.mark.parametrize("name", TEXTS)
def test_a_file_cut_anywhere_tells_no_more_than_the_whole(name: str) -> None:
    text = fixture(name)
    whole = {(one.path, str(one.value)) for one in read_text(name, text).told if not one.weak}
    paths = {path for path, _value in whole} | {one.path for one in read_text(name, text).told}
    for size in range(0, len(text), max(1, len(text) // 12)):
        cut = text[:size].rpartition("\n")[0]
        assert {one.path for one in read_text(name, cut).told} <= paths or name.endswith((".json", ".json0"))


@pytest.mark.parametrize(
    ("one", "field"), [(FIRST, "line"), (READING, "name"), (READING.parts[0], "first"), (Place("f", 1), "file")]
)
def test_facts_and_parts_can_not_be_changed(one: object, field: str) -> None:
    with pytest.raises(AttributeError):
        setattr(one, field, 9)


def test_every_kind_of_path_is_met_in_the_fixtures() -> None:
    met = {str(one.path[0]) for name in TEXTS for one in read_text(name, fixture(name)).told}
    assert met <= set(KINDS) and len(met) > 10
