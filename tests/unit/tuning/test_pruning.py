"""The drop-one check: a line that does not pay goes, a placed one is never asked, and what is left is confirmed."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from typing import Any

import pytest

from fabricdoc.bench.course import Course
from fabricdoc.bench.launch import Place
from fabricdoc.model.pruning import DROP_ONE
from fabricdoc.model.run import Candidate, Launch, Run
from fabricdoc.model.verdict import Verdict
from fabricdoc.tuning import judge, pruning_for
from fabricdoc.tuning.pruning import lines_of, trimmed, without_each
from tests.unit.bench.scripted import BASE, PROFILE, Script, contenders, plan_of, run_of

pytestmark = pytest.mark.unit

TWO = Candidate(name="two", variables={"A": "1", "B": "1"})


def _launched(gains: Mapping[str, float], winner: Candidate = TWO, change: Any = lambda one: one, **more: Any) -> Run:
    """A whole course whose launches gain a factor for each variable they hold (both together: "A+B")."""

    def factor(candidate: Candidate, place: Place) -> float:
        held = "+".join(name for name in candidate.variables if name in "AB") if candidate.name != "base" else ""
        gain = gains.get(held, math.prod(gains.get(name, 1.0) for name in held.split("+")))
        chance = random.Random(f"{candidate.name}/{place.round}/{place.block}/{place.position}")
        return math.exp(chance.gauss(0.0, 0.005)) / gain

    plan = plan_of((BASE, winner))
    script = Script(factor, change=change)
    affords = more.get("affords", lambda *_: True)
    course = Course(run_of(plan), affords, contenders, None, pruning_for(PROFILE, "decode"))
    for step in course.steps():
        place = Place(len(course.launches) + 1, step.round, step.block, step.position)
        course.launches.append(script.run_launch(None, plan, step.candidate, place, "")[0])
    return course.so_far().model_copy(update={"status": "complete"})


def _judged(run: Run) -> Verdict:
    return judge(run, PROFILE, "decode")


def _rounds(run: Run, name: str) -> set[str]:
    return {launch.round for launch in run.launches if launch.candidate == name}


def test_a_line_that_does_not_pay_is_left_out_and_the_rest_confirmed_as_exported() -> None:
    run = _launched({"A": 1.3, "B": 1.0})
    verdict = _judged(run)
    assert verdict.choice == "two-trimmed"
    left = next(one for one in run.plan.candidates if one.name == "two-trimmed")
    assert (left.variables, left.set_name) == ({"A": "1"}, DROP_ONE)
    assert [(line.name, line.pays) for line in verdict.lines] == [("A", True), ("B", False)]
    assert _rounds(run, "two-trimmed") == {"proof", "confirm"}
    fresh = {launch.block for launch in run.launches if launch.candidate == "two-trimmed" and launch.round == "confirm"}
    earlier = {launch.block for launch in run.launches if launch.round in ("search", "drop")}
    assert len(fresh) == 6
    assert not fresh & earlier
    shown = {one.name: one for one in verdict.candidates}
    assert set(shown) == {"two", "two-trimmed"}  # those made to be taken apart are no candidates of anybody
    assert shown["two-trimmed"].confirmed is True
    assert shown["two"].confirmation is not None
    assert shown["two"].confirmation.blocks == 6  # its own, not those that confirm what is left
    assert verdict.reason.startswith("Use two-trimmed: two without the lines that do not pay, in fresh blocks: 30 %")


def test_lines_that_all_pay_stay_and_nothing_is_confirmed_again() -> None:
    run = _launched({"A": 1.2, "B": 1.15})
    verdict = _judged(run)
    assert verdict.choice == "two"
    assert [line.pays for line in verdict.lines] == [True, True]
    assert all("without it" in line.reason and "slower" in line.reason for line in verdict.lines)
    assert not [one for one in run.plan.candidates if one.name.endswith("-trimmed")]


def test_two_lines_that_do_the_same_are_kept_together_and_the_file_says_so() -> None:
    """Each does what both do: without one of them nothing is lost, without both everything."""
    verdict = _judged(_launched({"A": 1.3, "B": 1.3, "A+B": 1.3}))
    assert verdict.choice == "two"
    assert [line.pays for line in verdict.lines] == [False, False]
    assert all(line.reason.endswith("was not confirmed to be as good") for line in verdict.lines)


def test_what_is_left_but_loses_to_the_winner_is_not_taken() -> None:
    run = _launched({"A": 1.3, "B": 1.0})
    slow = tuple(
        launch.model_copy(
            update={"cells": tuple(c.model_copy(update={"median_us": c.median_us * 1.15}) for c in launch.cells)}
        )
        if launch.candidate == "two-trimmed"
        else launch
        for launch in run.launches
    )
    verdict = _judged(run.model_copy(update={"launches": slow}))
    assert verdict.choice == "two"
    assert verdict.lines[1].reason.endswith("was not confirmed to be as good")


@pytest.mark.parametrize("round_", ["proof", "confirm"])
def test_what_is_left_but_fails_once_is_not_taken(round_: str) -> None:
    def change(launch: Launch) -> Launch:
        bad = (launch.candidate, launch.round) == ("two-trimmed", round_)
        return launch.model_copy(update={"status": "incorrect"}) if bad else launch

    assert _judged(_launched({"A": 1.3, "B": 1.0}, change=change)).choice == "two"


def test_a_line_without_which_launches_fail_pays() -> None:
    def change(launch: Launch) -> Launch:
        return launch.model_copy(update={"status": "failed"}) if launch.candidate == "two-without-B" else launch

    verdict = _judged(_launched({"A": 1.3, "B": 1.0}, change=change))
    assert verdict.choice == "two"
    assert verdict.lines[1].pays is True
    assert verdict.lines[1].reason.startswith("without it 1 of 1 launches failed")


def test_without_time_for_the_check_lines_stay_and_are_told_unchecked() -> None:
    run = _launched({"A": 1.3, "B": 1.0}, affords=lambda round_, *_: round_ != "drop")
    verdict = _judged(run)
    assert verdict.choice == "two"
    assert [line.pays for line in verdict.lines] == [None, None]
    assert verdict.lines[0].reason == "not checked alone: 0 of 6 blocks were launched without it"


def test_placed_lines_and_ports_are_exempt() -> None:
    base = BASE.model_copy(update={"variables": {"NCCL_NET": "IB"}})
    alone = Candidate(name="one", variables={"A": "1", "NCCL_NET": "IB"})
    assert lines_of(alone, base) == ()  # without its one line it is base
    ports = {"alpha": {"NCCL_IB_HCA": "=m0,m1"}, "beta": {"NCCL_IB_HCA": "=m0,m1"}}
    rails = Candidate(name="rails", variables={"A": "1"}, node_variables=ports)
    assert lines_of(rails, base) == ("A",)
    (without,) = without_each(rails, base)
    assert (without.name, without.variables, without.node_variables) == ("rails-without-A", {}, ports)
    assert lines_of(Candidate(name="nics", node_variables=ports), base) == ()


def test_a_winner_of_one_line_ends_with_its_confirmation() -> None:
    run = _launched({"A": 1.3}, winner=Candidate(name="one", variables={"A": "1"}))
    assert {launch.round for launch in run.launches} == {"proof", "search", "confirm"}
    assert _judged(run).lines == ()


def test_nothing_is_left_of_lines_that_do_nothing() -> None:
    assert trimmed(TWO, ()) is None
