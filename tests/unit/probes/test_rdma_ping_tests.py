"""The messages of an RDMA ping over made-up verbs: what each end reports when all is well, and for each fault."""

from __future__ import annotations

import time
from typing import Any

import pytest

from fabricdoc.probes import rdma_ping_tests as pings
from fabricdoc.probes.rdma_ping_end import Peer, Place
from fabricdoc.probes.rdma_ping_laps import LAPS, SIZES
from tests.rdma_wire import RETRY_EXCEEDED, Wires

pytestmark = pytest.mark.lab  # whole processes with deadlines: too slow for every check

GIDS = ("::ffff:10.0.0.1", "::ffff:10.0.0.2")
A, B = "alpha/hca0", "beta/hca0"


def pinged(wires: Wires, wait_s: float = 2.0, path_mtu: int = 4096) -> tuple[dict[str, Any], dict[str, Any]]:
    """Both ends' reports of one pair; nothing is left open."""
    ends = [
        wires.library(node).open(Place("hca0", 1, 3, gid), 5) for node, gid in zip(("alpha", "beta"), GIDS, strict=True)
    ]
    for end, peer in zip(ends, ends[::-1], strict=True):
        end.connect(Peer(peer.gid, peer.qpn, peer.psn, 7, 0), path_mtu)
    running = [pings.Running(9, end, 77, side, path_mtu) for side, end in enumerate(ends)]
    pings.run_all(running, wait_s, lambda: False)
    for end in ends:
        end.close()
    assert wires.left == 0
    first, second = (one.report() for one in running)
    return first, second


def passed(report: dict[str, Any]) -> list[bool]:
    return [one["status"] == 0 and one["arrived"] for one in report["tests"]]


def test_a_healthy_pair_passes_every_message_and_its_round_trips() -> None:
    for report in pinged(Wires()):
        assert passed(report) == [True] * 4
        assert [(one["test"], one["bytes"]) for one in report["tests"]] == [
            ("send", 8),
            ("write", 8),
            ("send", 4096),
            ("write", 8192),
        ]
        assert len(report["laps_us"]) == pings.LAPS
        assert {size: len(laps) for size, laps in report["writes_us"].items()} == {"8192": LAPS, "20480": LAPS}
        assert report["failure"] is None


@pytest.mark.parametrize("path_mtu", [256, 512, 1024, 2048, 4096])
def test_sizes_follow_the_path_mtu_and_stay_within_8_kib(path_mtu: int) -> None:
    assert max(one.size for one in pings.tests_for(path_mtu)) == 2 * path_mtu <= 8192
    assert all(passed(report) == [True] * 4 for report in pinged(Wires(), path_mtu=path_mtu))


def test_a_path_that_loses_everything() -> None:
    wires = Wires()
    wires.is_lost = lambda source, target, size: True
    for report in pinged(wires):
        assert [(one["status"], one["arrived"]) for one in report["tests"]] == [(RETRY_EXCEEDED, False)]
        assert report["laps_us"] == []


def test_a_one_way_cut_shows_at_the_end_that_still_hears() -> None:
    """B's frames are lost: A's message arrives at B, and A gets no acknowledgement of it."""
    wires = Wires()
    wires.is_lost = lambda source, target, size: source == B
    first, second = pinged(wires)
    assert [(one["status"], one["arrived"]) for one in first["tests"]] == [(RETRY_EXCEEDED, False)]
    assert [(one["status"], one["arrived"]) for one in second["tests"]] == [(RETRY_EXCEEDED, True)]


def test_a_path_that_passes_small_packets_only() -> None:
    wires = Wires()
    wires.is_lost = lambda source, target, size: source == A and size > 1024
    first, second = pinged(wires)
    assert passed(first) == [True, True, False]
    assert [(one["status"], one["arrived"]) for one in second["tests"]][2] == (0, False)


def test_a_verb_that_never_completes_ends_with_its_deadline() -> None:
    wires = Wires()
    wires.hangs, wires.is_lost = True, lambda source, target, size: size > 8
    began = time.monotonic()
    for report in pinged(wires, wait_s=0.5):
        assert [(one["status"], one["arrived"]) for one in report["tests"]][2] == (None, False)
    assert time.monotonic() - began < 30


def test_a_message_that_arrives_spoiled_is_no_success() -> None:
    wires = Wires()
    wires.spoilt = lambda data: data[:-1] + b"?"
    for report in pinged(wires):
        assert passed(report) == [False]
        assert report["tests"][0]["whole"] is False


def test_a_post_that_is_refused_is_reported_with_its_errno() -> None:
    wires = Wires()
    wires.errnos[(A, "post")] = 12
    first, second = pinged(wires)
    assert (first["failure"]["phase"], first["failure"]["errno"]) == ("post", 12)
    assert second["failure"] is None and passed(second) == [False]


def test_a_controller_that_hangs_up_ends_the_loop_at_once() -> None:
    wires = Wires()
    wires.hangs, wires.is_lost = True, lambda source, target, size: True
    end = wires.library("alpha").open(Place("hca0", 1, 3, GIDS[0]), 5)
    end.connect(Peer(GIDS[1], end.qpn, 5, 7, 0), 4096)
    began = time.monotonic()
    pings.run_all([pings.Running(1, end, 77, 0, 4096)], 60.0, lambda: True)
    assert time.monotonic() - began < 30


def test_larger_messages_that_are_lost_or_arrive_spoilt_take_nothing_from_what_passed() -> None:
    lost, spoilt = Wires(), Wires()
    lost.is_lost = lambda source, target, size: size == SIZES[1]
    spoilt.spoilt = lambda data: data if len(data) <= 8192 else data[:-64] + b"?" * 56 + data[-8:]
    first, second = pinged(lost)
    assert [list(report["writes_us"]) for report in (first, second)] == [["8192"], ["8192"]]
    assert passed(first) == passed(second) == [True] * 4
    for report in pinged(spoilt):
        assert passed(report) == [True] * 4
        assert len(report["writes_us"].get("20480", [])) <= 1, "bytes that nobody sent end the laps"


def test_no_ends_is_nothing_to_do() -> None:
    pings.run_all([], 60.0, lambda: False)
