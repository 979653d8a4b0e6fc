"""Node sets against ClusterShell's semantics, written here by hand from its NodeSet (1.10)."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fabricdoc.errors import UsageError
from fabricdoc.transport.config import Config
from fabricdoc.transport.nodes import parse_nodes
from fabricdoc.transport.nodesets import MAX_NODES, check_count, expand, expand_all, expand_item, split_list

pytestmark = pytest.mark.unit

PREFIXES = st.from_regex(r"[a-z][a-z-]{0,5}", fullmatch=True)


@st.composite
def parts(draw: st.DrawFn) -> tuple[str, list[str]]:
    """One part of a bracket and the numbers it means: counted up one by one, as a reader would."""
    width = draw(st.integers(0, 5))
    first = draw(st.integers(0, 200))
    last = first + draw(st.integers(0, 12))
    step = draw(st.integers(1, 4))
    ends = [str(number).zfill(width) for number in (first, last)]
    padded = any(len(end) > 1 and end.startswith("0") for end in ends)
    assume(len(ends[0]) == len(ends[1]) or not padded)
    numbers, at = [], first
    while at <= last:
        numbers.append(str(at).zfill(len(ends[0])) if padded else str(at))
        at += step
    return f"{ends[0]}-{ends[1]}" + (f"/{step}" if step > 1 else ""), numbers


@st.composite
def brackets(draw: st.DrawFn) -> tuple[str, list[str]]:
    chosen = draw(st.lists(parts(), min_size=1, max_size=3))
    numbers: list[str] = []
    for _, more in chosen:
        numbers += [number for number in more if number not in numbers]
    return "[" + ",".join(text for text, _ in chosen) + "]", numbers


@given(PREFIXES, brackets())
def test_one_set_means_its_numbers_with_their_padding(prefix: str, bracket: tuple[str, list[str]]) -> None:
    text, numbers = bracket
    assert expand(prefix + text) == tuple(prefix + number for number in numbers)


@given(PREFIXES, brackets(), PREFIXES, brackets(), st.sampled_from(["", "-ib", ".lan", ":22"]))
def test_two_sets_mean_every_pair_the_last_one_fastest(
    rack: str, racks: tuple[str, list[str]], host: str, hosts: tuple[str, list[str]], end: str
) -> None:
    wanted = [f"{rack}{one}{host}{other}{end}" for one in racks[1] for other in hosts[1]]
    assert list(expand(f"{rack}{racks[0]}{host}{hosts[0]}{end}")) == wanted


@pytest.mark.long
@given(st.lists(st.tuples(PREFIXES, brackets()), min_size=1, max_size=4))
def test_a_list_is_its_words_one_after_the_other(sets: list[tuple[str, tuple[str, list[str]]]]) -> None:
    words = [prefix + text for prefix, (text, _) in sets]
    assert split_list(",".join(words)) == words
    assert expand_all([" , ".join(words)]) == [f"{prefix}{n}" for prefix, (_, numbers) in sets for n in numbers]
    assert expand_all(words) == expand_all([",".join(words)])


@given(st.text(alphabet="ab01259[]-,/=:@. ", max_size=30))
def test_any_text_is_bounded_texts_without_a_set_or_a_usage_error(text: str) -> None:
    try:
        words = expand_all([text])
    except UsageError as error:
        assert "\n" not in error.message
    else:
        assert len(words) <= MAX_NODES
        assert not any(re.search(r"\[[0-9,/-]*\]", word) for word in words if "netns" not in word)


@pytest.mark.parametrize(
    ("word", "wanted"),
    [
        ("node[1-3]", ["node1", "node2", "node3"]),
        ("node[08-10]", ["node08", "node09", "node10"]),
        ("node[8-10]", ["node8", "node9", "node10"]),
        ("node[099-101]", ["node099", "node100", "node101"]),
        ("n[01,1]", ["n01", "n1"]),
        ("n[3,1-2,2]", ["n3", "n1", "n2"]),
        ("n[0-10/5]", ["n0", "n5", "n10"]),
        ("n[ 1-2 , 4]x", ["n1x", "n2x", "n4x"]),
        ("rack[1-2]n[01-02]", ["rack1n01", "rack1n02", "rack2n01", "rack2n02"]),
        ("[1-2]", ["1", "2"]),
        ("me@h[1-2].lan:22", ["me@h1.lan:22", "me@h2.lan:22"]),
        ("h:[22-23]", ["h:22", "h:23"]),
        ("plain", ["plain"]),
        ("[fe80::1%eth0]:22", ["[fe80::1%eth0]:22"]),
        ("netns:/run/n[1-2]", ["netns:/run/n[1-2]"]),
        ("a=netns:/run/n[1-2]", ["a=netns:/run/n[1-2]"]),
        ("a[1-2]=netns:[7-8]", ["a1=netns:7", "a2=netns:8"]),
        ("a[1-2]=10.0.0.[5-6]", ["a1=10.0.0.5", "a2=10.0.0.6"]),
    ],
)
def test_the_forms_of_a_set(word: str, wanted: list[str]) -> None:
    assert list(expand_item(word)) == wanted


@pytest.mark.parametrize(
    ("word", "words"),
    [
        ("n[]", "'' is no range"),
        ("n[1,]", "'' is no range"),
        ("n[a-b]", "'a-b' is no range"),
        ("n[1-2-3]", "is no range"),
        ("n[-1]", "is no range"),
        ("n[\u0661-\u0662]", "is no range"),
        ("n[5-1]", "runs backwards"),
        ("n[1-3/0]", "step of 0"),
        ("n[8-010]", "1 and 3 digits"),
        ("n[01-5]", "2 and 1 digits"),
        ("n[1-05]", "1 and 2 digits"),
        ("n[0-16384]", "means 16385 nodes"),
        ("a[1-200]b[1-200]c[1-200]", "means 8000000 nodes"),
        ("n[1-999999999999]", "means 999999999999 nodes"),
        ("a[1-3]=h[1-2]", "3 names for 2 targets"),
        ("a=h[1-2]", "1 names for 2 targets"),
        ("a[1-2]=local", "2 names for 1 targets"),
    ],
)
def test_what_is_no_set_is_refused_with_the_reason(word: str, words: str) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        expand_item(word)
    assert caught.value.fix


def test_padding_of_two_widths_says_how_to_write_it() -> None:
    with pytest.raises(UsageError) as caught:
        expand("n[8-010/2]")
    assert caught.value.fix == "give both ends one width: 008-010"


def test_the_bound_holds_for_all_words_together_and_is_reached_exactly() -> None:
    assert len(expand(f"n[1-{MAX_NODES}]")) == MAX_NODES
    check_count(MAX_NODES, "x")
    with pytest.raises(UsageError, match="at most 16384"):
        expand_all([f"n[1-{MAX_NODES}]", "one-more"])


def test_sets_are_nodes_and_meet_the_file() -> None:
    from fabricdoc.transport.nodes import NodeSpec

    special = NodeSpec("node2", "elsewhere", python="/opt/p")
    assert parse_nodes(["node[1-3],me@gpu[07-08]:22"], Config((special,))) == (
        NodeSpec("node1", "node1"),
        special,
        NodeSpec("node3", "node3"),
        NodeSpec("gpu07", "me@gpu07:22"),
        NodeSpec("gpu08", "me@gpu08:22"),
    )
    with pytest.raises(UsageError, match="two nodes are named node2"):
        parse_nodes(["node[1-3],node2"], Config())


def test_an_open_bracket_is_no_node() -> None:
    for text in ("n[1-2", "n[1,2", "n1]", "n[[1-2]]"):
        with pytest.raises(UsageError):
            parse_nodes([text], Config())
