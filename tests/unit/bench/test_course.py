"""The course of a run without any store or clock: what an adaptive search launches, and in which order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from fabricdoc.bench.combining import COMBINED
from fabricdoc.bench.course import Course
from fabricdoc.bench.launch import Place
from fabricdoc.model.pruning import DROP_ONE, Pruning
from fabricdoc.model.run import Candidate, Launch, Run
from fabricdoc.tuning import standings
from tests.unit.bench.scripted import PROFILE, Script, candidates, contenders, places, plan_of, run_of, timed

pytestmark = pytest.mark.unit
GAINS = {"c0": 1.25, "c1": 1.2, "c3": 0.6}
CURRENT = Candidate(name="mine", role="current", on_base=False, variables={"NCCL_PROTO": "LL"})


def _course(
    chosen: tuple[Candidate, ...] = (),
    gains: dict[str, float] = GAINS,
    change: Callable[[Launch], Launch] = lambda one: one,
    affords: Callable[..., bool] = lambda *_: True,
) -> Course:
    plan = plan_of(chosen or candidates(4), search="adaptive")
    script = Script(timed(gains=gains), change=change)
    course = Course(run_of(plan), affords, contenders, lambda run: standings(run, PROFILE, "decode"))
    for step in course.steps():
        place = Place(len(course.launches) + 1, step.round, step.block, step.position)
        course.launches.append(script.run_launch(None, plan, step.candidate, place, "")[0])
    return course


def test_gains_that_add_up_are_combined_proven_and_confirmed() -> None:
    course = _course()
    rounds = {one.round for one in course.launches if one.candidate == "c0+c1"}
    assert rounds == {"proof", "combine", "confirm"}
    assert {one.set_name for one in course.made} == {COMBINED}
    assert course.so_far().plan.candidates[-1].set_name == COMBINED
    blocks = {one.block for one in course.launches if one.candidate == "c0+c1" and one.round == "combine"}
    assert len(blocks) >= 6


def test_who_can_not_win_is_launched_three_times_only() -> None:
    course = _course()
    assert Counter(one.round for one in course.launches if one.candidate == "c3") == {"proof": 1, "search": 3}


def test_base_is_in_every_block_twice_and_current_in_every_block_that_searches() -> None:
    course = _course((*candidates(3), CURRENT))
    for block in range(1, course.block + 1):
        names = Counter(one.candidate for one in course.launches if one.block == block)
        searching = any(one.round != "confirm" for one in course.launches if one.block == block)
        assert names["base"] == 2
        assert names["mine"] == int(searching)


@pytest.mark.long
def test_the_course_of_the_same_launches_is_the_same_again() -> None:
    assert places(_course().launches) == places(_course().launches)
    assert places(_course(gains={}).launches) != places(_course().launches)


def test_a_combination_whose_proof_fails_is_not_confirmed() -> None:
    def change(one: Launch) -> Launch:
        bad = one.round == "proof" and one.candidate == "c0+c1"
        return one.model_copy(update={"status": "failed"}) if bad else one

    course = _course(change=change)
    assert {one.round for one in course.launches if one.candidate == "c0+c1"} == {"combine", "proof"}


def test_without_any_gain_the_best_is_measured_until_a_verdict_can_be_given() -> None:
    course = _course(gains={})
    searched = {one.block for one in course.launches if one.round in ("search", "combine")}
    assert len(searched) >= 6
    assert not [one for one in course.launches if one.round == "confirm"]


def test_one_candidate_alone_is_searched_and_confirmed() -> None:
    course = _course(candidates(1), {"c0": 1.4})
    counts = Counter(one.round for one in course.launches if one.candidate == "c0")
    assert (counts["proof"], counts["search"] + counts["combine"], counts["confirm"]) == (1, 6, 6)


def test_where_no_block_fits_only_the_proofs_are_made_and_it_is_said() -> None:
    course = _course(affords=lambda *_: False)
    assert {one.round for one in course.launches} == {"proof"}
    assert course.cut == "block 1 (search)"


def test_the_winner_is_taken_apart_in_fresh_blocks_and_what_is_left_confirmed_in_others() -> None:
    """The course asks twice: what to launch without, and what is left; a resumed one makes those sets again."""
    winner = Candidate(name="c0", variables={"V0": "1", "V9": "1"})
    without = winner.model_copy(update={"name": "c0-without-V9", "variables": {"V0": "1"}, "set_name": DROP_ONE})
    left = without.model_copy(update={"name": "c0-trimmed"})
    asked: list[int] = []

    def each(run: Run) -> tuple[Candidate, ...]:
        asked.append(len(run.launches))
        return (winner, without)

    plan = plan_of((*candidates(0), winner))
    script = Script(timed(gains={"c0": 1.3}))
    course = Course(run_of(plan), lambda *_: True, contenders, None, Pruning(each, lambda _: left))
    for step in course.steps():
        place = Place(len(course.launches) + 1, step.round, step.block, step.position)
        course.launches.append(script.run_launch(None, plan, step.candidate, place, "")[0])
    assert asked == [2 + 6 * 3 + 6 * 3]
    counts = Counter((one.round, one.candidate) for one in course.launches)
    assert counts["drop", "c0-without-V9"] == counts["drop", "c0"] == 6
    assert counts["drop", "base"] == 12
    assert counts["proof", "c0-trimmed"] == 1
    assert counts["confirm", "c0-trimmed"] == 6
    blocks = {one.block for one in course.launches if one.candidate == "c0-trimmed" and one.round == "confirm"}
    assert min(blocks) > max(one.block for one in course.launches if one.round == "drop")
    resumed = Course(course.so_far(), lambda *_: True, contenders)
    assert [one.name for one in resumed.planned()] == ["base", "c0"]
