"""What a launch adds up to."""

from __future__ import annotations

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
    assert set(ending) == {"event", "rank", "status", "phase", "reason", "log", "timings_s"}
    assert (ending["rank"], ending["status"], ending["reason"]) == (3, "failed", "could not fork")
