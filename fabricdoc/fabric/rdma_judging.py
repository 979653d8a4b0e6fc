"""What an RDMA ping between two ports shows: that it passed both ways, or what is broken, in which direction.

Composes findings with the errno or status as it came, its meaning and the commands. Asks nobody.
"""

from __future__ import annotations

import shlex
import statistics
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from fabricdoc.fabric.rdma_answers import Failure, Passing, Report
from fabricdoc.fabric.rdma_pairs import End, Pair
from fabricdoc.fabric.rdma_talk import Outcome
from fabricdoc.fabric.rdma_words import errno_word, status_word
from fabricdoc.model.findings import Evidence, Finding, Severity

SMALL = 8
CONNECTING = ("rtr", "rts")
EINVAL, NO_ANSWER = 22, (110, 113)
UNTOLD = ("silent", "answer")
PHASE_NAMES = {
    "open": "opening the device",
    "port": "ibv_query_port",
    "gid": "ibv_query_gid",
    "pd": "ibv_alloc_pd",
    "mr": "ibv_reg_mr",
    "cq": "ibv_create_cq",
    "qp": "ibv_create_qp",
    "init": "ibv_modify_qp to INIT",
    "rtr": "ibv_modify_qp to RTR",
    "rts": "ibv_modify_qp to RTS",
    "post": "ibv_post_send",
    "poll": "ibv_poll_cq",
}


class Verdict(NamedTuple):
    """Whether RDMA works over a pair (None: not told, `reason` says why), and the finding where it does not."""

    works: bool | None
    reason: str = ""
    finding: Finding | None = None


def judge(outcome: Outcome) -> Verdict:
    """The verdict on one pair."""
    ends = (outcome.pair.a, outcome.pair.b)
    failed = [(ends[side], one) for side, one in enumerate(outcome.failures) if one is not None]
    untold = [(end, one) for end, one in failed if one.phase in UNTOLD]
    if untold:
        return Verdict(None, "; ".join(f"{end.node}: {one.text}" for end, one in untold))
    if failed:
        return _refused(outcome.pair, failed)
    first, second = outcome.reports
    if first is None or second is None:
        return Verdict(None, "it was not pinged")
    return _tested(outcome, (first, second))


def _refused(pair: Pair, failed: Sequence[tuple[End, Failure]]) -> Verdict:
    """Verbs that failed before any message: at connecting the path or the addresses are wrong, before that the node."""
    end, failure = failed[0]
    is_path = all(one.phase in CONNECTING for _end, one in failed)
    peer = pair.b if end is pair.a else pair.a
    word = errno_word(failure.errno)
    cause = _filled(word.cause, end, peer) if failure.errno else f"{failure.text}."
    if failure.errno == EINVAL and is_path and bool(end.ip) == bool(peer.ip):
        cause = f"The kernel refused the connection from {end.shown} to {peer.shown} as invalid."
    if is_path and len(failed) == 1 and failure.errno in NO_ANSWER:
        cause += f" {peer.node} knew the MAC of {end.shown} and could connect."
    if is_path and failure.errno in NO_ANSWER:
        cause += _subnets(end, peer)
    finding = Finding(
        id="rdma-connect-failed" if is_path else "rdma-setup-failed",
        severity="error" if is_path else "warning",
        subject=pair.subject if is_path else f"{end.node}/{end.hca}",
        evidence=tuple(Evidence(file=one.node, text=failure_text(one, why)) for one, why in failed),
        cause=f"No RDMA connection over this link can be made. {cause}" if is_path else cause,
        fix=tuple(_filled(line, end, peer, shlex.quote) for line in word.fix) or ("run `fabricdoc cables` again",),
    )
    reason = "; ".join(f"{one.node}: {failure_text(one, why)}" for one, why in failed)
    return Verdict(False if is_path else None, reason, finding)


