"""Typed events: numbers are numbers, what a line does not say is None, and no line breaks the making of one."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.nccl.codes import code, status_name, syndrome_name
from fabricdoc.nccl.reader import read_events
from fabricdoc.nccl.records import (
    CallFailure,
    Channel,
    ChoiceMade,
    Completion,
    Device,
    DeviceList,
    Graph,
    OutOfBand,
    Plugin,
    QueuePairFailure,
    RankSeen,
    Timeout,
    Typed,
    VariableRead,
    VersionSeen,
    Warned,
)
from fabricdoc.nccl.typed import number, record_of

pytestmark = pytest.mark.unit

LOGS = Path(__file__).parents[2] / "fixtures" / "nccl_logs"
INFO = "n1:77:78 [0] NCCL INFO "
WARN = "[2026-11-29 15:00:00] n1:77:78 [0] transport/net_ib.cc:9 NCCL WARN "


def only(line: str) -> Typed | None:
    records = [record for event in read_events(line) if not isinstance(record := record_of(event), Warned)]
    assert len(records) == 1
    return records[0]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (INFO + "NCCL version 2.28.9+cuda13.0", VersionSeen("2.28.9", "", "13.0")),
        ("NCCL version 2.19.3.alpha+cuda12.2", VersionSeen("2.19.3", ".alpha", "12.2")),
        ("INFO 11-29 [pynccl.py:103] vLLM is using nccl==2.27.3", VersionSeen("2.27.3")),
        ("# nccl-tests version 2.17.6 nccl-headers=22809 nccl-library=22903", VersionSeen("2.29.3")),
        (INFO + "NCCL_IB_TIMEOUT set by environment to 22.", VariableRead("NCCL_IB_TIMEOUT", "22")),
        (INFO + "NCCL_PROTO set by environment to LL", VariableRead("NCCL_PROTO", "LL")),
        (INFO + "NCCL_IB_HCA set to =mlx5_0", VariableRead("NCCL_IB_HCA", "=mlx5_0", "filter")),
        (INFO + "NCCL_SOCKET_IFNAME set to eth0", VariableRead("NCCL_SOCKET_IFNAME", "eth0", "filter")),
        (INFO + "Comm config maxCTAs set to 8", VariableRead("maxCTAs", "8", "communicator")),
        (
            INFO + "NET/OFI Setting NCCL_NVLS_CHUNKSIZE to 512KiB",
            VariableRead("NCCL_NVLS_CHUNKSIZE", "512KiB", "plugin"),
        ),
        (INFO + "Bootstrap: Using eth0:10.0.0.1<29500>", OutOfBand("eth0", "10.0.0.1", 29500)),
        (INFO + "Bootstrap : Using [0]eth0:10.0.0.1<0>", OutOfBand("eth0", "10.0.0.1", 0)),
        (
            INFO + "NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1:0:3/RoCE [RO]; OOB eth0:10.0.0.1<0>",
            DeviceList(
                (Device(0, "mlx5_0", 1, "RoCE"), Device(1, "mlx5_1", 1, "RoCE", 0, 3)), True, "eth0", "10.0.0.1"
            ),
        ),
        (INFO + "NET/IB : Using ; OOB eth0:10.0.0.1<0>", DeviceList((), False, "eth0", "10.0.0.1")),
        (INFO + "NET/Plugin: Could not find: libnccl-net.so", Plugin("NET", "", "none")),
        (
            INFO + "NET/Plugin: Loaded net plugin NCCL RDMA Plugin v8 (v8)",
            Plugin("NET", "NCCL RDMA Plugin v8 (v8)", "loaded"),
        ),
        (
            INFO + "Pattern 4, crossNic 0, nChannels 8, bw 3.000000/2.400000, type LOC/P2C, sameChannels 1",
            Graph(4, 8, 3.0, 2.4, "LOC", "P2C"),
        ),
        (
            INFO + "Channel 03/0 : 1[0] -> 0[0] [send] via NET/IB/1(0)/GDRDMA(PCI)/Shared",
            Channel(3, 1, 0, "NET", "IB", 1, "send", 0, True, "/GDRDMA(PCI)/Shared"),
        ),
        (
            INFO + "Ring 01 : 1 -> 0 [receive] via NET/Socket/0",
            Channel(1, 1, 0, "NET", "Socket", 0, "receive", 0, False),
        ),
        (INFO + "Channel 00/1 : 0[0] -> 1[1] via P2P/CUMEM/read", Channel(0, 0, 1, "P2P", connection=1, flags="CUMEM")),
        (INFO + "Channel 00 : 0[0] -> 1[1] via SHM/direct/direct", Channel(0, 0, 1, "SHM", flags="direct")),
        (
            INFO + "AllReduce: 20480 Bytes -> Algo RING proto LL channel{Lo..Hi}={2..5}",
            ChoiceMade("AllReduce", 20480, "RING", "LL", 4),
        ),
        (INFO + "8192 Bytes -> Algo 0 proto 2 time 17.1", ChoiceMade("", 8192, "TREE", "SIMPLE", None)),
        (
            WARN + "Call to ibv_query_gid failed with error Unknown error -1 errno -1",
            CallFailure("ibv_query_gid", "Unknown error -1", -1),
        ),
        (INFO + "comm 0x3d rank 1 nRanks 4 nNodes 2 localRanks 2 localRank 1 MNNVL 0", RankSeen("0x3d", 1, 4, "", 2)),
        (INFO + "RAS declaring peer 10.0.0.2<28028> as DEAD; hash 0x1", Timeout("10.0.0.2<28028>")),
        (
            "[rank1]:[E] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=133, OpType=ALLREDUCE, "
            "NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600032 milliseconds before timing out.",
            Timeout("rank 1", "ALLREDUCE", 133, 600000, 600032),
        ),
    ],
)
def test_a_line_and_its_record(line: str, expected: Typed) -> None:
    assert only(line) == expected


def test_a_completion_error_has_its_context() -> None:
    line = (
        WARN + "NET/IB: Got completion from peer 10.0.0.2<40000> with status=IBV_WC_RETRY_EXC_ERR(12) "
        "opcode=IBV_WC_RDMA_WRITE(1) "
        "reqSize=131072 vendor_err=129 req_type=Send localGid ::ffff:10.0.0.1 remoteGids::ffff:10.0.0.2 hca rocep1s0f0"
    )
    assert only(line) == Completion(
        12,
        "IBV_WC_RETRY_EXC_ERR",
        129,
        "ack-timeout",
        peer="10.0.0.2<40000>",
        opcode=1,
        request="Send",
        hca="rocep1s0f0",
        local_gid="::ffff:10.0.0.1",
        remote_gid="::ffff:10.0.0.2",
    )


@pytest.mark.parametrize(
    "text",
    [
        "NET/IB : Got completion with error 5, opcode 1, len 0, vendor err 249",
        "NET/IB : Got completion from peer 10.0.0.2<4> with error 5, opcode 1, len 0, vendor err 249",
        "NET/IB : Got completion from peer 10.0.0.2<4> with status=5 opcode=1 len=0 vendor err 249 (Send)",
        "NET/IB: Got completion from peer 10.0.0.2<4> with status=5 opcode=1 len=0 vendor err 249 (Recv) localGid a "
        "remoteGidsb hca mlx5_0",
        "NET/IB: Got completion from peer 10.0.0.2<4> with status=IBV_WC_WR_FLUSH_ERR(5) opcode=X(1) "
        "vendor_err=249 hca mlx5_0",
    ],
)
def test_every_releases_form_of_a_completion_error(text: str) -> None:
    found = only(WARN + text)
    assert isinstance(found, Completion)
    assert (found.status, found.status_name, found.syndrome_name) == (5, "IBV_WC_WR_FLUSH_ERR", "flushed")


def test_a_queue_pair_failure_has_errno_and_gids() -> None:
    line = next(line for line in (LOGS / "warnings.log").read_text().splitlines() if "failed with 110" in line)
    found = only(line)
    assert isinstance(found, QueuePairFailure)
    assert (found.errno, found.text, found.states, found.retrying) == (
        110,
        "Connection timed out",
        ("INIT", "RTR"),
        False,
    )
    assert found.local_gid and found.remote_gid


def test_a_warning_keeps_its_place() -> None:
    records = [record_of(event) for event in read_events(WARN + "something new")]
    assert records == [Warned("transport/net_ib.cc:9", "", "something new")]


def test_codes_that_nobody_explained_have_no_name() -> None:
    assert (status_name(12), syndrome_name(129)) == ("IBV_WC_RETRY_EXC_ERR", "ack-timeout")
    assert (status_name(99), syndrome_name(7), code("result", 2) is not None) == ("", "", True)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("12", 12), ("-1", -1), ("", None), (None, None), ("x", None), ("9" * 19, None), ("--1", None)],
)
def test_numbers(text: str | None, expected: int | None) -> None:
    assert number(text) == expected


def lines() -> list[str]:
    with (LOGS / "lines.csv").open(newline="") as stream:
        rows = [row["line"] for row in csv.DictReader(stream)]
    return rows + (LOGS / "warnings.log").read_text().splitlines()


@given(st.sampled_from(lines()), st.integers(0, 80), st.sampled_from(["", "9" * 60, "-", "\x00", "٣"]))
def test_no_cut_or_lengthened_line_breaks_it(line: str, tail: int, more: str) -> None:
    for event in read_events(line[: len(line) - tail] + more):
        record_of(event)
        assert record_of(event) == record_of(event)
