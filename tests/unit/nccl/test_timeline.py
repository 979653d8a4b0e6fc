"""Timelines: interleaved ranks come apart, memory is bounded, and errors stand in the order of cause."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from fabricdoc.nccl.reader import LogReader
from fabricdoc.nccl.timeline import (
    MOST_ERRORS,
    MOST_OF_A_KIND,
    MOST_OF_ONE,
    MOST_RANKS,
    Timelines,
    first_errors,
    read_timelines,
)

pytestmark = pytest.mark.unit

LOGS = Path(__file__).parents[2] / "fixtures" / "nccl_logs"
FLUSH = "NET/IB : Got completion from peer 10.0.0.2<4> with error 5, opcode 1, len 0, vendor err 249"
RETRY = "NET/IB : Got completion from peer 10.0.0.2<4> with error 12, opcode 1, len 0, vendor err 129"


def text(name: str) -> str:
    return (LOGS / name).read_text()


def warn(host: str, message: str, time: str = "") -> str:
    return f"{time and f'[{time}] '}{host}:1:1 [0] transport/net_ib.cc:9 NCCL WARN {message}\n"


def events(timelines: Timelines) -> list[str]:
    return [error.event for _, error in first_errors(timelines)]


def test_two_ranks_in_two_files() -> None:
    result = read_timelines([("a.log", text("ib_two.rank0.log")), ("b.log", text("ib_two.rank1.log"))])
    assert [(one.rank, one.ranks, one.nodes, one.source, str(one.release)) for one in result.ranks] == [
        (0, 2, 2, "a.log", "2.28.9"),
        (1, 2, 2, "b.log", "2.28.9"),
    ]
    assert result.unknown == 0 and first_errors(result) == []
    assert result.of_rank(1) is result.ranks[1] and result.of_rank(7) is None


def test_interleaved_ranks_of_one_file_come_apart() -> None:
    """The lines of two ranks, shuffled into one another, tell of each rank what its own log tells."""
    first = text("ib_two.rank0.log").splitlines(keepends=True)
    second = [line.replace("node02", "node01x") for line in text("ib_two.rank1.log").splitlines(keepends=True)]
    order = [0] * len(first) + [1] * len(second)
    random.Random(7).shuffle(order)
    lines = [iter(first), iter(second)]
    mixed = read_timelines([("all", "".join(next(lines[which]) for which in order))])
    alone = read_timelines([("all", "".join(first)), ("all2", "".join(second))])
    assert [(one.rank, one.counts) for one in sorted(mixed.ranks, key=lambda one: one.rank or 0)] == [
        (one.rank, one.counts) for one in alone.ranks
    ]


def test_lines_of_two_ranks_glued_into_one_are_both_read() -> None:
    glued = "n1:1:1 [0] NCCL INFO Using network IBn1:2:2 [1] NCCL INFO cudaDriverVersion 13000\n"
    assert [(event.name, event.head, dict(event.groups)) for event in LogReader(glued)] == [
        ("net.used", "n1:1:1 [0]", {"net": "IB"}),
        ("driver", "n1:2:2 [1]", {"v": "13000"}),
    ]
    reader = LogReader(glued)
    list(reader)
    assert (reader.lines, reader.known) == (1, 1)


def test_equal_hosts_of_two_files_stay_two_processes() -> None:
    """Containers are all called the same and have the same pids: the file tells them apart."""
    line = "server:1:1 [0] NCCL INFO Using network IB\n"
    assert len(read_timelines([("a", line), ("b", line)]).ranks) == 2


def test_the_rank_is_that_of_the_largest_communicator() -> None:
    shape = "n1:1:1 [0] NCCL INFO comm 0x{} rank {} nRanks {} nNodes 2 localRanks 1 localRank 0 MNNVL 0\n"
    log = shape.format("1", 0, 2) + shape.format("2", 5, 8) + shape.format("3", 1, 4)
    (one,) = read_timelines([("a", log)]).ranks
    assert (one.rank, one.ranks, one.name()) == (5, 8, "rank 5")


def test_the_cause_comes_before_what_follows_from_it_whatever_was_printed_last() -> None:
    log = (
        warn("n1", "socketProgress: Connection closed by remote peer 10.0.0.2<4>", "2026-11-29 15:00:01")
        + warn("n1", FLUSH, "2026-11-29 15:00:02")
        + warn("n2", RETRY, "2026-11-29 15:00:05")
        + warn("n2", "NET/IB : mlx5_0:1 Got async error event: port error", "2026-11-29 15:00:03")
    )
    assert events(read_timelines([("a", log)])) == ["err.async", "err.cqe.old", "err.closed", "err.cqe.old"]


def test_without_times_the_line_decides() -> None:
    log = (
        warn("n1", FLUSH) + warn("n2", RETRY) + warn("n2", "Call to ibv_reg_mr failed with error Bad address errno 14")
    )
    assert events(read_timelines([("a", log)])) == ["err.cqe.old", "err.ibv", "err.cqe.old"]
    assert [error.line for _, error in first_errors(read_timelines([("a", log)]))] == [2, 3, 1]


def test_a_line_without_a_time_takes_that_of_the_line_before() -> None:
    log = warn("n2", RETRY, "2026-11-29 15:00:05") + warn("n1", RETRY, "2026-11-29 15:00:01") + warn("n1", RETRY)
    order = [(one.host if one else "", error.time[-2:]) for one, error in first_errors(read_timelines([("a", log)]))]
    assert order == [("n1", "01"), ("n1", "01"), ("n2", "05")]


def test_a_cable_that_went_down_is_the_first_error_of_its_log() -> None:
    owner, error = first_errors(read_timelines([("a", text("ib_cable_down.log"))]))[0]
    assert owner is not None and owner.rank == 0
    assert error.event == "err.async" and "port error(10)" in error.text


def test_pytorchs_lines_are_errors_of_nobody_and_follow() -> None:
    watchdog = (
        "[rank1]:[E] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1, OpType=ALLREDUCE)\n"
    )
    result = read_timelines([("a", watchdog + warn("n1", RETRY))])
    assert events(result) == ["err.cqe.old", "torch.watchdog"]
    assert first_errors(result)[1][0] is None


def test_a_version_without_a_front_belongs_to_who_spoke_last() -> None:
    log = "n1:1:1 [0] NCCL INFO Using network IB\nNCCL version 2.19.3+cuda12.2\n"
    (one,) = read_timelines([("a", log)]).ranks
    assert str(one.release) == "2.19.3"


@pytest.mark.long
def test_what_is_kept_is_bounded_and_what_came_is_counted() -> None:
    log = "".join(warn("n1", RETRY) for _ in range(1000))
    (one,) = read_timelines([("a", log)]).ranks
    assert len(one.errors) == MOST_OF_ONE <= MOST_ERRORS
    assert one.counts["err.cqe.old"] == one.counts["prefix.warn"] == 1000
    many = "".join(f"n1:{number}:1 [0] NCCL INFO Using network IB\n" for number in range(MOST_RANKS + 50))
    assert len(read_timelines([("a", many)]).ranks) == MOST_RANKS


@pytest.mark.parametrize("front", ["", "2026-11-29T15:12:36Z "])
def test_lines_that_come_by_the_thousand_are_counted_exactly(front: str) -> None:
    lines = [f"{front}n{at % 2}:{at % 2}:{at % 5} [0] NCCL INFO Using network IB\n" for at in range(997)]
    timelines = read_timelines([("a", "".join(lines))])
    assert {one.host: one.counts for one in timelines.ranks} == {"n0": {"net.used": 499}, "n1": {"net.used": 498}}
    assert all(len(one.moments) == MOST_OF_A_KIND for one in timelines.ranks)


def test_a_version_belongs_to_who_spoke_last_when_that_line_was_one_of_many() -> None:
    many = "".join("n1:1:1 [0] NCCL INFO Using network IB\n" for _ in range(2 * MOST_OF_A_KIND))
    log = f"{many}n2:2:2 [0] NCCL INFO Using network IB\nn1:1:1 [0] NCCL INFO Using network IB\nNCCL version 2.19.3\n"
    first, second = read_timelines([("a", log)]).ranks
    assert (str(first.release), second.release) == ("2.19.3", None)
