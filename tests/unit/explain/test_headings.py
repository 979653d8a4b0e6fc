"""Pastes of several nodes come apart where headings say so, and no heading invents a node."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricdoc.explain.headings import MOST_PIECES, pieces_of, proven, words_of
from fabricdoc.explain.reading import case_of
from fabricdoc.explain.seen import Material
from fabricdoc.explain.texts import read_short
from tests.excerpts import FE80, gids, links, log, material, told

pytestmark = pytest.mark.unit

LEFT = gids(("mlx5_0", 0, FE80, "v1"), ("mlx5_0", 3, "10.1.0.5", "v2"))
RIGHT = gids(("mlx5_0", 0, FE80, "v1"), ("mlx5_0", 5, "10.1.0.6", "v2"))
OTHER = links(("mlx5_0", "ACTIVE"))
PAIRS = [
    ("### node1", "### node2", "node1", "node2"),
    ("# node 1", "# node 2", "node 1", "node 2"),
    ("==> spark1 <==", "==> spark2 <==", "spark1", "spark2"),
    ("==> spark1/show_gids.txt <==", "==> spark2/show_gids.txt <==", "spark1", "spark2"),
    ("==> out/gx10-ab12_show_gids.txt <==", "==> out/gx10-cd34_show_gids.txt <==", "gx10-ab12", "gx10-cd34"),
    ("[spark1]", "[spark2]", "spark1", "spark2"),
    ("Node 1:", "Node 2:", "Node 1", "Node 2"),
    ("gx10-ab12:", "gx10-cd34:", "gx10-ab12", "gx10-cd34"),
    ("--- head ---", "--- worker ---", "head", "worker"),
    ("**Node A**", "**Node B**", "Node A", "Node B"),
    ("===== spark1 (10.0.0.1) =====", "===== spark2 (10.0.0.2) =====", "spark1", "spark2"),
    ("### output on spark1", "### output on spark2", "spark1", "spark2"),
    ("## 10.0.0.1", "## 10.0.0.2", "10.0.0.1", "10.0.0.2"),
    ("spark-1:~$ show_gids", "spark-2:~$ show_gids", "spark-1", "spark-2"),
    ("me@alpha:~$ show_gids", "me@beta:~$ show_gids", "alpha", "beta"),
]


def read(text: str, name: str = "paste.txt") -> Material:
    return material(name, text)


def nodes_of(text: str, name: str = "paste.txt") -> dict[str, set[str]]:
    """Node -> the indexes of GIDs that are told of it."""
    case = case_of([read(text, name)])
    found: dict[str, set[str]] = {}
    for fact in case.told("gid"):
        found.setdefault(fact.spot.node, set()).add(str(fact.path[3]))
    return found


@pytest.mark.parametrize(("first", "second", "left", "right"), PAIRS)
@pytest.mark.parametrize("name", ["paste.txt", "spark9_show_gids.txt"])
def test_two_nodes_under_headings_are_two(first: str, second: str, left: str, right: str, name: str) -> None:
    found = nodes_of(f"{first}\n{LEFT}\n{second}\n{RIGHT}", name)
    assert found == {left: {"0", "3"}, right: {"0", "5"}}


@pytest.mark.parametrize("front", ["[{}] ", "{}: "])
def test_lines_with_their_node_in_front_come_apart(front: str) -> None:
    pairs = zip(LEFT.splitlines(), RIGHT.splitlines(), strict=True)
    text = "".join(f"{front.format('n1')}{a}\n{front.format('n2')}{b}\n" for a, b in pairs)
    assert nodes_of(text) == {"n1": {"0", "3"}, "n2": {"0", "5"}}


def test_evidence_stands_at_its_line_of_the_paste() -> None:
    text = f"hello\n\n### node1\n{LEFT}### node2\n\n{RIGHT}"
    lines = text.split("\n")
    one = read(text)
    assert one.facts
    for fact in one.facts:
        assert fact.spot.text == lines[fact.spot.line - 1]
        if fact.path[-1] == "gid":
            assert str(fact.value)[-9:] in lines[fact.spot.line - 1]


def test_the_index_that_differs_is_found_in_one_paste() -> None:
    line = log(
        "alpha", "NCCL_IB_GID_INDEX set by environment to 3.", "NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB e:10.1.0.5<0>"
    )
    answer = told({"issue.txt": f"{line}\n### node1\n{LEFT}\n### node2\n{RIGHT}"})
    assert answer.verdict == "gid-index-differs-between-nodes"
    assert "node1" in answer.findings[0].cause and "node2" in answer.findings[0].cause


def test_settings_and_logs_under_a_heading_are_its_nodes() -> None:
    first = log("gx10-ab12", "Using network IB") + LEFT
    second = log("gx10-cd34", "Using network IB") + RIGHT
    case = case_of([read(f"### node1\n{first}\n### node2\n{second}")])
    assert {seen.host: seen.spot.node for seen in case.seen} == {"gx10-ab12": "node1", "gx10-cd34": "node2"}
    assert case.nodes == ["node1", "node2"]


def test_dumps_in_front_of_the_first_heading_and_behind_the_last_section_are_read() -> None:
    text = f"{OTHER}\n### node1\n{LEFT}\n### node2\n{RIGHT}\n### Logs\nnothing\n"
    case = case_of([read(text)])
    assert [fact.spot.node for fact in case.told("port") if fact.path[-1] == "state"] == [""]


@pytest.mark.parametrize(
    "text",
    [
        LEFT + OTHER,
        f"### node1\n{LEFT}",
        f"### node1\n{LEFT}\n### node2\nnothing here\n",
        f"### GIDs\n{LEFT}\n### Links\n{OTHER}",
        f"### node1\n{LEFT}\n### node2\n{OTHER}",
        f"### mlx5_0\n{LEFT}\n### mlx5_1\n{RIGHT}",
        f"### before\n{LEFT}\n### after\n{RIGHT}",
        f"### run 1\n{LEFT}\n### run 2\n{RIGHT}",
        f"### port1\n{LEFT}\n### port2\n{RIGHT}",
        f"rank0:\n{LEFT}\nrank1:\n{RIGHT}",
    ],
)
def test_what_names_no_two_nodes_is_read_as_before(text: str) -> None:
    assert read(text).under == {}
    assert set(nodes_of(text)) == {""}


PIECES = st.sampled_from(
    [
        *(half for pair in PAIRS[:13] for half in pair[:2]),
        "nothing",
        "",
        log("alpha", "Using network IB").strip(),
        "### Logs",
    ]
)


@settings(max_examples=25)
@given(st.lists(PIECES, max_size=12))
def test_headings_without_dumps_invent_no_node(parts: list[str]) -> None:
    one = read("\n".join(parts))
    assert one.under == {} and one.facts == []


@settings(max_examples=20)
@given(st.lists(st.one_of(PIECES, st.sampled_from([LEFT, RIGHT, OTHER])), max_size=10))
def test_every_fact_stands_once_whatever_is_above_it(parts: list[str]) -> None:
    text = "\n".join(parts)
    one, plain = read(text), Material("x")
    read_short(plain, "\n".join(part if part in (LEFT, RIGHT, OTHER) else "" for part in parts))
    assert {fact.spot.line for fact in one.facts} <= set(range(1, text.count("\n") + 2))
    values = {(fact.path, str(fact.value)) for fact in plain.facts}
    assert {(fact.path, str(fact.value)) for fact in one.facts} == values


@settings(max_examples=25)
@given(st.text(alphabet="#=[]:> -node1\n", max_size=200), st.sets(st.text(alphabet="nod1", max_size=4), max_size=3))
def test_no_text_breaks_it(text: str, hosts: set[str]) -> None:
    lines = text.split("\n")
    pieces = pieces_of(lines, hosts)
    numbers = [number for piece in pieces for number in piece.numbers]
    assert len(set(numbers)) == len(numbers) and all(1 <= number <= len(lines) for number in numbers)
    assert all(len(piece.numbers) == len(piece.texts) and piece.node for piece in pieces)


def test_only_nodes_that_share_a_tool_are_proven() -> None:
    assert proven([("a", {"x", "y"}), ("b", {"y"}), ("c", {"z"})]) == {"a", "b"}
    assert proven([("a", {"x"}), ("a", {"x"})]) == frozenset()


def test_more_headings_than_any_paste_has_are_text() -> None:
    lines = [f"### node{at}" for at in range(MOST_PIECES + 1)]
    assert pieces_of(lines, ()) == [] and len(pieces_of(lines[:20], ())) == 20


def test_the_words_are_lower_case_and_of_known_kinds() -> None:
    kinds = [words_of(kind) for kind in ("role", "counted", "ends")]
    assert all(kinds) and all(word == word.lower() for words in kinds for word in words)


@pytest.mark.parametrize("line", ["#" * 90, "=" * 90 + " x", "# " * 45, "a: " * 30, "[" * 90, "node " * 18])
def test_hostile_lines_take_time_in_proportion(line: str) -> None:
    began = time.process_time()
    pieces_of([line] * 2000, ())
    assert time.process_time() - began < 5
