"""A run that is killed while a winner is taken apart goes on to the same launches as one that was not."""

from __future__ import annotations

import math
import random
from pathlib import Path

import pytest

from fabricdoc.bench import run as running
from fabricdoc.bench.launch import Place
from fabricdoc.model.pruning import DROP_ONE
from fabricdoc.model.run import Candidate
from tests.unit.bench.scripted import BASE, Script, places, plan_of, run_of, sit

pytestmark = pytest.mark.unit

TWO = Candidate(name="two", variables={"A": "1", "B": "1"})
WHOLE = 2 + 6 * 3 + 6 * 3 + 6 * 5 + 1 + 6 * 4


@pytest.fixture(autouse=True)
def no_standstill(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scripted launches carry one fixed time: how long ago they were means nothing here."""
    monkeypatch.setattr(running, "break_in_block", lambda *_: "")


def _factor(candidate: Candidate, place: Place) -> float:
    """A gains 30 %, B nothing."""
    chance = random.Random(f"{candidate.name}/{place.round}/{place.block}/{place.position}")
    return math.exp(chance.gauss(0.0, 0.005)) / (1.3 if "A" in candidate.variables else 1.0)


@pytest.mark.parametrize("kill_at", [45, 68, 80])
@pytest.mark.long
def test_it_goes_on_where_it_was_ended(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kill_at: int) -> None:
    run = run_of(plan_of((BASE, TWO)))
    straight = sit(monkeypatch, tmp_path / "one.db", run, Script(_factor))
    assert straight is not None
    assert len(straight.launches) == WHOLE
    assert sit(monkeypatch, tmp_path / "two.db", run, Script(_factor, kill_at)) is None
    rest = Script(_factor)
    resumed = sit(monkeypatch, tmp_path / "two.db", run, rest, resume=True)
    assert resumed is not None
    assert rest.made == WHOLE - kill_at
    assert places(resumed.launches) == places(straight.launches)
    assert resumed.plan.candidates == straight.plan.candidates
    made = [one.name for one in resumed.plan.candidates if one.set_name == DROP_ONE]
    assert sorted(made) == ["two-trimmed", "two-without-A", "two-without-B"]


def test_what_is_left_is_soaked_in_its_first_launch_that_confirms(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    script = Script(_factor)
    sit(monkeypatch, tmp_path / "one.db", run_of(plan_of((BASE, TWO))), script)
    assert [(name, round_) for name, round_, _ in script.soaked] == [("two", "confirm"), ("two-trimmed", "confirm")]
