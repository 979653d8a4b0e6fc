"""JSON values in a text: found where they begin, whole or cut off, by their shape."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricdoc.dumps.json_shapes import MAX_FAILURES, Found, JsonText
from fabricdoc.dumps.lines import lines_of

pytestmark = pytest.mark.unit

LINKS = [{"ifname": f"m{k}", "port": 1, "state": "ACTIVE", "netdev": f"e{k}"} for k in range(3)]


def read(text: str, index: int = 0) -> Found | None:
    return JsonText(lines_of(text)).read(index)


def test_a_list_ends_where_it_ends() -> None:
    found = read("x\n" + json.dumps(LINKS, indent=1) + "\nlast", 1)
    assert found is not None
    assert (found.tool, found.why, found.end) == ("rdma", "", 1 + len(json.dumps(LINKS, indent=1).splitlines()))
    assert {one.path[1] for one in found.told if one.path[0] == "hca"} == {"m0", "m1", "m2"}


def test_entries_have_their_own_lines() -> None:
    found = read("[\n" + ",\n".join(json.dumps(one) for one in LINKS) + "\n]")
    assert found is not None
    assert [one.line for one in found.told if one.path[0] == "hca"] == [2, 3, 4]


@pytest.mark.parametrize("size", range(1, len(json.dumps(LINKS)), 7))
def test_a_cut_list_gives_whole_entries(size: int) -> None:
    found = read(json.dumps(LINKS)[:size])
    if found is not None:
        assert found.why == "the JSON is cut off"
        assert {one.path[1] for one in found.told if one.path[0] == "hca"} <= {"m0", "m1", "m2"}


def test_unknown_shapes_are_named() -> None:
    found = read('{"a": 1}')
    assert found is not None
    assert (found.tool, found.why) == ("", "JSON of no known tool")
    assert read("[]") is not None


@pytest.mark.parametrize("text", ["[2026-01-01] x", "[0] y", "{x", "[abc]", "plain", '{"a": '])
def test_what_is_no_json(text: str) -> None:
    assert read(text) is None


def test_it_gives_up_after_many_false_starts() -> None:
    text = JsonText(lines_of('{"a": \n' * (MAX_FAILURES + 5) + json.dumps(LINKS)))
    for index in range(MAX_FAILURES):
        assert text.read(index) is None
    assert text.read(MAX_FAILURES + 5) is None


@settings(deadline=None)
@given(st.lists(st.sampled_from(["[", "]", "{", "}", '"a":', "1", ",", "\n", " ", '"ifname"', ":"]), max_size=40))
def test_any_brackets_are_read(pieces: list[str]) -> None:
    lines = lines_of("".join(pieces))
    text = JsonText(lines)
    for index in range(len(lines)):
        found = text.read(index)
        assert found is None or index < found.end <= len(lines)


# --- which tool's object it is ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entry", "tool", "kinds"),
    [
        ({"ifname": "m0", "port": 1, "state": "ACTIVE"}, "rdma", {"hca", "port"}),
        ({"ifname": "m0", "node_type": "ca", "fw": "1.2"}, "rdma", {"hca"}),
        ({"ifname": "m0", "port": 1, "rx_x": 4}, "rdma", {"counter"}),
        ({"ifname": "e0", "mtu": 1500}, "ip", {"netdev"}),
        ({"ifname": "e0", "addr_info": []}, "ip", {"netdev"}),
        ({"ifname": "e0", "mtu": 1500, "port": 1, "operstate": "UP"}, "ip", {"netdev"}),
        ({"priority": 1, "src": "all", "table": "main"}, "ip route", {"rule"}),
        ({"dst": "10.0.0.1", "dev": "e0", "state": ["STALE"]}, "ip route", {"neighbour"}),
        ({"dst": "10.0.0.0/8", "dev": "e0"}, "ip route", {"route"}),
        ({"lldp": {}}, "lldpctl", set()),
    ],
)
def test_each_shape_is_of_one_tool(entry: dict[str, object], tool: str, kinds: set[str]) -> None:
    for text in (json.dumps([entry]), json.dumps(entry), json.dumps([entry], indent=4)):
        found = read(text)
        assert found is not None
        assert (found.tool, {str(one.path[0]) for one in found.told}) == (tool, kinds)


@pytest.mark.parametrize(
    "entry",
    [{"ifname": "", "port": 1, "state": "ACTIVE"}, {"ifname": 4, "node_type": "ca"}, {"ifname": None, "port": 1}],
)
def test_an_object_without_a_name_is_of_its_tool_and_tells_nothing(entry: dict[str, object]) -> None:
    found = read(json.dumps([entry]))
    assert found is not None
    assert (found.tool, found.told) == ("rdma", ())


def test_a_port_without_a_number_is_port_nought() -> None:
    found = read(json.dumps([{"ifname": "m0", "port": "one", "state": "ACTIVE"}]))
    assert found is not None
    assert ("port", "m0", 0, "state") in {one.path for one in found.told}


def test_members_that_are_no_objects_are_passed_over() -> None:
    found = read(json.dumps([*LINKS[:1], 4, None, "x", [], *LINKS[1:], {}]))
    assert found is not None
    assert {one.path[1] for one in found.told if one.path[0] == "hca"} == {"m0", "m1", "m2"}


def test_the_tool_is_that_of_the_first_object_that_has_one() -> None:
    found = read(json.dumps([{"a": 1}, LINKS[0], {"ifname": "e0", "mtu": 1500}]))
    assert found is not None and found.tool == "rdma"
    assert ("netdev", "e0", "mtu") in {one.path for one in found.told}


# --- where a value begins and ends -----------------------------------------------------------------------------------


@pytest.mark.parametrize("indent", [None, 0, 1, 4])
def test_what_follows_a_value_is_not_part_of_it(indent: int | None) -> None:
    text = f"{json.dumps(LINKS, indent=indent)}\nafter\n"
    lines = lines_of(text)
    found = JsonText(lines).read(0)
    assert found is not None and lines[found.end].text == "after"


def test_two_values_are_read_one_after_the_other() -> None:
    lines = lines_of(f"{json.dumps(LINKS[:1])}\n{json.dumps(LINKS[1:])}\n")
    text = JsonText(lines)
    first, second = text.read(0), text.read(1)
    assert first is not None and second is not None
    assert ({one.path[1] for one in first.told}, first.end) == ({"m0", "e0"}, 1)
    assert second.end == 2


@pytest.mark.parametrize("text", ["[" * 3000, '{"a":' * 3000, f"[{'9' * 9000}]", "[1e999999]", '["\\ud800"]'])
def test_hostile_json_is_read_or_refused(text: str) -> None:
    found = read(text)
    assert found is None or found.told == ()


def test_a_cut_object_is_none_and_a_cut_list_gives_what_is_whole() -> None:
    assert read('{"ifname": "m0", "port": 1, "state": "ACT') is None
    found = read(f"[{json.dumps(LINKS[0])},{json.dumps(LINKS[1])[:-3]}")
    assert found is not None
    assert {one.path[1] for one in found.told if one.path[0] == "hca"} == {"m0"}
    assert found.why == "the JSON is cut off"
