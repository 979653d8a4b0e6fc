"""The scripts for the GPU machine, without one: a planted slowdown is found, steps go on where they stopped."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks import adaptive_live, gpu_steps
from tests.benchmarks.worker_on_gpu import LEAST_BLOCKS, Planted, spin

pytestmark = pytest.mark.unit


class Machine:
    """Stands for a pair of nodes: an all-reduce takes 100 µs, times the noise of a launch, and what is planted."""

    def __init__(self, noise: float, effect: float = 1.0) -> None:
        self.chance, self.noise, self.effect, self.launches = random.Random(7), noise, effect, 0

    def cells(self, work: dict[str, Any]) -> list[dict[str, Any]]:
        self.launches += 1
        time = 100.0 * math.exp(self.chance.gauss(0.0, self.noise)) + self.effect * work.get("plant", {}).get(
            "spin_us", 0
        )
        return [{"size": 20480, "view": "graph", "rank": rank, "samples": [time] * 5} for rank in (0, 1)]


def test_a_planted_slowdown_is_found_and_the_blocks_it_took_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert spin(Machine(0.01))  # type: ignore[arg-type]
    assert "found after 6 blocks: 0.9" in capsys.readouterr().out


@pytest.mark.long
def test_more_noise_takes_more_blocks_than_forty_where_its_arithmetic_says_so(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert spin(Machine(0.09, effect=0.0))  # type: ignore[arg-type]
    said = capsys.readouterr().out
    made = said.count("\nblock ")
    assert made > LEAST_BLOCKS
    assert f"NOT found in {made} blocks" in said


def test_blocks_are_kept_and_a_later_call_goes_on_with_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "spin.json"
    assert not spin(Machine(0.01), path, until=0.0)  # type: ignore[arg-type]
    assert "0 blocks are there" in capsys.readouterr().out
    Planted(100.0, 5.0, [(4.605, 4.606, 4.655)] * 5).keep(path)
    machine = Machine(0.001)
    assert spin(machine, path)  # type: ignore[arg-type]
    assert machine.launches == 1 + 3, "one block was missing"
    kept = Planted.read(path)
    assert kept is not None and len(kept.blocks) == 6 and kept.spin_us == 5.0
    assert "found after 6 blocks" in capsys.readouterr().out


def test_next_goes_through_the_steps_and_stops_at_the_one_that_is_not_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ran: list[str] = []

    def step(name: str, done: bool) -> Any:
        def run(keep: Path, until: float) -> bool:
            ran.append(name)
            print(f"{name} says this")
            return done

        return run

    monkeypatch.setattr(gpu_steps, "STEPS", {"a": step("a", True), "b": step("b", False), "c": step("c", True)})
    monkeypatch.setattr("sys.argv", ["gpu_steps.py", "next", "--keep", str(tmp_path)])
    assert gpu_steps.main() == 1
    assert gpu_steps.main() == 1
    assert ran == ["a", "b", "b"]
    assert json.loads((tmp_path / "done.json").read_text()) == ["a"]
    assert (tmp_path / "b.txt").read_text() == "b says this\n" * 2
    assert "b is not done: call again" in capsys.readouterr().out


def test_the_choice_and_the_grids_best_are_held_against_base_in_the_same_blocks(
    capsys: pytest.CaptureFixture[str],
) -> None:
    chance = random.Random(3)
    blocks = [
        {
            name: math.log(us) + chance.gauss(0, 0.03)
            for name, us in (("base", 100), ("base#2", 100), ("a", 70), ("b", 71))
        }
        for _ in range(12)
    ]
    blocks[0]["a"] = None  # type: ignore[assignment]
    adaptive_live.report({"choice": "a", "best": "b", "blocks": blocks}, 150, 1176)
    said = capsys.readouterr().out
    assert "search: 150 launches, the grid's 1176 (13 %)" in said
    assert "choice a: 1.4" in said and "11 blocks" in said
    assert "the intervals overlap: yes" in said
    worse = [{**block, "a": math.log(99.0) + 0.001 * at} for at, block in enumerate(blocks)]
    adaptive_live.report({"choice": "a", "best": "b", "blocks": worse}, 150, 1176)
    assert "the intervals overlap: NO" in capsys.readouterr().out
