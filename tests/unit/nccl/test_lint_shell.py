"""A shell's words: what is one word, where it stands, where a command ends; and that nothing makes it slow."""

from __future__ import annotations

import shlex
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.nccl.lint_shell import MOST_QUOTED_LINES, Text, words_of

pytestmark = pytest.mark.unit


def texts(*lines: str) -> list[str]:
    return [word.text for word in words_of(lines)]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("a b  c", ["a", "b", "c"]),
        ("A='x y' B=\"z w\"", ["A=x y", "B=z w"]),
        ("a\\ b c", ["a b", "c"]),
        ("'a'\"b\"c", ["abc"]),
        ('"a\\"b"', ['a"b']),
        ("a # b", ["a"]),
        ("a#b", ["a#b"]),
        ("# only a comment", []),
        ("a;b && c || d | e & f", ["a", ";", "b", "&&", "c", "||", "d", "|", "e", "&", "f"]),
        ("a > b 2>&1", ["a", ">", "b", "2", ">&", "1"]),
        ("A=$(x y) B=`z w`", ["A=$(x y)", "B=`z w`"]),
        ("A=${B:-c d}", ["A=${B:-c d}"]),
        ("it's", ["it's"]),
        ('say "no', ["say", '"no']),
        ("", []),
        ("a\tb\x0bc", ["a", "b", "c"]),
        ("a\u2003b", ["a\u2003b"]),
    ],
)
def test_words(line: str, expected: list[str]) -> None:
    assert texts(line) == expected


def test_a_word_knows_its_line_and_column() -> None:
    words = list(words_of(["  a 'b c' \\", "d"]))
    assert [(one.text, one.line, one.column) for one in words] == [("a", 1, 3), ("b c", 1, 5), ("d", 2, 1)]


def test_lines_end_commands_and_continued_lines_do_not() -> None:
    assert [one.text for one in words_of(["a", "b"]) if one.ends] == ["\n"]
    assert not any(one.ends for one in words_of(["a \\", "b"]))
    assert not any(one.ends for one in words_of(["a \\\r", "b"])), "also where lines end in CR"
    assert not any(one.ends for one in words_of(["a > b"]))


def test_what_the_shell_would_replace_is_marked() -> None:
    marked = {one.text: one.expands for one in words_of(['A=$B C=\'$D\' E="$F" G="\\$H" I=`j`'])}
    assert marked == {"A=$B": True, "C=$D": False, "E=$F": True, "G=$H": False, "I=`j`": True}


def test_a_word_in_quotes_knows_what_is_inside() -> None:
    text = "bash -c 'A=1 b' 'x'y"
    inside = [text[slice(*word.inner)] for word in words_of([text]) if word.inner[1]]
    assert inside == ["A=1 b"], "only where the quotes hold the whole word"


def test_a_lone_quote_does_not_swallow_a_file() -> None:
    lines = ["it's", *["x"] * (MOST_QUOTED_LINES + 1), "A='b c'"]
    assert texts(*lines)[-1] == "A=b c"
    assert texts("echo 'a", "b'") == ["echo", "a\nb"], "quotes over a few lines are real"


def seconds(text: str) -> float:
    """The least processor time of three readings of the text."""
    times = []
    for _ in range(3):
        began = time.process_time()
        list(words_of(text.split("\n")))
        times.append(time.process_time() - began)
    return min(times)


@pytest.mark.long
@pytest.mark.parametrize(
    "piece", ["'", '"', "$(", "`", "\\", "${", "a'", '"a', "$(a", "((", "<<", "\\\n", "a=b ", "'\n", '"\\'], ids=repr
)
def test_sixteen_times_the_text_is_not_two_hundred_times_the_work(piece: str) -> None:
    """What grows with the square of the length would take 256 times as long."""
    small, large = seconds(f"{piece * 1000}\n"), seconds(f"{piece * 16000}\n")
    assert large < 100 * max(small, 0.0005)


@given(st.lists(st.sampled_from(["a", "A=1", "'b c'", '"d e"', "\\ ", " ", "#", "f"]), max_size=12))
def test_it_agrees_with_the_shells_own_rules_where_quotes_close(pieces: list[str]) -> None:
    line = "".join(pieces)
    try:
        expected = shlex.split(line, comments=True)
    except ValueError:
        return
    if "#" not in line and not line.endswith("\\ "):
        assert texts(line) == expected


@given(st.text(alphabet=st.sampled_from("ab='\"\\$(){}`#;&|<> \n\r\t\u2003\x1c"), max_size=80))
def test_no_text_breaks_it_and_places_are_inside(text: str) -> None:
    lines = text.split("\n")
    for word in words_of(lines):
        assert 1 <= word.line <= len(lines)
        assert 1 <= word.column <= len(lines[word.line - 1]) + 1


@pytest.mark.long
@given(st.lists(st.text(alphabet="ab", max_size=5), min_size=1, max_size=6))
def test_places_are_lines_and_columns(lines: list[str]) -> None:
    text = Text.of(lines)
    for line, content in enumerate(lines):
        for column in range(len(content)):
            assert text.place(text.starts[line] + column) == (line + 1, column + 1)
