"""The gate's deadline in the deeper levels: what a launch gets of it, and one answer for all that was not done."""

from __future__ import annotations

from math import inf

import pytest

from fabricdoc.fabric import within
from fabricdoc.gate import gate_status
from fabricdoc.gate.judge import Terms, conclude
from fabricdoc.model.gate import GateCheck
from fabricdoc.workflow.gate_smoke_answers import EXACT, check, finding
from fabricdoc.workflow.gate_time import (
    CLOSE_S,
    LEAST_S,
    OUT_OF_TIME,
    TIME,
    Found,
    in_time,
    is_over,
    launch_s,
    not_done,
    to_wait,
    was_cut,
    without,
)
from fabricdoc.workflow.gate_words import MOST_DEADLINE_S
from tests.unit.workflow.gate_made import launch

pytestmark = pytest.mark.unit

GOOD = check(EXACT, "", "results", "bit-exact", "bit-exact", "ok")
QUICK = GateCheck(id=TIME, node="", outcome="ok", expected="within the deadline", found="in time")


@pytest.mark.parametrize("left", [0.0, 0.5, 5.0, 10.0, 120.0, 3600.0, inf])
def test_a_little_is_kept_for_ending_what_was_started(left: float) -> None:
    assert 0.8 * left <= to_wait(left) <= left
    assert left == inf or left - to_wait(left) <= CLOSE_S


def test_a_launch_gets_its_own_limit_or_half_of_what_is_left() -> None:
    assert launch_s(30.0) == 30.0
    with within(1000.0):
        assert launch_s(30.0) == 30.0
    with within(20.0):
        assert 9.0 < launch_s(30.0) <= 10.0
        assert launch_s(3.0) == 3.0
    with within(0.0):
        assert launch_s(30.0) == LEAST_S


def test_it_is_over_when_nothing_can_be_begun_any_more() -> None:
    assert not is_over()
    with within(1000.0):
        assert not is_over()
    with within(LEAST_S / 2):
        assert is_over()


@pytest.mark.parametrize(
    ("status", "seconds", "limit", "cut"),
    [
        ("timeout", 10.2, 10.0, True),  # ended when its part of the deadline was over
        ("failed", 14.0, 10.0, True),  # an agent that stopped answering
        ("failed", 2.0, 10.0, False),  # it failed by itself
        ("timeout", 2.0, 10.0, False),  # a phase of a rank was over its own limit
        ("timeout", 31.0, 30.0, False),  # it had all its time
        ("ok", 12.0, 10.0, False),
    ],
)
def test_only_a_launch_that_was_ended_early_is_cut(status: str, seconds: float, limit: float, cut: bool) -> None:
    one = launch(status=status).model_copy(update={"seconds": seconds})
    assert was_cut(one, limit, 30.0) is cut


def test_all_parts_that_were_not_done_are_one_answer_with_what_to_do() -> None:
    cause = finding("rail-bandwidth", "a/p0", "slow", ["look"])
    found: Found = ((not_done("the all-reduce"), GOOD, not_done("the bandwidth"), not_done("the bandwidth")), (cause,))
    checks, (first, late) = in_time(found, "a,b", 20.0)
    assert [one.id for one in checks] == [EXACT, TIME]
    assert checks[1].found == "not done: the all-reduce, the bandwidth"
    assert first == cause
    assert (late.id, late.severity, late.subject) == (OUT_OF_TIME, "warning", "gate")
    assert "not done: the all-reduce, the bandwidth" in late.cause
    assert late.fix == checks[1].fix
    assert late.fix[1:] == ("fabricdoc scan --nodes a,b", "or give it more time: --deadline 40")


def test_where_all_was_done_nothing_is_added() -> None:
    found: Found = ((GOOD,), ())
    assert in_time(found, "a,b", 20.0) is found
    assert without(()) == ((), ())


@pytest.mark.parametrize("deadline", [MOST_DEADLINE_S, MOST_DEADLINE_S / 2 + 1, inf])
def test_no_deadline_is_advised_that_would_be_refused(deadline: float) -> None:
    _, (late,) = in_time(without(["the all-reduce"]), "a", deadline)
    assert not any("--deadline" in line for line in late.fix)


def test_it_ends_a_gate_as_a_node_that_failed_and_a_no_is_still_a_no() -> None:
    checks, findings = in_time(without(["the bandwidth"]), "a,b", 20.0)
    terms = Terms(preset="pair", level="full")
    late = conclude(terms, ("a", "b"), [QUICK, GOOD, *checks], findings)
    assert (late.answer, int(gate_status(late))) == ("node-failed", 4)
    assert late.reason.endswith("not done: the bandwidth")
    bad = check(EXACT, "", "results", "bit-exact", "7 elements", "differs")
    assert conclude(terms, ("a", "b"), [QUICK, bad, *checks], findings).answer == "no-go"
