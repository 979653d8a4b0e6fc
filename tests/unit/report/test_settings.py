"""Remarks on settings: the line, a pointer under the culprit, the fix, in 80 columns, whatever they hold."""

from __future__ import annotations

import re
from typing import Any

import pytest

from fabricdoc.nccl import Remark, lint_text, shown_lines
from fabricdoc.report.settings import render_settings

pytestmark = pytest.mark.unit

ENV = "NCCL_IB_HCA==mlx5_0, mlx5_1\nNCCL_DEBUG=INFO\nNCCL_IB_TC=\n"


def rendered(remarks: tuple[Remark, ...], shown: Any, told: tuple[str, ...] = (), width: int = 80) -> str:
    lines = [shown_lines(remark, width - 16) for remark in remarks]
    return str(shown(render_settings(remarks, lines, told, 1, 5), width=width))


def test_place_message_line_pointer_and_fix(shown: Any) -> None:
    text = rendered(lint_text("a.env", ENV), shown).splitlines()
    assert text[0] == "a.env:1:21"
    assert text[1].startswith("  error: NCCL trims nothing") and "[selector-space]" in " ".join(text[1:3])
    line = next(row for row in text if "1 | " in row)
    pointer = text[text.index(line) + 1]
    assert line.endswith("mlx5_0, mlx5_1")
    assert line[pointer.index("^") : pointer.rindex("^") + 1] == " mlx5_1"
    assert "  fix: NCCL_IB_HCA==mlx5_0,mlx5_1" in text


def test_counts_and_what_it_was_judged_for_come_last(shown: Any) -> None:
    text = rendered(lint_text("a.env", ENV), shown, ("judged for NCCL 2.28.9",)).splitlines()
    assert text[-2:] == ["1 error, 1 warning, 1 note in 5 settings of 1 file", "judged for NCCL 2.28.9"]
    assert rendered((), shown).splitlines() == ["nothing wrong in 5 settings of 1 file"]


def test_where_nothing_was_read_nothing_is_right(shown: Any) -> None:
    assert shown(render_settings((), (), ("no settings found in a.txt",), 1, 0)).splitlines() == [
        "nothing was judged: no settings in 1 file",
        "no settings found in a.txt",
    ]


def test_lines_that_have_part_in_it_are_named(shown: Any) -> None:
    found = lint_text("a.env", "NCCL_IB_DISABLE=1\nNCCL_IB_HCA==mlx5_0\n")
    assert "  see a.env:1: NCCL_IB_DISABLE=1" in rendered(found, shown).splitlines()


@pytest.mark.parametrize("width", [40, 80, 120])
def test_nothing_but_a_line_to_paste_is_wider_than_the_screen(width: int, shown: Any) -> None:
    text = f"docker run {'-v /x:/x ' * 50}-e NCCL_IB_HCA=mlx5_0,\\ mlx5_1 -e NCCL_PROTO=^LL image\n"
    for row in rendered(lint_text("run.sh", text), shown, width=width).splitlines():
        assert len(row) <= width or "fix: NCCL_" in row, row


def test_hostile_files_do_nothing_to_a_terminal(shown: Any) -> None:
    name = "x\x1b[31m\u202e.env"
    text = 'NCCL_IB_HCA="[bold]\x1b]0;title\x07\u202e"\nNCCL_\x1b[2J=1\nNCCL_PROTO=[red]^LL[/red]\n'
    printed = rendered(lint_text(name, text), shown)
    assert "\x1b" not in printed and "\x07" not in printed and "\u202e" not in printed
    assert "[bold]" in printed and "[red]^LL[/red]" in printed, "markup is text"
    assert re.search(r"\[env-file-quotes-kept\]", printed)
