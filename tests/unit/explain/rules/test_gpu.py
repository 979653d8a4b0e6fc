"""Rules of GPUs, memory and processes: what ended a rank; each with what only looks like it."""

from __future__ import annotations

import pytest

from fabricdoc.explain.rules import all_rules
from tests.excerpts import completion, log, told, using, version, warn

pytestmark = pytest.mark.unit

Files = dict[str, str]
LOST = log("alpha", version("2.28.9"), using("mlx5_0"), "Using network IB", completion(12))
KILLED = "[ 881.2] Out of memory: Killed process 4711 (python3) total-vm:1kB, anon-rss:2kB\n"
XID = "[ 881.2] NVRM: Xid (PCI:0000:41:00): {}, pid=4711, name=python3, Ch 00000008\n"


def cuda(failure: str) -> str:
    return log("alpha", version("2.27.5"), warn("init.cc:400", f"Cuda failure {failure}"))


def test_a_killed_process_is_told() -> None:
    document = told({"a.log": LOST, "bravo_dmesg.txt": KILLED})
    assert document.verdict == "oom-killed"
    assert document.findings[0].subject == "bravo"
    assert "rdma-path-timeout" in [one.id for one in document.considered]


def test_a_killed_process_beside_a_healthy_run_is_only_considered() -> None:
    document = told({"a.log": log("alpha", "Using network IB", "Connected all rings"), "bravo_dmesg.txt": KILLED})
    assert document.verdict == "none"
    assert [one.id for one in document.considered] == ["oom-killed"]


def test_an_xid_is_told() -> None:
    document = told({"a.log": LOST, "alpha_dmesg.txt": XID.format(79)})
    assert document.verdict == "gpu-xid"
    assert "Xid 79" in document.findings[0].cause


def test_an_xid_of_a_programs_end_is_no_cause() -> None:
    assert told({"a.log": LOST, "alpha_dmesg.txt": XID.format(43)}).verdict == "rdma-path-timeout"


@pytest.mark.parametrize("failure", ["2 'out of memory'", "'out of memory'"])
def test_gpu_memory_that_is_gone_is_told(failure: str) -> None:
    assert told({"a.log": cuda(failure)}).verdict == "gpu-memory-exhausted"


def test_another_cuda_failure_is_not_memory() -> None:
    assert told({"a.log": cuda("700 'an illegal memory access was encountered'")}).verdict == "unknown"


@pytest.mark.parametrize(
    "failure", ["209 'no kernel image is available for execution'", "98 'invalid device function'"]
)
def test_a_library_without_code_for_the_gpu_is_told(failure: str) -> None:
    assert told({"a.log": cuda(failure)}).verdict == "nccl-without-gpu-code"


def test_an_engines_own_missing_code_is_only_considered() -> None:
    document = told({"a.log": "RuntimeError: CUDA error: no kernel image is available for execution on the device\n"})
    assert document.verdict != "nccl-without-gpu-code"


@pytest.mark.parametrize(
    "line",
    [
        "torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 1/2 clients joined.",
        "[W socket.cpp] [c10d] The client socket has timed out after 60s while trying to connect to (10.1.0.5, 29500).",
    ],
)
def test_ranks_that_did_not_meet_are_told(line: str) -> None:
    document = told({"bravo.log": f"{line}\n", "bravo.env": "MASTER_ADDR=10.1.0.5\n"})
    assert document.verdict == "rendezvous-not-reached"
    assert any("nc -vz 10.1.0.5" in fix for fix in document.findings[0].fix)


def test_ranks_that_came_to_nccl_had_met() -> None:
    line = (
        "[W socket.cpp:663] [c10d] The client socket has timed out after 60s while trying to connect to (x, 29500).\n"
    )
    assert told({"a.log": LOST + line}).verdict == "rdma-path-timeout"


def test_every_rule_answers_an_empty_case() -> None:
    from tests.excerpts import case

    empty = case({})
    assert [id for id, rule in all_rules().items() if rule(empty) is not None] == []
