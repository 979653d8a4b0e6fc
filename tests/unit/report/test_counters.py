"""Counters that grew while a node was watched."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Counters
from fabricdoc.report.counters import MOST, render_grown

pytestmark = pytest.mark.unit


def node(samples: Any, counters: Any, watched_s: float = 10.0) -> Any:
    return samples.node("alpha", (), ()).model_copy(update={"counters": counters, "watched_s": watched_s})


def grown(**deltas: int) -> Counters:
    return Counters(subject="rocep1s0f0/1", source="hw", values=deltas, deltas=deltas, names=40)


def test_nothing_for_a_node_that_was_not_watched(samples: Any) -> None:
    assert render_grown(node(samples, (grown(out_of_sequence=5),), watched_s=0.0)) == []


def test_the_largest_growth_comes_first(samples: Any, shown: Any) -> None:
    text = shown(render_grown(node(samples, (grown(a=5, out_of_sequence=5057, quiet=0), grown(b=7))))).splitlines()
    assert text[0].endswith("grew in 10 s")
    assert [row.split() for row in text[1:]] == [
        ["out_of_sequence", "rocep1s0f0/1", "5,057"],
        ["b", "rocep1s0f0/1", "7"],
        ["a", "rocep1s0f0/1", "5"],
    ]


def test_that_none_grew_is_said(samples: Any, shown: Any) -> None:
    assert shown(render_grown(node(samples, (grown(a=0),)))) == "  grew  no counter in 10 s\n"


def test_counters_that_could_not_be_read_are_no_zero(samples: Any, shown: Any) -> None:
    text = shown(render_grown(node(samples, Unknown(unknown="no permission"))))
    assert text == "  grew  unknown: no permission\n"


def test_a_long_list_is_cut_and_counted(samples: Any, shown: Any) -> None:
    many = grown(**{f"c{number}": number for number in range(1, MOST + 4)})
    text = shown(render_grown(node(samples, (many,)))).splitlines()
    assert len(text) == 1 + MOST + 1
    assert text[-1].strip() == "and 3 more counters"
