"""A run as flat rows, without any library."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabricdoc.data.rows import cell_rows, launch_rows, sample_rows, verdict_rows
from fabricdoc.store import RunStore
from tests.unit.data.conftest import RUN, verdict

pytestmark = pytest.mark.unit


def test_a_row_per_launch_with_what_its_log_proved(path: Path) -> None:
    rows = list(launch_rows(RunStore.open(path).load()))
    assert [(row["launch"], row["candidate"], row["set"], row["status"]) for row in rows] == [
        (1, "base", "base", "ok"),
        (2, "tree", "decode", "ok"),
        (3, "tree", "decode", "failed"),
    ]
    assert (rows[0]["network"], rows[0]["nccl"], rows[0]["gpu_direct"], rows[0]["proof"]) == (
        "IB",
        "2.28.9",
        None,
        "seen",
    )
    assert (rows[2]["network"], rows[2]["proof"], rows[2]["rank"], rows[2]["phase"]) == (None, "none", 1, "init")
    assert len({tuple(row) for row in rows}) == 1, "every row has the same columns"


def test_a_row_per_cell_with_its_place_and_bandwidths(path: Path) -> None:
    base, tree = cell_rows(RunStore.open(path).load())
    assert (base["run"], base["launch"], base["candidate"], base["view"], base["size"]) == (
        RUN,
        1,
        "base",
        "graph",
        20480,
    )
    assert (base["median_us"], base["p95_us"], base["p99_us"], base["max_us"]) == (40.0, 41.0, 42.0, 43.0)
    assert base["algbw_gbs"] == pytest.approx(20480 / 40e-6 / 1e9)
    assert base["busbw_gbs"] == base["algbw_gbs"], "two ranks: the factor of all_reduce is 1"
    assert tree["candidate"] == "tree"


def test_a_cell_without_a_time_has_no_bandwidth(path: Path) -> None:
    run = RunStore.open(path).load()
    cell = run.launches[0].cells[0].model_copy(update={"median_us": 0.0})
    launch = run.launches[0].model_copy(update={"cells": (cell,)})
    (row,) = cell_rows(run.model_copy(update={"launches": (launch,)}))
    assert (row["algbw_gbs"], row["busbw_gbs"]) == (None, None)


def test_a_row_per_call_and_rank(path: Path) -> None:
    store = RunStore.open(path)
    rows = list(sample_rows(store, store.load()))
    assert [(row["launch"], row["rank"], row["call"], row["us"]) for row in rows] == [
        (1, 0, 0, 39.0),
        (1, 0, 1, 40.0),
        (1, 0, 2, 41.0),
        (1, 1, 0, 40.0),
        (2, 0, 0, 32.0),
    ]
    assert (rows[0]["op"], rows[0]["in_place"]) == ("all_reduce", True)


def test_a_row_per_compared_cell(path: Path) -> None:
    (row,) = verdict_rows(verdict())
    assert (row["candidate"], row["candidate_verdict"], row["verdict"]) == ("tree", "better", "better")
    assert (row["ratio"], row["low"], row["high"], row["blocks"]) == (1.25, 1.1, 1.4, 6)
    assert (row["base_us"], row["candidate_us"], row["phase"]) == (40.0, 32.0, "decode")
