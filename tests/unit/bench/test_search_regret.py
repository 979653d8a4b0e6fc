"""An adaptive search on invented grids, whose truth is known: what it loses, and what it saves."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from fabricdoc.bench.statistics import quantile
from tests.benchmarks.grid import AXES, SCHEMA, SECOND, invented_grid, means_of, read_grid, settings_of
from tests.benchmarks.search_regret import Replay, main, replay, summary

pytestmark = pytest.mark.unit


def _replays(grids: int, each: int) -> list[Replay]:
    found = []
    for seed in range(1, grids + 1):
        grid, true = invented_grid(seed)
        found += [replay(grid, again, true) for again in range(each)]
    return found


@pytest.mark.long
def test_a_few_replays_lose_little_and_launch_a_quarter_at_most() -> None:
    median, _, share = summary(_replays(3, 1))
    assert median <= 0.05
    assert share <= 0.25


@pytest.mark.long
@pytest.mark.timeout(600)
def test_of_a_hundred_replays_on_twenty_grids_half_lose_two_per_cent_at_most_and_few_much() -> None:
    replays = _replays(20, 5)
    median, _, share = summary(replays)
    unseen = sorted(one.unseen_regret for one in replays)
    assert len(replays) == 100
    assert median <= 0.02
    assert quantile(unseen, 0.5) <= 0.02
    # grids of chance have deep pairs that alone are slow; recorded ones are tamer
    assert quantile(unseen, 0.95) <= 0.12
    assert share <= 0.25


def test_the_same_replay_comes_out_the_same() -> None:
    grid, true = invented_grid(2)
    assert replay(grid, 4, true) == replay(grid, 4, true)


def test_the_grid_holds_every_choice_of_every_axis_once() -> None:
    settings = settings_of(AXES)
    count = math.prod(len(choices) + 1 for choices in AXES.values()) - 1
    assert len({one.name for one in settings}) == len(settings) == count == 95
    variables = [tuple(sorted(one.variables.items())) for one in settings]
    assert len(set(variables)) == 95
    assert {len(one.name.split("+")) for one in settings} == {1, 2, 3, 4, 5}


def test_a_recorded_grid_is_read_and_another_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "grid.json"
    axes = {"protocol": {"simple": {"NCCL_PROTO": "Simple"}}}
    path.write_text(json.dumps({"schema": SCHEMA, "axes": axes, "blocks": [{"base": 4.0, SECOND: 4.1, "simple": 3.9}]}))
    grid = read_grid(path)
    assert (grid.settings, grid.singles) == (("simple",), {"simple": {"NCCL_PROTO": "Simple"}})
    path.write_text(json.dumps({"schema": "other"}))
    with pytest.raises(ValueError, match="no recorded grid"):
        read_grid(path)


def test_means_take_the_levels_of_blocks_out() -> None:
    blocks = [{"base": 4.0, SECOND: 4.0, "one": 3.0}, {"base": 5.0, SECOND: 5.0, "one": 4.0}]
    means = means_of(blocks)
    assert means["base"] - means["one"] == pytest.approx(1.0)


@pytest.mark.long
def test_the_script_prints_its_figures_and_says_by_its_status_whether_they_hold(capsys) -> None:  # type: ignore[no-untyped-def]
    assert main(["--invented", "2", "--replays", "3"]) in (0, 1)
    told = capsys.readouterr().out
    assert "95 settings and base, 12 blocks, 3 replays" in told
    assert "regret against the grid's own choice: median" in told
    with pytest.raises(SystemExit):
        main([])
