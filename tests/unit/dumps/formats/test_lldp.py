"""lldpctl's json and json0, in all their shapes."""

from __future__ import annotations

import json

import pytest

from fabricdoc.dumps.formats import lldp
from tests.unit.dumps.texts import facts, fixture, tools

pytestmark = pytest.mark.unit

NEIGHBOUR = {
    "chassis": "0a:0b:0c:03:22:10",
    "system": "spark-b",
    "port": "0a:0b:0c:03:22:11",
    "port_description": "enp1s0f1np1",
}


def neighbours(text: str) -> dict[tuple[object, object], dict[object, object]]:
    found: dict[tuple[object, object], dict[object, object]] = {}
    for path, value in facts(text).items():
        found.setdefault((path[1], path[2]), {})[path[3]] = value
    return found


def test_json_with_several_neighbours() -> None:
    assert neighbours(fixture("lldp.json")) == {
        ("enp1s0f0np0", 0): NEIGHBOUR,
        ("enp1s0f0np0", 1): {"chassis": "0a:0b:0c:03:11:10", "port": "self"},
    }


def test_json_with_one_neighbour_is_an_object() -> None:
    raw = json.loads(fixture("lldp.json"))
    raw["lldp"]["interface"] = raw["lldp"]["interface"][0]
    assert neighbours(json.dumps(raw)) == {("enp1s0f0np0", 0): NEIGHBOUR}


def test_json0() -> None:
    assert neighbours(fixture("lldp.json0")) == {("enp1s0f0np0", 0): NEIGHBOUR}
    assert [tool for tool, _first, _last in tools(fixture("lldp.json0"))] == ["lldpctl"]


@pytest.mark.parametrize("value", [None, 1, "x", [], {}, [[]], {"interface": 3}, {"interface": {"e": {"chassis": 4}}}])
def test_any_shape_is_read(value: object) -> None:
    facts(json.dumps({"lldp": value}))


def test_nobody_heard() -> None:
    assert neighbours('{"lldp": {}}') == {}


@pytest.mark.parametrize("several", [True, False])
@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("enabled", [True, False])
def test_a_switch_is_told_in_every_shape(enabled: bool, named: bool, several: bool) -> None:
    capability: object = {"type": "Bridge", "enabled": enabled}
    about: object = {"id": {"type": "mac", "value": "0a:0b:0c:03:22:10"}, "capability": capability}
    if several:
        about = {"id": {"type": "mac", "value": "0a:0b:0c:03:22:10"}, "capability": [{"type": "Router"}, capability]}
    entry = {"chassis": {"leaf1": about} if named else about, "port": {"id": {"type": "ifname", "value": "swp1"}}}
    (told,) = neighbours(json.dumps({"lldp": {"interface": {"p0": entry}}})).values()
    assert told.get("bridge") is (True if enabled else None)
    assert told["port"] == "swp1"


def test_a_neighbour_without_a_name_has_the_others() -> None:
    entry = {"chassis": {"id": {"type": "mac", "value": "0a:0b"}}, "port": {"id": {"type": "ifname", "value": "e7"}}}
    found = neighbours(json.dumps({"lldp": {"interface": {"e0": entry}}}))
    assert found == {("e0", 0): {"chassis": "0a:0b", "port": "e7"}}


def test_a_chassis_called_id_is_taken_for_the_id_itself() -> None:
    entry = {"chassis": {"id": {"type": "mac", "value": "0a:0b"}, "name": [{"value": "leaf-1"}]}}
    assert neighbours(json.dumps({"lldp": {"interface": {"e0": entry}}})) == {
        ("e0", 0): {"chassis": "0a:0b", "system": "leaf-1"}
    }


def test_two_chassis_take_the_last_ones_words_and_parts_without_an_id_are_no_name() -> None:
    entry = {"chassis": {"capability": {"type": "Bridge"}, "leaf-2": {"id": {"value": "0c"}}}, "port": []}
    assert neighbours(json.dumps({"lldp": {"interface": {"e0": entry}}})) == {
        ("e0", 0): {"system": "leaf-2", "chassis": "0c"}
    }


@pytest.mark.parametrize("value", [7, None, [], [{}], [{"value": 7}], {"type": "mac"}])
def test_an_id_that_is_no_text_is_no_fact(value: object) -> None:
    entry = {"chassis": {"leaf": {"id": value}}, "port": {"id": value, "descr": value}}
    assert neighbours(json.dumps({"lldp": {"interface": {"e0": entry}}})) == {("e0", 0): {"system": "leaf"}}


@pytest.mark.long
def test_a_flood_of_neighbours_is_bounded() -> None:
    entry = {"name": "e0", "port": {"id": {"value": "x"}}}
    text = json.dumps({"lldp": {"interface": [entry] * (lldp.MAX_NEIGHBOURS + 5)}}, indent=0)
    assert len(neighbours(text)) == lldp.MAX_NEIGHBOURS
