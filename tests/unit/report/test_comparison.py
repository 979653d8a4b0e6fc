"""Two runs side by side: what differs first, every cell in a row, and that nothing is paired."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.model.comparison import CellComparison, RunComparison
from fabricdoc.model.verdict import Interval
from fabricdoc.report.comparison import render_comparison

pytestmark = pytest.mark.unit


def _cell(size: int, ratio: float, verdict: str, **more: Any) -> CellComparison:
    interval = Interval(ratio=ratio, low=ratio * 0.9, high=ratio * 1.1, blocks=6, method="welch-t")
    fields = {
        "view": "graph",
        "op": "all_reduce",
        "size": size,
        "first_us": 100.0,
        "second_us": 100.0 / ratio,
        "first_blocks": 6,
        "second_blocks": 8,
        "interval": interval,
        "floor": 0.02,
        "verdict": verdict,
    }
    return CellComparison(**(fields | more))


def _comparison(**changes: Any) -> RunComparison:
    cells = (_cell(20480, 1.4, "better"), _cell(65536, 0.7, "worse", in_place=False), _cell(8, 1.0, "same"),
             _cell(16, 1.0, "inconclusive"))  # fmt: skip
    fields: dict[str, Any] = {"first": "run-1", "second": "run-2", "candidate": "base", "paired": False,
                              "note": "Nothing is paired.", "cells": cells}  # fmt: skip
    return RunComparison(**(fields | changes))


def test_it_names_both_runs_counts_the_cells_and_shows_each(shown: Any) -> None:
    text = shown(render_comparison(_comparison()))
    assert "run-2 against run-1" in text
    assert "1 faster, 1 slower, 1 same, 1 unclear" in text
    assert "all_reduce 20 KiB graph" in " ".join(text.split())
    assert "1.40 [1.26, 1.54]" in text
    assert text.rstrip().endswith("Nothing is paired.")


def test_a_cell_out_of_place_or_of_another_type_says_so(shown: Any) -> None:
    cells = (_cell(8, 1.0, "same", in_place=False, dtype="float32", op="broadcast"),)
    assert "broadcast 8 B float32 graph out of" in " ".join(shown(render_comparison(_comparison(cells=cells))).split())


def test_what_differs_and_what_only_one_has_is_told(shown: Any) -> None:
    told = shown(render_comparison(_comparison(differences=("kernel of alpha: 6.1 and 6.2",), only_second=3)))
    assert "kernel of alpha: 6.1 and 6.2" in told
    assert "3 more cells only in run-2" in told
    assert "only in run-1" not in told


def test_foreign_text_does_no_harm(shown: Any) -> None:
    text = shown(render_comparison(_comparison(first="\x1b[31mrun", cells=(_cell(8, 1.0, "same", dtype="\x1b]0;x"),))))
    assert "\x1b" not in text
