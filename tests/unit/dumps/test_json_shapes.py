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
