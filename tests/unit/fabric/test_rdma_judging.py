"""What a ping's outcome means: each fault has its id, its direction and its words; unknown never passes for broken."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.checks import load_catalogue
from fabricdoc.fabric.rdma_answers import Failure, Passing, Report
from fabricdoc.fabric.rdma_judging import failure_text, judge, messages, passed_text
from fabricdoc.fabric.rdma_judging import test_text as text_of
from fabricdoc.fabric.rdma_pairs import End, Pair
from fabricdoc.fabric.rdma_talk import Outcome
from fabricdoc.model.findings import Finding

pytestmark = pytest.mark.unit

A = End("alpha", "p0", "hca0", 1, 3, "::ffff:10.0.0.1", "10.0.0.1", "10.0.0.0/24")
B = End("beta", "p1", "hca1", 1, 3, "::ffff:10.0.0.2", "10.0.0.2", "10.0.0.0/24")
SIZES = (("send", 8), ("write", 8), ("send", 4096), ("write", 8192))


def test_of(at: int, status: int | None = 0, arrived: bool = True, whole: bool = True) -> Passing:
    return Passing(*SIZES[at], status, arrived, whole)


test_of.__test__ = False  # type: ignore[attr-defined]
PASSED = tuple(test_of(at) for at in range(4))


def outcome(first: Report | Failure, second: Report | Failure, a: End = A, b: End = B) -> Outcome:
    found = Outcome(Pair(1, a, b), 4096)
    for side, one in enumerate((first, second)):
        (found.failures if isinstance(one, Failure) else found.reports)[side] = one  # type: ignore[call-overload]
    return found


def finding_of(found: Outcome) -> Finding:
    verdict = judge(found)
    assert verdict.finding is not None
    assert verdict.finding.id in load_catalogue()
    assert load_catalogue()[verdict.finding.id].decided_by == "rdma ping"
    return verdict.finding


def test_all_passed_is_a_link_that_works() -> None:
    verdict = judge(outcome(Report(PASSED, (9.0, 11.0, 10.0)), Report(PASSED)))
    assert (verdict.works, verdict.finding) == (True, None)


def test_what_passed_is_told_in_one_line() -> None:
    found = outcome(Report(PASSED, (9.0, 11.0, 10.0)), Report(PASSED))
    assert passed_text(found) == (
        "send and write of 8 to 8192 bytes both ways, path MTU 4096, round trip 10 us, "
        "GID 3 ::ffff:10.0.0.1 and GID 3 ::ffff:10.0.0.2"
    )
    assert (messages(found, 0), messages(found, 1)) == (7, 7)
    assert "round trip" not in passed_text(outcome(Report(PASSED), Report(PASSED)))


@pytest.mark.parametrize("at", [0, 1])
def test_a_small_message_that_fails_is_a_broken_path(at: int) -> None:
    bad = Report((*PASSED[:at], test_of(at, 12, False)))
    finding = finding_of(outcome(bad, bad))
    assert (finding.id, finding.severity, finding.subject) == ("rdma-path-broken", "error", "alpha/p0 - beta/p1")
    assert "all retries went without an acknowledgement" in finding.cause
    assert "ip route get 10.0.0.2 oif p0" in finding.fix


def test_ends_in_different_subnets_are_said_to_be() -> None:
    bad = Report((test_of(0, 12, False),))
    finding = finding_of(outcome(bad, bad, b=B._replace(network="10.0.1.0/24")))
    assert "different subnets (10.0.0.0/24, 10.0.1.0/24): an address is on the wrong port" in finding.cause


@pytest.mark.parametrize(("good", "named"), [(0, "alpha"), (1, "beta")])
def test_one_direction_is_told_from_the_other(good: int, named: str) -> None:
    """The end that hears nothing has the arrival missing; both lack an acknowledgement."""
    hears = Report((test_of(0, 12, True),))
    deaf = Report((test_of(0, 12, False),))
    finding = finding_of(outcome(*((deaf, hears) if good == 0 else (hears, deaf))))
    assert finding.id == "rdma-one-way"
    assert finding.cause.startswith(f"RDMA messages of {named} arrive at ")


@pytest.mark.parametrize("at", [2, 3])
def test_a_large_one_that_fails_after_small_ones_is_a_black_hole(at: int) -> None:
    bad = Report((*PASSED[:at], test_of(at, 12, False)))
    finding = finding_of(outcome(bad, bad))
    assert finding.id == "rdma-mtu-black-hole"
    assert "from alpha to beta and from beta to alpha" in finding.cause


def test_a_hang_without_a_completion_is_told_as_one() -> None:
    bad = Report((*PASSED[:2], test_of(2, None, False)))
    finding = finding_of(outcome(bad, bad))
    assert finding.id == "rdma-mtu-black-hole"
    assert "no completion; the peer's did not arrive" in finding.evidence[0].text


def test_bytes_that_differ_are_worse_than_a_size() -> None:
    bad = Report((*PASSED[:3], test_of(3, 0, False, False)))
    assert finding_of(outcome(bad, Report(PASSED))).id == "rdma-data-wrong"


def test_a_post_that_was_refused_is_shown_as_evidence() -> None:
    bad = Report((test_of(0, None, False),), (), Failure("post", 12, "Cannot allocate memory"))
    finding = finding_of(outcome(bad, Report((test_of(0, None, False),))))
    assert finding.evidence[0].text.endswith("ibv_post_send failed, ENOMEM (12): Cannot allocate memory")


@pytest.mark.parametrize("phase", ["silent", "answer"])
def test_what_was_not_heard_is_not_known(phase: str) -> None:
    verdict = judge(outcome(Failure(phase, 0, "no answer in time"), Report(PASSED)))
    assert (verdict.works, verdict.finding, verdict.reason) == (None, None, "alpha: no answer in time")


@pytest.mark.parametrize("phase", ["open", "mr", "qp", "init"])
def test_a_node_that_cant_even_begin_says_nothing_of_the_link(phase: str) -> None:
    found = outcome(Failure(phase, 12, "Cannot allocate memory"), Report(PASSED))
    finding = finding_of(found)
    assert (finding.id, finding.severity, finding.subject) == ("rdma-setup-failed", "warning", "alpha/hca0")
    assert judge(found).works is None


def test_a_gid_that_moved_is_told_with_what_is_there_now() -> None:
    finding = finding_of(
        outcome(Failure("gid", 0, "GID index 3 of hca0 holds fe80::1, not ::ffff:10.0.0.1"), Report(()))
    )
    assert (finding.id, finding.cause) == (
        "rdma-setup-failed",
        "GID index 3 of hca0 holds fe80::1, not ::ffff:10.0.0.1.",
    )


def test_mixed_gids_are_the_cause_of_errno_22() -> None:
    bare = B._replace(gid="fe80::2", ip="", network="")
    finding = finding_of(
        outcome(Failure("rtr", 22, "Invalid argument"), Failure("rtr", 22, "Invalid argument"), b=bare)
    )
    assert (finding.id, finding.severity) == ("rdma-connect-failed", "error")
    assert "GIDs of different kinds (::ffff:10.0.0.1 here, fe80::2 there)" in finding.cause
    assert {one.file for one in finding.evidence} == {"alpha", "beta"}


def test_arp_that_is_answered_one_way_only_is_said_to_be() -> None:
    finding = finding_of(outcome(Failure("rtr", 110, "Connection timed out"), Report(())))
    assert "Nobody answered ARP for ::ffff:10.0.0.2 at p0" in finding.cause
    assert "beta knew the MAC of ::ffff:10.0.0.1 and could connect" in finding.cause


def test_names_in_commands_are_quoted() -> None:
    evil = A._replace(netdev="p0;reboot")
    finding = finding_of(outcome(Failure("rtr", 101, "Network is unreachable"), Report(()), a=evil))
    assert "sudo ip link set dev 'p0;reboot' up" in finding.fix


def test_an_errno_nobody_knows_is_told_as_it_is() -> None:
    finding = finding_of(outcome(Failure("rtr", 95, "Operation not supported"), Report(())))
    assert "errno 95 (95)" in finding.evidence[0].text
    assert finding.fix


def test_texts_name_the_device_the_port_and_the_gid() -> None:
    assert failure_text(A, Failure("rtr", 61, "No data")) == (
        "hca0 (p0) GID 3 ::ffff:10.0.0.1: ibv_modify_qp to RTR failed, ENODATA (61): No data"
    )
    assert text_of(A, test_of(0)) == "hca0 (p0) send of 8 bytes: acknowledged; the peer's arrived"


PASSINGS = st.builds(
    Passing,
    st.sampled_from(["send", "write"]),
    st.integers(0, 8192),
    st.none() | st.integers(0, 255),
    st.booleans(),
    st.booleans(),
)
FAILURES = st.builds(Failure, st.sampled_from(["rtr", "rts", "mr", "silent", "answer", "post"]), st.integers(0, 4095))
REPORTS = st.builds(Report, st.lists(PASSINGS, max_size=8).map(tuple), st.just(()), st.none() | FAILURES)


@pytest.mark.long
@given(REPORTS | FAILURES, REPORTS | FAILURES)
def test_any_outcome_is_judged_and_works_only_if_every_message_passed(
    first: Report | Failure, second: Report | Failure
) -> None:
    found = outcome(first, second)
    verdict = judge(found)
    both = [one for one in (first, second) if isinstance(one, Report)]
    whole = len(both) == 2 and all(len(one.tests) >= 4 and all(test.passed for test in one.tests[:4]) for one in both)
    assert (verdict.works is True) == (whole and not any(one.failure for one in both))
    assert verdict.works is True or verdict.reason or verdict.finding
    if verdict.works is False:
        assert verdict.finding is not None and verdict.finding.severity == "error"