def _subnets(a: End, b: End) -> str:
    """A sentence about ends of different subnets, or nothing."""
    if not a.network or not b.network or a.network == b.network:
        return ""
    return f" The ends are in different subnets ({a.network}, {b.network}): an address is on the wrong port."


def failure_text(end: End, failure: Failure) -> str:
    """The failing verb of an end, with its errno and the library's words."""
    name = f", {errno_word(failure.errno).name} ({failure.errno})" if failure.errno else ""
    what = f"{PHASE_NAMES.get(failure.phase, failure.phase)} failed{name}: {failure.text}"
    return f"{end.hca} ({end.netdev}) GID {end.gid_index} {end.shown}: {what}"


def _tested(outcome: Outcome, reports: tuple[Report, Report]) -> Verdict:
    wanted = 4
    bad = [at for at in range(wanted) if not all(at < len(one.tests) and one.tests[at].passed for one in reports)]
    if not bad and not any(one.failure for one in reports):
        return Verdict(True)
    at = bad[0] if bad else wanted - 1
    tests = [one.tests[at] if at < len(one.tests) else None for one in reports]
    finding = _broken(outcome, reports, tests)
    return Verdict(False, finding.cause, finding)


def _broken(outcome: Outcome, reports: tuple[Report, Report], tests: Sequence[Passing | None]) -> Finding:
    """The finding for the first test that did not pass at both ends."""
    pair, ends = outcome.pair, (outcome.pair.a, outcome.pair.b)
    # what side 0 sent arrived where side 1 says so
    arrived = [bool(tests[1 - side] and tests[1 - side].arrived) for side in (0, 1)]  # type: ignore[union-attr]
    known = next(one for one in (*tests, Passing("send", SMALL, None, False, True)) if one is not None)
    lost = [f"from {ends[side].node} to {ends[1 - side].node}" for side in (0, 1) if not arrived[side]]
    if any(one is not None and not one.whole for one in tests):
        id, cause = "rdma-data-wrong", f"A {known.verb} of {known.size} bytes arrived with other bytes than were sent."
        fix: tuple[str, ...] = ("replace the cable, and look at the memory and firmware of both nodes' HCAs",)
    elif known.size > SMALL:
        id, cause, fix = _large(outcome, known, lost)
    elif len(lost) == 1:
        id, cause, fix = _one_way(ends, arrived)
    else:
        id, cause, fix = _small(ends, known, tests)
    return _finding(id, "error", pair, tuple(_seen(ends, reports, tests)), cause, fix)


def _finding(
    id: str, severity: Severity, pair: Pair, evidence: tuple[Evidence, ...], cause: str, fix: tuple[str, ...]
) -> Finding:
    return Finding(id=id, severity=severity, subject=pair.subject, evidence=evidence, cause=cause, fix=fix)


def _large(outcome: Outcome, known: Passing, lost: Sequence[str]) -> tuple[str, str, tuple[str, ...]]:
    ends = (outcome.pair.a, outcome.pair.b)
    where = f" {' and '.join(lost)}" if lost else ""
    cause = (
        f"RDMA messages of {SMALL} bytes pass, and packets of {outcome.path_mtu} bytes are lost{where}: something on "
        f"the path passes only smaller frames (an interface or a switch with a smaller MTU). NCCL connects, and hangs "
        f"or ends with IBV_WC_RETRY_EXC_ERR (12) at the first large message."
    )
    ask = tuple(line for one in ends for line in (f"on {one.node}:", shlex.join(["ip", "link", "show", one.netdev])))
    fix = (*ask, "set one MTU on both, and at least that on every switch port in between (9216 is usual)")
    return "rdma-mtu-black-hole", cause, fix


