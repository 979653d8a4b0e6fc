"""What a launch adds up to."""

from __future__ import annotations

import os
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.probes.launches import Launch, unstarted

pytestmark = pytest.mark.unit

STATUSES = ["ok", "failed", "died", "garbage", "timeout", "stopped"]


@pytest.mark.parametrize(
    ("statuses", "whole"),
    [
        ([], "ok"),
        (["ok", "ok"], "ok"),
        (["ok", "stopped"], "stopped"),
        (["stopped", "timeout"], "timeout"),
        (["timeout", "died"], "failed"),
        (["garbage", "stopped", "timeout"], "failed"),
        (["failed", "ok"], "failed"),
    ],
)
def test_the_worst_rank_decides(statuses: list[str], whole: str) -> None:
    launch = Launch(1, 5)
    launch.statuses = statuses
    assert launch.status() == whole


@given(statuses=st.lists(st.sampled_from(STATUSES), max_size=9))
def test_a_launch_is_ok_only_if_every_rank_is(statuses: list[str]) -> None:
    launch = Launch(1, 5)
    launch.statuses = statuses
    assert (launch.status() == "ok") == all(status == "ok" for status in statuses)


def test_overdue_after_its_deadline() -> None:
    launch = Launch(1, 1000)
    assert not launch.overdue()
    launch.started_s -= 1001
    assert launch.overdue()


def test_a_rank_that_never_was_has_the_fields_of_one_that_was() -> None:
    ending = unstarted(3, "could not fork")
    assert ending["event"] == "rank_done"
    assert set(ending) == {"event", "rank", "status", "phase", "reason", "stack", "state", "log", "timings_s"}
    assert (ending["rank"], ending["status"], ending["reason"]) == (3, "failed", "could not fork")


class Rank:
    """What a launch asks of its ranks."""

    def __init__(self, rank: int, phase: str = "measure", limit_s: float = 0.0) -> None:
        self.rank, self.phase, self.reaped = rank, phase, False
        self.limit_s = limit_s

    def overdue_s(self) -> float:
        return self.limit_s

    def where(self) -> str:
        return f"phase {self.phase}"


def test_one_overdue_rank_ends_them_all_and_is_told_once() -> None:
    launch = Launch(1, 1000)
    launch.ranks = [Rank(0), Rank(1)]  # type: ignore[list-item]
    assert launch.ends_others() == ""
    launch.ranks[1].limit_s = 5.0  # type: ignore[attr-defined]
    assert launch.ends_others() == "rank 1 was overdue in phase measure"
    assert launch.ends_others() == ""


@pytest.mark.parametrize(
    ("phases", "measured"),
    [([], True), (["done"], True), (["done", "measure"], False), (["init"], False)],
)
def test_measuring_is_over_when_every_rank_says_so(phases: list[str], measured: bool) -> None:
    launch = Launch(1, 1000)
    launch.ranks = [Rank(index, phase) for index, phase in enumerate(phases)]  # type: ignore[misc]
    assert launch.measured() is measured


def test_a_launch_looks_before_and_after_and_never_waits() -> None:
    launch = Launch(1, 1000)
    assert launch.looked()
    launch.born = [(os.getpid(), 1)]
    launch.look()
    launch.look()
    end = time.monotonic() + 20
    while not launch.looked():
        assert time.monotonic() < end
        time.sleep(0.005)
    state = launch.state()
    assert isinstance(state["load_1min"], float)
    assert state["port_bytes"].keys() >= set()
    assert launch.looks == []


def test_a_launch_that_could_not_look_has_no_state_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> int:
        raise OSError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(os, "fork", refuse)
    launch = Launch(1, 1000)
    launch.look()
    assert launch.looked()
    assert launch.state()["load_1min"] == {"unknown": "could not fork: Resource temporarily unavailable"}
