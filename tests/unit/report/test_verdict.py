"""A verdict: its sentence, the candidates, the sizes, how sure it is."""

from __future__ import annotations

import shlex
from typing import Any

import pytest

from fabricdoc.errors import ExitStatus
from fabricdoc.report.verdict import MOST_CELLS, interval_text, render_verdict, verdict_status

pytestmark = pytest.mark.unit


def rows_after(text: str, start: str) -> list[list[str]]:
    rows = text.splitlines()
    at = next(number for number, row in enumerate(rows) if row.lstrip().startswith(start))
    return [row.split() for row in rows[at + 1 :]]


def test_the_sentence_and_what_it_costs_come_first(samples: Any, shown: Any) -> None:
    rows = shown(render_verdict(samples.verdict())).splitlines()
    assert rows[0] == "verdict    Use tree: 18 % faster in decode; again in fresh blocks."
    assert rows[1] == "  tree costs prefill: 7 % slower."


def test_every_candidate_with_score_and_worst_cell(samples: Any, shown: Any) -> None:
    text = shown(render_verdict(samples.verdict()))
    assert "decode score" in text
    table = rows_after(text, "candidate")[2:]  # its last header has three lines: `proof of path`
    assert table[0] == ["tree", "better", "yes", "1.18", "[1.15,", "1.21]", "0.93", "all_reduce", "1", "MiB", "seen"]
    assert table[1] == ["default", "failed", "-", "-", "-", "none"]


def test_confirmation_and_proof_have_columns_only_where_there_is_any(samples: Any, shown: Any) -> None:
    verdict = samples.verdict()
    bare = verdict.candidates[0].model_copy(update={"confirmed": None, "proof": "none"})
    text = shown(render_verdict(verdict.model_copy(update={"candidates": (bare,)})))
    assert "confirmed" not in text
    assert "proof" not in text
    assert "confirmed" in shown(render_verdict(verdict))


def test_reasons_of_what_was_not_compared(samples: Any, shown: Any) -> None:
    text = shown(render_verdict(samples.verdict()))
    assert "  default: Rank 1 chose sockets.\n" in text


def test_the_sizes_of_the_choice_decode_first(samples: Any, shown: Any) -> None:
    table = rows_after(shown(render_verdict(samples.verdict())), "op")
    assert [row[0] for row in table[:6:2]] == ["decode", "prefill", "grid"]
    assert table[1] == ["all_reduce", "20", "KiB", "graph", "1,234", "1.21", "[1.18,", "1.24]", "better"]


def test_the_widest_cells_fit(samples: Any, shown: Any) -> None:
    wide = samples.cell(64000, "prefill", 12.3, "inconclusive").model_copy(
        update={"view": "throughput", "op": "all_gather", "base_us": 123456.0}
    )
    verdict = samples.verdict()
    one = verdict.candidates[0].model_copy(update={"cells": (wide,)})
    rows = shown(render_verdict(verdict.model_copy(update={"candidates": (one,)}))).splitlines()
    (row,) = [row for row in rows if "throughput" in row]
    assert row.split() == [
        "all_gather",
        "62.5",
        "KiB",
        "throughput",
        "123,456",
        "12.3",
        "[12.3,",
        "12.3]",
        "inconclusive",
    ]
    assert len(row) <= 80


def test_how_sure_it_is(samples: Any, shown: Any) -> None:
    joined = " ".join(shown(render_verdict(samples.verdict())).split())
    assert "6 paired blocks; the smallest effect this run can show is 3.4 %" in joined
    assert "base differs from itself by up to 2.1 %" in joined
    few = samples.verdict().model_copy(update={"smallest_effect": 0.0, "blocks": 1})
    assert "1 paired block; too few" in " ".join(shown(render_verdict(few)).split())
    endless = samples.verdict().model_copy(update={"smallest_effect": float("inf")})
    assert "too few" in shown(render_verdict(endless))


def test_what_would_have_shown_of_a_winner_in_a_quieter_stage_is_told_beside_it(samples: Any, shown: Any) -> None:
    verdict = samples.verdict()
    own = tuple(
        one.model_copy(update={"smallest_effect": 0.01 if one.name == verdict.choice else 2.0})
        for one in verdict.candidates
    )
    loud = verdict.model_copy(update={"smallest_effect": 1.9, "candidates": own, "objective": "mix"})
    joined = " ".join(shown(render_verdict(loud)).split())
    assert f"the smallest effect this run can show is 2.9x, for {verdict.choice} 1.0 %" in joined
    assert "differs from itself by up to 2.1 % per decode step" in joined


def test_keeping_base_shows_the_nearest_candidate(samples: Any, shown: Any) -> None:
    kept = samples.verdict().model_copy(update={"choice": "base", "reason": "Keep base: none was better."})
    text = shown(render_verdict(kept))
    assert text.startswith("verdict    Keep base")
    assert "tree against base" in text


def test_without_cells_there_is_no_table(samples: Any, shown: Any) -> None:
    verdict = samples.verdict()
    bare = verdict.model_copy(update={"candidates": verdict.candidates[1:], "choice": "base"})
    assert "against base" not in shown(render_verdict(bare))
    assert render_verdict(verdict.model_copy(update={"candidates": ()}))


def test_many_cells_are_counted(samples: Any, shown: Any) -> None:
    verdict = samples.verdict()
    cells = tuple(samples.cell(1 << number, "grid", 1.0, "same") for number in range(3, 3 + MOST_CELLS + 4))
    many = verdict.candidates[0].model_copy(update={"cells": cells})
    text = shown(render_verdict(verdict.model_copy(update={"candidates": (many,)})))
    assert text.count(" same\n") == MOST_CELLS
    assert "and 4 more cells" in text


def test_reasons_shared_by_candidates_are_told_once(samples: Any, shown: Any) -> None:
    verdict = samples.verdict()
    other = verdict.candidates[1].model_copy(update={"name": "ring"})
    text = shown(render_verdict(verdict.model_copy(update={"candidates": (verdict.candidates[1], other)})))
    assert "default, ring: Rank 1 chose sockets." in text


def test_intervals_and_status(samples: Any) -> None:
    assert interval_text(None) == "-"
    open_ended = samples.verdict().candidates[0].score.model_copy(update={"low": 1e-6, "high": 1e6})
    assert interval_text(open_ended) == "1.18 [wide open]"
    assert interval_text(samples.verdict().candidates[0].score) == "1.18 [1.15, 1.21]"
    assert verdict_status(samples.verdict()) is ExitStatus.FIT
    assert verdict_status(samples.verdict().model_copy(update={"conclusive": False})) is ExitStatus.INCONCLUSIVE


def test_a_command_in_an_advice_stands_alone_and_can_be_pasted(samples: Any, shown: Any) -> None:
    call = "fabricdoc bench --nodes alpha=netns:1,beta=netns:2 --profile dense-small-tp2 --ops all_reduce --sizes 8,16"
    advice = ("End other work on the nodes: no number would do.", f"To measure what it lacks: {call}")
    rows = shown(render_verdict(samples.verdict().model_copy(update={"advice": advice}))).splitlines()
    at = rows.index("  To measure what it lacks:")
    assert rows[at - 1] == "  End other work on the nodes: no number would do."
    assert rows[at + 1].endswith(" \\")
    pasted = rows[at + 1].removesuffix("\\") + rows[at + 2]
    assert shlex.split(pasted) == shlex.split(call)
    assert all(len(row) <= 80 for row in rows)
