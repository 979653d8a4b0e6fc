"""What is asked of a launch besides plain calls, read from words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.bench.statistics import MOST_BLOCKS
from fabricdoc.errors import UsageError
from fabricdoc.probes import events
from fabricdoc.workflow import arms
from fabricdoc.workflow.arms import blocks_of, read_deadlines, read_effect, read_gemm, read_path

pytestmark = pytest.mark.unit


def test_the_phases_are_the_ranks_own() -> None:
    assert arms.PHASES == events.PHASES
    assert arms.MOST_BLOCKS == MOST_BLOCKS


def test_a_path_is_one_of_three() -> None:
    assert [read_path(word) for word in ("torch", "direct", "both")] == ["torch", "direct", "both"]
    with pytest.raises(UsageError, match="unknown path: 'nccl'"):
        read_path("nccl")


def test_a_product_is_three_sides() -> None:
    assert read_gemm("") is None
    assert read_gemm("8x8192x4096") == read_gemm(" 8X8192X4096 ") == (8, 8192, 4096)


@pytest.mark.parametrize("text", ["8", "8x8", "8x8x8x8", "0x8x8", "8x8x99999", "axbxc", "8x-8x8", "\uff18x8x8"])
def test_what_is_no_product_is_refused_with_the_form(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_gemm(text)
    assert "--gemm 8x8192x8192" in caught.value.fix


def test_deadlines_are_read_by_phase() -> None:
    assert read_deadlines([]) == {}
    assert read_deadlines(["measure=120", "init=2m", "launch=0.5h"]) == {"measure": 120, "init": 120, "launch": 1800}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["mesure=3"], "not a phase: 'mesure'"),
        (["measure"], "measure: not a deadline: ''"),
        (["measure="], "measure: not a deadline: ''"),
        (["measure=-1"], "not a duration"),
        (["measure=2h"], "not a deadline: '2h'"),
        (["measure=nan"], "not a duration"),
        (["init=3", "init=4"], "two deadlines for init"),
    ],
)
def test_what_is_no_deadline_is_refused(words: list[str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        read_deadlines(words)


def test_a_difference_is_in_percent() -> None:
    assert read_effect("") is None
    assert read_effect("5%") == read_effect("5") == 0.05
    for text in ("0", "0.05", "101%", "five", "-5%", "5%%"):
        with pytest.raises(UsageError, match="not a difference"):
            read_effect(text)


@given(st.text(max_size=12))
def test_any_text_is_a_value_or_a_usage_error(text: str) -> None:
    for read in (read_path, read_gemm, read_effect, lambda word: read_deadlines([word])):
        try:
            read(text)
        except UsageError as error:
            assert error.fix


def test_blocks_are_raised_where_the_difference_needs_more() -> None:
    assert blocks_of(6, None, 4) == (6, "")
    more, note = blocks_of(6, 0.05, 4)
    assert more > 6
    assert note == f"to see 5.0% of 4 candidates, {more} blocks are needed at the usual noise; {more} are planned"
    assert blocks_of(50, 0.05, 1)[0] == 50, "never fewer than asked for"


def test_a_difference_that_no_number_of_blocks_shows_is_refused() -> None:
    with pytest.raises(UsageError) as caught:
        blocks_of(6, 0.001, 8)
    assert caught.value.id == "effect-too-small"
    assert "--effect" in caught.value.fix
