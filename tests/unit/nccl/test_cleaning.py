"""Blocks: colours and line ends away, line numbers kept, wrapped lines joined, nothing else joined."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.nccl.cleaning import BLOCK, NARROWEST, WIDEST, blocks_of, clean_block, unwrap, wrap_width
from fabricdoc.nccl.reader import LogReader

pytestmark = pytest.mark.unit

LOGS = Path(__file__).parents[2] / "fixtures" / "nccl_logs"


def wrapped(text: str, width: int) -> str:
    lines = []
    for line in text.split("\n"):
        lines += [line[start : start + width] for start in range(0, max(len(line), 1), width)]
    return "\n".join(lines)


def events_of(text: str) -> list[tuple[str, dict[str, str]]]:
    return [(event.name, dict(event.groups)) for event in LogReader(text)]


@pytest.mark.parametrize("width", [80, 100, 132])
@pytest.mark.parametrize("name", ["ib_two.rank0.log", "socket_ll.log", "ib_gid_index_empty.log", "ib_cable_down.log"])
def test_a_wrapped_log_reads_like_the_log(name: str, width: int) -> None:
    text = (LOGS / name).read_text()
    assert events_of(wrapped(text, width)) == events_of(text)


def test_line_numbers_stay_those_of_the_file() -> None:
    front = "node01:1:1 [0] NCCL INFO "
    long = [front + f"NCCL_IB_HCA set by environment to =rocep1s0f{number},roceP2p1s0f{number}" for number in range(9)]
    text = wrapped("\n".join([*long, front + "Using network IB"]), NARROWEST)
    last = list(LogReader(text))[-1]
    assert (last.name, last.line) == ("net.used", text.count("\n") + 1)


def test_a_log_that_is_not_wrapped_is_left_alone() -> None:
    for file in LOGS.glob("*.log"):
        assert wrap_width(file.read_text()) == 0, file.name


@pytest.mark.parametrize("width", [NARROWEST - 1, WIDEST + 1])
def test_widths_that_no_terminal_has_are_not_believed(width: int) -> None:
    line = "n1:1:1 [0] NCCL INFO " + "x" * (width - 21)
    assert wrap_width(f"{line}\nrest\n" * 20) == 0


def test_two_chances_are_no_wrapping() -> None:
    line = "n1:1:1 [0] NCCL INFO " + "x" * 79
    assert wrap_width(f"{line}\nrest\n" * 2) == 0
    assert wrap_width(f"{line}\nrest\n" * 3) == 100
    assert wrap_width(f"{line}\nrest\n" * 3 + f"{line}\n" * 2 + "n1:1:1 [0] NCCL INFO x\n") == 0


def test_joined_parts_leave_empty_lines() -> None:
    line = "n1:1:1 [0] NCCL INFO " + "x" * 39
    assert unwrap(f"{line}\n{'y' * 60}\nz\n\nother\n", 60) == f"{line}{'y' * 60}z\n\n\n\nother\n"
    assert unwrap(f"{line}\n{line}\n", 60) == f"{line}\n{line}\n"


def test_an_endless_run_of_full_lines_is_not_joined_without_end() -> None:
    block = ("n1:1:1 [0] NCCL INFO " + "x" * 39 + "\n") * 3 + ("y" * 60 + "\n") * 3000
    assert max(map(len, unwrap(block, 60).split("\n"))) < 5000


def test_colours_and_carriage_returns() -> None:
    assert clean_block("\x1b[32mgreen\x1b[0m\r\n\x1b]0;title\x07x\r\n") == "green\nx\n"
    assert clean_block("10%\r20%\r\n") == "10%\r20%\n", "a progress bar's own returns stay within its line"
    assert clean_block("\x1b]0;never ended\nnext\n") == "\nnext\n", "a title without end ends with its line"


def test_strings_lines_and_larger_pieces_give_the_same_lines() -> None:
    text = "".join(f"line {number}\n" for number in range(60_000))
    whole = "".join(blocks_of(text))
    assert whole == text
    assert "".join(blocks_of(text.splitlines())) == text
    assert "".join(blocks_of(text.splitlines(keepends=True))) == text
    assert (
        "".join(blocks_of([text[: BLOCK + 7].rpartition("\n")[0] + "\n"]))
        == text[: BLOCK + 7].rpartition("\n")[0] + "\n"
    )
    assert max(map(len, blocks_of(text))) < BLOCK + 100


@given(st.text(max_size=400))
def test_every_block_is_whole_lines_and_keeps_their_number(text: str) -> None:
    blocks = list(blocks_of(text))
    assert all(block.endswith("\n") for block in blocks)
    assert sum(block.count("\n") for block in blocks) == text.count("\n") + bool(text and not text.endswith("\n"))


@given(
    st.lists(
        st.sampled_from(["n1:1:1 [0] NCCL INFO " + "x" * 59, "y" * 80, "", "short", "n1:1:1 [0] NCCL INFO x"]),
        max_size=40,
    )
)
def test_unwrapping_keeps_the_number_of_lines(lines: list[str]) -> None:
    block = "".join(line + "\n" for line in lines)
    if block:
        assert unwrap(block, 80).count("\n") == len(lines)
