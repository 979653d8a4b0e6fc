"""The building blocks: names cut in the middle, commands broken between words, tables that give way."""

from __future__ import annotations

import io
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from fabricdoc.report.cells import Column, Command, Name, broken, indent, labelled, line, middle, table

pytestmark = pytest.mark.unit


def shown(renderable: Any, width: int = 40) -> list[str]:
    stream = io.StringIO()
    Console(file=stream, width=width, color_system=None, force_terminal=False).print(renderable, crop=False)
    return [row.rstrip() for row in stream.getvalue().splitlines()]


@given(st.text(max_size=40), st.integers(0, 50))
def test_middle_fits_and_keeps_both_ends(text: str, width: int) -> None:
    made = middle(text, width)
    assert cell_len(made) <= width
    if cell_len(text) <= width:
        assert made == text


def test_middle_keeps_both_ends() -> None:
    assert middle("alpha/enp1s0f0np0", 11) == "alpha…f0np0"
    assert [middle("abcdef", width) for width in (0, 1, 2, 3)] == ["", "…", "…f", "a…f"]


def test_names_give_way_before_anything_else() -> None:
    columns = [Column("name", flex=True), Column("state"), Column("µs", right=True)]
    rows = [[Name("a-very-long-name-of-a-node/and-its-port"), ("unknown", "red"), "1,234"]]
    (head, row) = shown(table(columns, rows), 40)
    assert row == "  a-very-lon…nd-its-port  unknown  1,234"
    assert head.split() == ["name", "state", "µs"]


def test_everything_is_cleaned() -> None:
    hostile = "a\x1b[31m[red]b"
    cells: list[Any] = [
        line(hostile),
        line((hostile, "red")),
        labelled(hostile, hostile),
        Name(hostile),
        Command(hostile),
    ]
    cells.append(table([Column(hostile)], [[hostile], [(hostile, "red")], [Name(hostile)]]))
    for cell in cells:
        text = "\n".join(shown(indent(cell), 80))
        assert "\x1b" not in text
        assert "\\x1b[31m[red]b" in text


def test_a_label_stands_apart() -> None:
    assert shown(labelled("noise", "one two three four five six"), 30) == [
        "noise      one two three four",
        "           five six",
    ]


WORDS = st.lists(st.text(alphabet="abc-=,./ ';$é", min_size=1, max_size=12), min_size=1, max_size=12)


@given(WORDS, st.integers(20, 80))
def test_a_broken_command_is_still_the_same_command(words: list[str], width: int) -> None:
    command = " ".join(f'"{word}"' if "'" in word else shlex.quote(word) for word in words)
    rows = broken(command, width)
    assert shlex.split("\n".join(rows).replace(" \\\n", " ")) == shlex.split(command)
    assert all(row.endswith(" \\") for row in rows[:-1])
    longest = max(len(word) for word in command.split("  ")) if rows else 0
    assert len(rows) == 1 or all(len(row) <= width or len(row) <= longest + 6 for row in rows)


def test_a_command_breaks_only_where_it_must() -> None:
    assert broken("fabricdoc bench --nodes a,b", 40) == ["fabricdoc bench --nodes a,b"]
    assert broken("fabricdoc bench --nodes alpha=user@alpha,beta=user@beta", 40) == [
        "fabricdoc bench --nodes \\",
        "  alpha=user@alpha,beta=user@beta",
    ]
    assert broken("fabricdoc bench --nodes a,b --profile dense", 36) == [
        "fabricdoc bench --nodes a,b \\",
        "  --profile dense",
    ]
    assert broken("echo 'unbalanced " + "x " * 40, 40) == ["echo 'unbalanced " + "x " * 40]


def test_a_shell_reads_a_broken_command_as_one(tmp_path: Path) -> None:
    rows = broken("printf '%s|' --nodes 'alpha=a b,beta=c' --profile tiny --objective decode", 30)
    assert len(rows) > 1
    (tmp_path / "pasted").write_text("\n".join(rows) + "\n")
    result = subprocess.run(["sh", "pasted"], cwd=tmp_path, capture_output=True, text=True, timeout=20, check=True)
    assert result.stdout == "--nodes|alpha=a b,beta=c|--profile|tiny|--objective|decode|"


def test_a_word_longer_than_the_screen_is_not_harmed() -> None:
    long = "x" * 60
    assert shown(Command(f"fabricdoc scan --nodes {long}"), 40)[-1].strip() == long
