"""The progress line, live and plain."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest

from fabricdoc.report.outlet import Outlet
from fabricdoc.report.progress import PLAIN_EVERY_S, ProgressLine

pytestmark = pytest.mark.unit


def line_on(
    stream: io.StringIO, *, live: bool, width: int = 20, now: Callable[[], float] = lambda: 0.0
) -> ProgressLine:
    return ProgressLine(Outlet(stream), live=live, width=width, now=now)


def seen_on_terminal(text: str) -> list[str]:
    """What a terminal shows: carriage return goes back, later letters cover earlier ones."""
    rows = []
    for row in text.split("\n"):
        cells: list[str] = []
        for part in row.split("\r"):
            cells[: len(part)] = list(part)
        rows.append("".join(cells).rstrip())
    return rows


def test_a_live_line_is_replaced_in_place_without_escapes() -> None:
    stream = io.StringIO()
    progress = line_on(stream, live=True)
    progress.show("block 1: something")
    progress.show("short")
    assert seen_on_terminal(stream.getvalue()) == ["short"]
    assert "\x1b" not in stream.getvalue()
    assert "\n" not in stream.getvalue()
    progress.clear()
    assert seen_on_terminal(stream.getvalue()) == [""]
    assert stream.getvalue().endswith("\r")


def test_a_live_line_never_reaches_the_last_column() -> None:
    stream = io.StringIO()
    line_on(stream, live=True, width=10).show("名" * 30)
    assert stream.getvalue() == "\r" + "名" * 4


def test_clearing_nothing_writes_nothing() -> None:
    stream = io.StringIO()
    progress = line_on(stream, live=True)
    progress.clear()
    progress.show("x")
    progress.clear()
    before = stream.getvalue()
    progress.clear()
    assert stream.getvalue() == before


def test_another_line_on_the_same_stream_clears_what_was_left() -> None:
    stream = io.StringIO()
    line_on(stream, live=True).show("looking at 2 nodes")
    line_on(stream, live=True).clear()
    assert seen_on_terminal(stream.getvalue()) == [""]


def test_plain_lines_are_rare() -> None:
    stream, clock = io.StringIO(), [0.0]
    progress = line_on(stream, live=False, now=lambda: clock[0])
    for number in range(128):
        progress.show(f"launch {number}")
        clock[0] += PLAIN_EVERY_S / 64
    assert stream.getvalue() == "launch 0\nlaunch 64\n"
    progress.clear()
    assert stream.getvalue().endswith("launch 64\n")


@pytest.mark.parametrize("live", [True, False])
def test_hostile_text_is_harmless(live: bool) -> None:
    stream = io.StringIO()
    line_on(stream, live=live, width=80).show("a\x1b[2J\nb\r")
    assert stream.getvalue().strip("\r\n") == "a\\x1b[2J\\nb\\r"
