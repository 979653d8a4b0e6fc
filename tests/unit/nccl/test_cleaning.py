"""Blocks: colours and line ends away, line numbers kept, wrapped lines joined, nothing else joined."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.nccl.cleaning import (
    _FRONT,
    BLOCK,
    NARROWEST,
    WIDEST,
    _is_front,
    blocks_of,
    clean_block,
    unwrap,
    wrap_width,
)
from fabricdoc.nccl.reader import LogReader
from fabricdoc.nccl.speakers import moment

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


def kept_by_docker(text: str) -> str:
    lines = [{"log": line + "\n", "stream": "stderr", "time": "2026-11-29T15:12:36.1Z"} for line in text.split("\n")]
    return "\n".join(json.dumps(line, separators=(",", ":")) for line in lines)


@pytest.mark.parametrize("end", ["", "\r"])
def test_a_log_as_docker_keeps_it_reads_like_the_log(end: str) -> None:
    text = (LOGS / "ib_cable_down.log").read_text().replace("\n", end + "\n")
    assert events_of(kept_by_docker(text)) == events_of(text)
    first = next(iter(LogReader(kept_by_docker(text))))
    assert moment(first.head) == "2026-11-29 15:12:36.1"


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (r'{"log":"a \"b\" \u003cc\u003e\n","stream":"stdout","time":"T1"}', 'T1 a "b" <c>'),
        (r'{"log":"part","stream":"stdout","attrs":{"tag":"x"},"time":"T1"}', "T1 part"),
        (r'{"log":"two\nlines\r\n","stream":"stdout","time":"T1"}', "T1 two lines"),
        (r'{"log":"\u001b[31mred\u001b[0m\n","stream":"stdout","time":"T1"}', "T1 red"),
        (r'{"log":"bad \x escape\n","stream":"stdout","time":"T1"}', None),
        (r'{"log":"other keys\n","level":"info","time":"T1"}', None),
        (r'{"log":"no end\n","stream":"stdout","time":"T1"', None),
        (r'{"log":"","stream":"stdout","time":"T1"}', "T1 "),
    ],
)
def test_what_docker_keeps_as_json_is_shown_as_it_was_written(line: str, shown: str | None) -> None:
    assert clean_block(f"before\n{line}\nafter\n") == f"before\n{line if shown is None else shown}\nafter\n"


def test_a_lone_quote_after_docker_s_beginning_costs_no_quadratic_time() -> None:
    block = '{"log":"' * 20_000 + "\n" + '{"log":"\\' * 20_000 + "\n"
    began = time.process_time()
    assert clean_block(block) == block
    assert time.process_time() - began < 5, "some ms"


@pytest.mark.parametrize("line", ["x" * 500 + ":1 [0", "a:1 [0" * 80, "a:1:2 [0] x", "y" * 119 + " a:1:2 [0]", ""])
def test_the_hint_hides_no_front(line: str) -> None:
    assert _is_front(line) == bool(_FRONT.match(line))


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
