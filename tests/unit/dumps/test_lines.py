"""Lines are clean and keep their numbers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.dumps.lines import MAX_JSON_LINE, MAX_LINE, clean, lines_of, some_of

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("row", "cleaned"),
    [
        ("\x1b[1;31mred\x1b[0m\x1b[K", "red"),
        ("\x1b]0;title\x07text", "text"),
        ("a\tb  ", "a\tb"),
        ("N\x08NA\x08AME", "NAME"),
        ("\x08\x08x", "x"),
        ("a\xa0b\ufeff", "a b"),
        ("a\u2028b\x00\x9bc", "abc"),
        ("\ud800x", "x"),
    ],
)
def test_clean(row: str, cleaned: str) -> None:
    assert clean(row) == cleaned


def test_numbers_and_ends() -> None:
    assert [(line.number, line.text) for line in lines_of("a\r\n\r\nb\nc")] == [
        (1, "a"), (2, ""), (3, "b"), (4, "c"),
    ]  # fmt: skip
    assert lines_of("") == []


def test_returns_alone_end_lines_only_where_nothing_else_does() -> None:
    assert [(line.number, line.text) for line in lines_of("a\rb\rc")] == [(1, "a"), (2, "b"), (3, "c")]
    assert [line.text for line in lines_of("a\rb\n")] == ["a", "b"]


def test_of_a_line_that_was_written_over_the_end_is_left_and_counts_once() -> None:
    """As the reader of logs and an editor count: a progress bar of fifty steps is one line."""
    text = "first\n" + "".join(f"{step}%\r" for step in range(50)) + "done\r\nlink mlx5_0/1 state ACTIVE\n"
    assert [(line.number, line.text) for line in lines_of(text)] == [
        (1, "first"), (2, "done"), (3, "link mlx5_0/1 state ACTIVE"),
    ]  # fmt: skip


@given(st.text(alphabet="ab\r\n"))
def test_no_number_is_beyond_the_last_line(text: str) -> None:
    if "\n" in text.rstrip("\n"):
        assert len(lines_of(text)) <= text.count("\n") + 1


def test_a_line_of_json_may_be_as_long_as_that_of_many_interfaces() -> None:
    for opening in "[{":
        whole = opening + "x" * (2 * MAX_LINE)
        assert clean(whole) == whole
        assert len(clean(opening + "x" * (2 * MAX_JSON_LINE))) == MAX_JSON_LINE
        assert "\x08" not in clean(whole + "\x08")


def test_a_long_line_is_cut() -> None:
    assert len(lines_of("x" * (2 * MAX_LINE))[0].text) == MAX_LINE


@given(st.text())
def test_any_text_gives_printable_utf8(text: str) -> None:
    for line in lines_of(text):
        line.text.encode("utf-8")
        assert all(letter == "\t" or letter >= " " for letter in line.text)


def test_some_lines_are_the_same_lines() -> None:
    text = "a\r\n\x1b[1mb\x1b[0m\rc\n\n"
    every = {line.number: line.text for line in lines_of(text)}
    assert some_of(text, range(-2, 9)) == every == {1: "a", 2: "c", 3: ""}
    assert some_of("", [1]) == {}
    assert some_of(text, []) == {}
