"""Rows of a step are those of the graph that holds it; the batches to score are those of the graphs in reach."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricdoc.serving import Served
from fabricdoc.serving.captures import captured_rows, padded_rows, scored_batches

pytestmark = pytest.mark.unit


def test_the_usual_list() -> None:
    rows = captured_rows(Served(tp=2))
    assert rows[:8] == (1, 2, 4, 8, 16, 24, 32, 40)
    assert (256 in rows, 264 in rows, 272 in rows, rows[-1]) == (True, False, True, 512)


@pytest.mark.parametrize(("tokens", "rows"), [(1, (2, 4, 8, 16, 24)), (2, (3, 6, 9, 18, 24)), (3, (4, 8, 16, 24, 32))])
def test_with_speculation_rows_are_whole_windows(tokens: int, rows: tuple[int, ...]) -> None:
    assert captured_rows(Served(tp=2, spec_tokens=tokens))[:5] == rows


def test_other_engines_capture_requests() -> None:
    assert captured_rows(Served(tp=2, spec_tokens=3, engine="sglang"))[:4] == (4, 8, 16, 32)


@pytest.mark.parametrize(
    ("batch", "fields", "rows"),
    [
        (1, {}, 1), (3, {}, 4), (5, {}, 8), (9, {}, 16), (33, {}, 40), (257, {}, 272), (600, {}, 600),
        (5, {"graph": "none"}, 5), (5, {"captures": (1, 6)}, 6), (7, {"captures": (1, 6)}, 7),
        (1, {"spec_tokens": 3}, 4), (5, {"spec_tokens": 3}, 24), (5, {"spec_tokens": 3, "engine": "sglang"}, 32),
        (5, {"max_num_seqs": 6}, 8), (5, {"max_num_seqs": 5, "captures": (4,)}, 5),
    ],
)  # fmt: skip
def test_rows_of_a_batch(batch: int, fields: dict[str, Any], rows: int) -> None:
    assert padded_rows(Served(tp=2, **fields), batch) == rows


@pytest.mark.parametrize(
    ("fields", "batches"),
    [
        ({}, ()),
        ({"max_num_seqs": 1}, (1,)),
        ({"max_num_seqs": 8}, (1, 2, 4, 8)),
        ({"max_num_seqs": 10}, (1, 2, 4, 8, 10)),
        ({"max_num_seqs": 600, "captures": (1, 2)}, (1, 2, 600)),
        ({"max_num_seqs": 4, "graph": "none"}, (4,)),
        ({"max_num_seqs": 4, "spec_tokens": 1}, (1, 2, 4)),
    ],
)
def test_batches_to_score(fields: dict[str, Any], batches: tuple[int, ...]) -> None:
    assert scored_batches(Served(tp=2, **fields)) == batches


@settings(deadline=None)
@given(
    most=st.integers(1, 700),
    tokens=st.integers(0, 5),
    engine=st.sampled_from(["vllm", "sglang"]),
    captures=st.lists(st.integers(1, 300), max_size=5).map(lambda sizes: tuple(sorted(set(sizes)))),
)
def test_no_batch_is_lost_or_larger_than_allowed(
    most: int, tokens: int, engine: Any, captures: tuple[int, ...]
) -> None:
    served = Served(tp=2, max_num_seqs=most, spec_tokens=tokens, engine=engine, captures=captures)
    batches = scored_batches(served)
    assert batches[-1] == most
    assert list(batches) == sorted(set(batches))
    for batch in {1, most, (most + 1) // 2}:
        assert padded_rows(served, batch) >= batch * served.window
