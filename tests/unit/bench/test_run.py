"""A whole bench by script: its rounds, its budget, what is left out, and that a kill at any place costs nothing."""

from __future__ import annotations

from collections import Counter

import pytest

from fabricdoc.bench import run as running
from fabricdoc.errors import InputError, StoreError
from fabricdoc.model.documents import Unknown
from fabricdoc.model.run import Proof
from fabricdoc.store import RunStore
from tests.unit.bench.scripted import Killed, Script, candidates, places, plan_of, run_of, sit, timed

pytestmark = pytest.mark.unit


@pytest.fixture(autouse=True)
def _no_break(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    """Scripted launches all start at one second of the past: no break lies between them."""
    monkeypatch.setattr(running, "break_in_block", lambda *_: "")


def test_a_grid_proves_searches_and_confirms(monkeypatch, tmp_path) -> None:
    run = sit(monkeypatch, tmp_path / "r.sqlite", run_of(plan_of(candidates(3))), Script(timed(gains={"c1": 1.4})))
    assert run is not None
    assert (run.status, run.reason) == ("complete", "")
    assert Counter(one.round for one in run.launches) == {"proof": 4, "search": 6 * 5, "confirm": 6 * 3}
    for block in range(1, 13):
        names = sorted(one.candidate for one in run.launches if one.block == block)
        assert names == (["base", "base", "c0", "c1", "c2"] if block <= 6 else ["base", "base", "c1"])


def test_what_may_win_is_soaked_once_when_it_is_first_launched_again(monkeypatch, tmp_path) -> None:
    script = Script(timed(gains={"c1": 1.4, "c2": 1.3}))
    assert sit(monkeypatch, tmp_path / "r.sqlite", run_of(plan_of(candidates(3))), script) is not None
    assert sorted(script.soaked) == [("c1", "confirm", 7), ("c2", "confirm", 7)]


def test_where_cpu_and_gpu_share_memory_base_itself_is_soaked_first(monkeypatch, tmp_path) -> None:
    script = Script(timed())
    plan = plan_of(candidates(2)).model_copy(update={"unified_memory": ("alpha",)})
    assert sit(monkeypatch, tmp_path / "r.sqlite", run_of(plan), script) is not None
    assert script.soaked == [("base", "search", 1)]


def test_a_winner_that_a_soak_finds_incorrect_is_launched_no_more(monkeypatch, tmp_path) -> None:
    def change(one):  # type: ignore[no-untyped-def]
        wrong = one.candidate == "c1" and one.round == "confirm"
        return one.model_copy(update={"status": "incorrect"}) if wrong else one

    run = sit(
        monkeypatch,
        tmp_path / "r.sqlite",
        run_of(plan_of(candidates(2))),
        Script(timed(gains={"c1": 1.4}), change=change),
    )
    assert run is not None
    assert [one.block for one in run.launches if one.candidate == "c1" and one.round == "confirm"] == [7]


def test_a_set_that_turns_ll128_on_against_nccls_own_table_is_failed_and_launched_no_more(
    monkeypatch, tmp_path
) -> None:
    unknown = Unknown(unknown="not in this test")

    def change(one):  # type: ignore[no-untyped-def]
        table = {"AllReduce": one.candidate in ("c0", "default")}
        proof = Proof(grade="seen", version=unknown, network=unknown, gpu_direct=unknown, ll128=table)
        return one.model_copy(update={"proof": proof}) if one.round == "proof" else one

    run = sit(monkeypatch, tmp_path / "r.sqlite", run_of(plan_of(candidates(2))), Script(timed(), change=change))
    assert run is not None
    forced = [one for one in run.launches if one.candidate == "c0"]
    assert [(one.round, one.status) for one in forced] == [("proof", "failed")]
    assert "NCCL itself leaves off on this path" in forced[0].reason
    assert {one.status for one in run.launches if one.candidate == "c1"} == {"ok"}


def test_without_a_winner_nothing_is_confirmed(monkeypatch, tmp_path) -> None:
    run = sit(monkeypatch, tmp_path / "r.sqlite", run_of(plan_of(candidates(2))), Script(timed()))
    assert run is not None
    assert Counter(one.round for one in run.launches) == {"proof": 3, "search": 24}


@pytest.mark.parametrize("status", ["failed", "timeout", "incorrect"])
def test_a_candidate_that_failed_is_not_launched_again(monkeypatch, tmp_path, status) -> None:
    script = Script(
        timed(), change=lambda one: one.model_copy(update={"status": status}) if one.candidate == "c0" else one
    )
    run = sit(monkeypatch, tmp_path / "r.sqlite", run_of(plan_of(candidates(2))), script)
    assert run is not None
    assert [one.round for one in run.launches if one.candidate == "c0"] == ["proof"]


def test_a_base_that_fails_ends_the_run_after_the_proofs(monkeypatch, tmp_path) -> None:
    script = Script(
        timed(), change=lambda one: one.model_copy(update={"status": "failed"}) if one.candidate == "base" else one
    )
    run = sit(monkeypatch, tmp_path / "r.sqlite", run_of(plan_of(candidates(2))), script)
    assert run is not None
    assert {one.round for one in run.launches} == {"proof"}


def test_a_disturbed_block_is_measured_again_and_both_are_kept(monkeypatch, tmp_path) -> None:
    def change(one):  # type: ignore[no-untyped-def]
        return one.model_copy(update={"disturbed": "beta: pid 7"}) if (one.block, one.position) == (2, 1) else one

    run = sit(monkeypatch, tmp_path / "r.sqlite", run_of(plan_of(candidates(1))), Script(timed(), change=change))
    assert run is not None
    assert {one.block for one in run.launches} == {0, 1, 2, 3, 4, 5, 6, 7}
    assert [one.number for one in run.launches if one.disturbed] == [2 + 3 + 2]


def test_a_disturbance_that_does_not_end_is_not_measured_for_ever(monkeypatch, tmp_path) -> None:
    script = Script(timed(), change=lambda one: one.model_copy(update={"disturbed": "x" if one.block else ""}))
    run = sit(monkeypatch, tmp_path / "r.sqlite", run_of(plan_of(candidates(1))), script)
    assert run is not None
    assert max(one.block for one in run.launches) == 4


@pytest.mark.parametrize("search", ["grid", "adaptive"])
@pytest.mark.timeout(900)
@pytest.mark.parametrize("every", [pytest.param(5, marks=pytest.mark.long), 29])
def test_a_kill_at_any_place_loses_no_launch_and_the_course_goes_on(monkeypatch, tmp_path, search, every) -> None:
    plan = plan_of(candidates(3), search=search)
    factor = timed(gains={"c1": 1.4, "c2": 1.15})
    whole = sit(monkeypatch, tmp_path / "whole.sqlite", run_of(plan), Script(factor))
    assert whole is not None
    for kill_at in range(0, len(whole.launches), every):
        path = tmp_path / f"{kill_at}.sqlite"
        with monkeypatch.context() as dying:
            dying.setattr(RunStore, "finish", lambda *_: None)
            assert sit(dying, path, run_of(plan), Script(factor, kill_at)) is None
        stored = RunStore.open(path).load()
        assert (stored.status, places(stored.launches)) == ("interrupted", places(whole.launches[:kill_at]))
        again = sit(monkeypatch, path, stored, Script(factor), resume=True)
        assert again is not None
        assert places(again.launches) == places(whole.launches)
        assert [one.cells for one in again.launches] == [one.cells for one in whole.launches]
        assert (again.status, len(again.resumed)) == ("complete", 1)
        assert again.plan == whole.plan


@pytest.mark.long
def test_a_run_can_be_killed_again_and_again(monkeypatch, tmp_path) -> None:
    plan, factor, path = plan_of(candidates(2), search="adaptive"), timed(gains={"c1": 1.4}), tmp_path / "r.sqlite"
    whole = sit(monkeypatch, tmp_path / "whole.sqlite", run_of(plan), Script(factor))
    assert whole is not None
    run, sittings = run_of(plan), 0
    with monkeypatch.context() as dying:
        dying.setattr(RunStore, "finish", lambda *_: None)
        while len(run.launches) < len(whole.launches):
            sit(dying, path, run, Script(factor, 7), resume=sittings > 0)
            run, sittings = RunStore.open(path).load(), sittings + 1
    again = sit(monkeypatch, path, run, Script(factor), resume=True)
    assert again is not None
    assert places(again.launches) == places(whole.launches)
    assert len(again.resumed) == sittings


@pytest.mark.long
def test_a_run_that_is_being_written_is_not_taken_up(monkeypatch, tmp_path) -> None:
    run = run_of(plan_of(candidates(1)))
    with RunStore.open(tmp_path / "r.sqlite", write=True) as other:
        other.begin(run)
        with pytest.raises(StoreError, match="written by another process"):
            sit(monkeypatch, tmp_path / "r.sqlite", run, Script(timed()), resume=True)


def test_launches_of_another_course_are_refused_by_name(monkeypatch, tmp_path) -> None:
    path, run = tmp_path / "r.sqlite", run_of(plan_of(candidates(2)))
    with monkeypatch.context() as dying:
        dying.setattr(RunStore, "finish", lambda *_: None)
        sit(dying, path, run, Script(timed(), 12))
    stored = RunStore.open(path).load()
    other = stored.plan.model_copy(update={"seed": 6})
    with RunStore.open(path, write=True) as store:
        store.resume(run.id)
        store.rewrite(stored.model_copy(update={"plan": other}))
    with pytest.raises(InputError, match=r"launch \d+ is .* in search block 1, place \d+, where the plan has"):
        sit(monkeypatch, path, stored, Script(timed()), resume=True)


def test_a_block_with_a_break_in_it_is_left_out_and_measured_again(monkeypatch, tmp_path) -> None:
    path, run = tmp_path / "r.sqlite", run_of(plan_of(candidates(1)))
    with monkeypatch.context() as dying:
        dying.setattr(RunStore, "finish", lambda *_: None)
        sit(dying, path, run, Script(timed(), 2 + 3 + 1))
    monkeypatch.setattr(running, "break_in_block", lambda *_: "the run stood still for 900 s in this block")
    factor = timed()
    again = sit(monkeypatch, path, run, Script(factor), resume=True)
    assert again is not None
    spoilt = {one.block for one in again.launches if one.disturbed}
    assert 2 in spoilt


def test_a_failing_sitting_says_why_and_keeps_what_it_has(monkeypatch, tmp_path) -> None:
    def change(one):  # type: ignore[no-untyped-def]
        if one.number == 5:
            raise RuntimeError("agents gone")
        return one

    with pytest.raises(RuntimeError):
        sit(monkeypatch, tmp_path / "r.sqlite", run_of(plan_of(candidates(2))), Script(timed(), change=change))
    stored = RunStore.open(tmp_path / "r.sqlite").load()
    assert (stored.status, stored.reason, len(stored.launches)) == ("failed", "agents gone", 4)


class Clock:
    """A clock that a launch moves on by 1.0 s."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.mark.parametrize("search", ["grid", "adaptive"])
@pytest.mark.parametrize("budget", [5.0, 20.0, 33.0, 48.0, 60.0, 75.0, 90.0])
def test_a_budget_is_never_passed_and_the_confirmation_has_its_part_of_it(
    monkeypatch, tmp_path, search, budget
) -> None:
    clock = Clock()
    monkeypatch.setattr(running.time, "monotonic", clock.monotonic)

    def change(one):  # type: ignore[no-untyped-def]
        clock.now += 1.0
        return one

    plan = plan_of(candidates(3), search=search, budget=budget, blocks=9)
    script = Script(timed(gains={"c1": 1.4}), change=change)
    run = sit(monkeypatch, tmp_path / "r.sqlite", run_of(plan), script)
    assert run is not None
    assert clock.now <= max(budget, 4.0)
    rounds = Counter(one.round for one in run.launches)
    if budget >= 60:
        assert rounds["confirm"] >= 18, rounds
    if budget <= 75:
        assert run.reason.startswith(f"the time budget of {budget:.0f} s left no room for block "), run.reason


def test_a_killed_sitting_is_not_ended_in_the_store(monkeypatch, tmp_path) -> None:
    with monkeypatch.context() as dying:
        dying.setattr(RunStore, "finish", lambda *_: None)
        assert sit(dying, tmp_path / "r.sqlite", run_of(plan_of(candidates(1))), Script(timed(), 3)) is None
    assert issubclass(Killed, BaseException)
    assert RunStore.open(tmp_path / "r.sqlite").load().status == "interrupted"