def _one_way(ends: tuple[End, End], arrived: Sequence[bool]) -> tuple[str, str, tuple[str, ...]]:
    good = 0 if arrived[0] else 1
    one, other = ends[good], ends[1 - good]
    cause = (
        f"RDMA messages of {one.node} arrive at {other.node}/{other.netdev}, but nothing that {other.node} sends "
        f"arrives at {one.node}/{one.netdev}, not even the acknowledgements: a broken fibre or lane, a filter, or "
        f"answers that leave by another port."
    )
    fix = (
        f"re-seat or swap the cable between {one.node}/{one.netdev} and {other.node}/{other.netdev}",
        *_way(other, one),
    )
    return "rdma-one-way", cause, fix


def _small(ends: tuple[End, End], known: Passing, tests: Sequence[Passing | None]) -> tuple[str, str, tuple[str, ...]]:
    statuses = [one.status for one in tests if one is not None and one.status]
    meaning = status_word(statuses[0]).cause if statuses else "no completion came in time"
    cause = (
        f"The queue pairs connect, but a {known.verb} of {known.size} bytes fails: {meaning}. "
        f"Beacons or a ping may pass all the same: NCCL over this link would end with the same status."
    )
    a, b = ends
    cause += _subnets(a, b)
    fix = tuple(line for one, other in (ends, ends[::-1]) for line in _way(one, other))
    return "rdma-path-broken", cause, fix


def _way(one: End, other: End) -> tuple[str, str, str]:
    """Commands that show where packets to the other end leave, and whose MAC they get."""
    asked = shlex.join(["ip", "route", "get", other.ip or other.gid, "oif", one.netdev])
    return f"on {one.node}:", asked, shlex.join(["ip", "neighbour", "show", "dev", one.netdev])


def _seen(ends: tuple[End, End], reports: tuple[Report, Report], tests: Sequence[Passing | None]) -> Iterator[Evidence]:
    for end, report, test in zip(ends, reports, tests, strict=True):
        if report.failure is not None:
            yield Evidence(file=end.node, text=failure_text(end, report.failure))
        elif test is not None:
            yield Evidence(file=end.node, text=test_text(end, test))


def test_text(end: End, test: Passing) -> str:
    """One test as an end saw it."""
    if test.status is None:
        how = "no completion"
    else:
        how = f"{status_word(test.status).name} ({test.status})" if test.status else "acknowledged"
    heard = "arrived" if test.arrived else "did not arrive" if test.whole else "arrived with other bytes"
    return f"{end.hca} ({end.netdev}) {test.verb} of {test.size} bytes: {how}; the peer's {heard}"


def passed_text(outcome: Outcome) -> str:
    """The detail of a proof: what passed, at which path MTU, how fast, over which GIDs."""
    first = outcome.reports[0]
    laps = first.laps_us if first else ()
    speed = f", round trip {statistics.median(laps):.0f} us" if laps else ""
    for size, times in sorted(first.writes_us.items()) if first else ():
        speed += f", of {size} bytes {statistics.median(times):.0f} us" if times else ""
    a, b = outcome.pair.a, outcome.pair.b
    sizes = f"send and write of {SMALL} to {2 * outcome.path_mtu} bytes both ways, path MTU {outcome.path_mtu}"
    return f"{sizes}{speed}, GID {a.gid_index} {a.shown} and GID {b.gid_index} {b.shown}"


def messages(outcome: Outcome, side: int) -> int:
    """How many messages of this side arrived at the other."""
    there, first = outcome.reports[1 - side], outcome.reports[0]
    return sum(one.arrived for one in there.tests) + len(first.laps_us) if there and first else 0


def _filled(template: str, end: End, peer: End, spelt: Callable[[str], str] = str) -> str:
    """A template with the names of both ends, spelt as a shell needs them where it is a command."""
    return template.format(
        node=end.node,
        netdev=spelt(end.netdev),
        hca=end.hca,
        gid=end.shown,
        index=end.gid_index,
        ip=end.ip or end.gid,
        peer_node=peer.node,
        peer_netdev=spelt(peer.netdev),
        peer_gid=peer.shown,
        peer_ip=peer.ip or peer.gid,
    )
