"""HCAs and channels one by one: speeds, use, GPUDirect, fused devices, and no guessed names."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabricdoc.model.documents import Unknown
from fabricdoc.model.run import Proof
from fabricdoc.nccl.paths import MOST_CHANNELS, plain
from fabricdoc.nccl.proof import read_proof

pytestmark = pytest.mark.unit

LOGS = Path(__file__).parents[2] / "fixtures" / "nccl_logs"
INFO = "n1:77:77 [0] NCCL INFO "
USING = INFO + "NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.0.0.1<0>\n"
CHANNEL = INFO + "Channel {:02d}/{} : {}[0] -> {}[0] [{}] via NET/IB/{}{}\n"


def proof_of(name: str) -> Proof:
    return read_proof((LOGS / name).read_text())


def test_the_ports_of_a_real_log_with_speed_and_use() -> None:
    for name, rank in (("ib_two.rank0.log", 0), ("ib_two.rank1.log", 1)):
        hcas = proof_of(name).hcas
        assert [(hca.rank, hca.name, hca.port, hca.gbps, hca.used, hca.gpu_direct) for hca in hcas] == [
            (rank, "rocep1s0f0", 1, 200.0, True, False),
            (rank, "roceP2p1s0f0", 1, 200.0, True, False),
        ]


def test_the_channels_of_a_real_log() -> None:
    channels = proof_of("ib_two.rank0.log").channels
    assert {(path.rank, path.peer, path.network, path.memory) for path in channels} == {(0, 1, "IB", "host-staged")}
    assert {path.over for path in channels} == {("rocep1s0f0",), ("roceP2p1s0f0",)}
    assert {path.direction for path in channels} == {"send", "receive"}
    assert {path.connection for path in channels} == {"collective"}


def test_a_fused_device_names_its_members() -> None:
    proof = proof_of("ib_four_fused.log")
    assert {path.over for path in proof.channels} == {("rocep1s0f0", "rocep1s0f1"), ("roceP2p1s0f0", "roceP2p1s0f1")}
    assert all(hca.used for hca in proof.hcas) and len(proof.hcas) == 4


def test_an_hca_that_no_channel_runs_over_is_listed_as_unused() -> None:
    proof = read_proof(USING + INFO + "Using network IB\n" + CHANNEL.format(0, 0, 1, 0, "receive", 1, ""))
    assert [(hca.name, hca.used) for hca in proof.hcas] == [("mlx5_0", False), ("mlx5_1", True)]
    assert all(isinstance(hca.gbps, Unknown) and isinstance(hca.gpu_direct, Unknown) for hca in proof.hcas)


def test_where_memory_lies_is_told_per_channel() -> None:
    log = (
        USING
        + INFO
        + "NET/IB : GPU Direct RDMA (DMABUF) enabled for HCA 1 'mlx5_1'\n"
        + INFO
        + "NET/IB : GPU Direct RDMA Enabled for HCA 0 'mlx5_0'\n"
        + CHANNEL.format(0, 0, 1, 0, "receive", 0, "/GDRDMA")
        + CHANNEL.format(1, 0, 0, 1, "send", 1, "/GDRDMA(PCI)")
        + CHANNEL.format(2, 1, 0, 1, "send", 0, "/Shared")
    )
    proof = read_proof(log, rank=3)
    told = [(path.channel, path.peer, path.direction, path.connection, path.memory) for path in proof.channels]
    assert told == [
        (0, 1, "receive", "collective", "gpu-direct"),
        (1, 1, "send", "collective", "gpu-direct-dmabuf"),
        (2, 1, "send", "point-to-point", "host-staged"),
    ]
    assert {path.rank for path in proof.channels} == {3}, "without a line of its own the caller's rank holds"
    assert [hca.gpu_direct for hca in proof.hcas] == [True, True]


def test_sockets_have_channels_and_no_hcas() -> None:
    proof = proof_of("socket_two_rails.log")
    assert proof.hcas == ()
    assert {path.over for path in proof.channels} == {("va2",), ("va3",)}
    assert {path.network for path in proof.channels} == {"Socket"}


def test_an_index_that_no_list_explains_has_no_name() -> None:
    proof = read_proof(CHANNEL.format(0, 0, 1, 0, "receive", 7, ""))
    assert [path.over for path in proof.channels] == [()]


def test_the_channels_of_the_oldest_releases() -> None:
    proof = read_proof(USING + INFO + "Using network IB\n" + INFO + "Ring 00 : 1 -> 0 [receive] via NET/IB/0/GDRDMA\n")
    assert [(path.channel, path.over, path.memory) for path in proof.channels] == [(0, ("mlx5_0",), "gpu-direct")]
    assert proof.gpu_direct is True and proof.grade == "seen"


def test_a_log_of_ever_new_channels_is_bounded_and_repeats_are_one() -> None:
    log = "".join(CHANNEL.format(number % 100, 0, number, 0, "receive", 0, "") for number in range(MOST_CHANNELS + 99))
    assert len(read_proof(log).channels) == MOST_CHANNELS
    assert len(read_proof(CHANNEL.format(0, 0, 1, 0, "receive", 0, "") * 50).channels) == 1


def test_text_taken_over_is_printable() -> None:
    assert plain("a\x1b[31mb\n") == "a?[31mb?" and len(plain("x" * 999)) == 400
