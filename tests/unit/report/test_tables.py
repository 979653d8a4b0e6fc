"""Tables give way in order: names, then columns that say little, then wrapping; ids and numbers stay whole."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from fabricdoc.report.cells import Name, table
from fabricdoc.report.kinds import render
from fabricdoc.report.lists import render_runs
from fabricdoc.report.tables import GAP, Column, kept_columns, room, shared

pytestmark = pytest.mark.unit


def shown(renderable: Any, width: int) -> list[str]:
    stream = io.StringIO()
    Console(file=stream, width=width, color_system=None, force_terminal=False).print(renderable, crop=False)
    return [row.rstrip() for row in stream.getvalue().splitlines()]


WIDTHS = st.lists(st.integers(1, 30), min_size=1, max_size=8)


@given(WIDTHS, st.integers(10, 120), st.data())
def test_widths_fit_and_nothing_shrinks_below_its_least_without_need(
    natural: list[int], width: int, data: st.DataObject
) -> None:
    least = [data.draw(st.integers(1, one)) for one in natural]
    widths = shared(natural, least, width)
    assert sum(widths) <= max(width, len(natural))
    if sum(least) <= width:
        assert all(low <= one <= high for low, one, high in zip(least, widths, natural, strict=True))
    if sum(natural) <= width:
        assert widths == natural


@given(st.lists(st.tuples(st.integers(1, 30), st.integers(0, 3)), min_size=1, max_size=8), st.integers(10, 120))
def test_only_columns_that_may_go_are_dropped_and_only_in_need(columns: list[tuple[int, int]], width: int) -> None:
    made = [Column("x", drop=drop) for _, drop in columns]
    least = [one for one, _ in columns]
    kept = kept_columns(made, least, width)
    assert {i for i, (_, drop) in enumerate(columns) if not drop} <= set(kept)
    if sum(least) <= room(len(least), width):
        assert kept == list(range(len(columns)))


def test_the_highest_drop_goes_first() -> None:
    columns = [Column("a"), Column("b", drop=1), Column("c", drop=2)]
    assert kept_columns(columns, [10, 10, 10], 30 + 2 * GAP) == [0, 1, 2]
    assert kept_columns(columns, [10, 10, 10], 30) == [0, 1]
    assert kept_columns(columns, [10, 10, 10], 12) == [0]


@settings(max_examples=30, deadline=None)
@given(st.integers(40, 120))
def test_an_interval_is_whole_at_any_width(width: int) -> None:
    columns = [Column("candidate", flex=True), Column("ratio"), Column("worst cell", drop=1), Column("op", drop=2)]
    row = [Name("a-candidate-with-a-long-name"), "0.27 [0.21, 1.45]", "0.93 all_reduce 1 MiB", "all_gather"]
    text = shown(table(columns, [row]), width)
    assert any("0.27 [0.21, 1.45]" in line for line in text)
    assert all(len(line) <= width for line in text)


@pytest.mark.parametrize("width", [40, 60, 80])
def test_a_run_id_is_whole_in_the_list(width: int) -> None:
    run = SimpleNamespace(
        id="20261129-160502-fa1a",
        status="interrupted",
        backend="gloo",
        nodes=("alpha", "beta"),
        launches=27,
        choice="one-rail-many-channels",
    )
    (parts,) = render_runs([run])
    text = "\n".join(shown(parts, width))
    assert "20261129-160502-fa1a" in text
    assert max(map(len, text.splitlines())) <= width


def test_what_is_cut_at_60_columns_is_a_name(samples: Any) -> None:
    names = ("enp1s0f0np0", "enp1s0f1np1", "alpha", "beta", "rocep1s0f0", "rocep1s0f1")
    for document in samples.all():
        for part in render(document):
            for line in shown(part, 60):
                for word in line.split():
                    head, cut, tail = word.partition("…")
                    whole = [name for name in names if name.endswith(tail) and tail]
                    assert not cut or whole or any(name.startswith(head) for name in names), line
