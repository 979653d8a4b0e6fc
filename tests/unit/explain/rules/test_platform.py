"""Rules of platforms: GB10's functions, LL128, NVLink SHARP; each with what only looks like it."""

from __future__ import annotations

import pytest

from fabricdoc.explain.rules.platform import forces_ll128
from tests.excerpts import links, log, told, using, version, warn

pytestmark = pytest.mark.unit

Files = dict[str, str]
GPUS = "#  Rank  0 Group  0 Pid   41 on      alpha device  0 [000f:01:00] NVIDIA {}\n"
LINKS = links(("rocep1s0f0", "ACTIVE"), ("rocep1s0f1", "DOWN"), ("roceP2p1s0f0", "ACTIVE"), ("roceP2p1s0f1", "DOWN"))


def result(size: int, busbw: float, wrong: int = 0) -> str:
    values = f"100.00  {busbw:6.2f}  {busbw:6.2f}  {wrong:5d}"
    return f"{size:12d} {size // 4:13d}     float     sum      -1  {values}  {values}\n"


SLOW = GPUS.format("GB10") + result(256 << 20, 3.1)
FAST = GPUS.format("GB10") + result(256 << 20, 22.4)
UNPINNED = {
    "links told": {"nccl_tests.txt": SLOW, "rdma_link.txt": LINKS, "nccl.env": "NCCL_SOCKET_IFNAME=enP7s7\n"},
    "benchmark alone": {"nccl_tests.txt": SLOW},
}
ONE = {
    "links told": {
        "rdma_link.txt": LINKS,
        "nccl.env": "NCCL_IB_HCA==rocep1s0f0\n",
        "nccl_tests.txt": GPUS.format("GB10") + result(256 << 20, 11.9),
    },
    "by names": {
        "nccl.env": "NCCL_IB_HCA=rocep1s0f1\n",
        "nccl_tests.txt": GPUS.format("GB10") + result(256 << 20, 11.9),
    },
    "the other function": {
        "ibdev2netdev.txt": "rocep1s0f1 port 1 ==> enp1s0f1np1 (Up)\nroceP2p1s0f1 port 1 ==> enP2p1s0f1np1 (Up)\n",
        "nccl.env": "NCCL_IB_HCA=roceP2p1s0f1\n",
    },
}
BAD = result(1 << 20, 9.0, 17) + "# Out of bounds values : 2 FAILED\n"
UNSAFE = {
    "forced": {"nccl_tests.txt": GPUS.format("GH200 480GB") + BAD, "nccl.env": "NCCL_PROTO=LL128\n"},
    "by default": {"nccl_tests.txt": GPUS.format("GH200 480GB") + BAD},
}
FORCED = {
    "by name": {"nccl_tests.txt": GPUS.format("L40S") + BAD, "nccl.env": "NCCL_PROTO=LL128\n"},
    "by exclusion": {"nccl_tests.txt": GPUS.format("L40S") + BAD, "nccl.env": "NCCL_PROTO=^LL\n"},
}
AVAILABLE = "NVLS multicast support is available on dev 0 (NVLS_NCHANNELS 16)"
STATE = {
    "401": {
        "a.log": log(
            "alpha",
            AVAILABLE,
            warn("transport/nvls.cc:254", "Cuda failure 401 'the operation cannot be performed in the present state'"),
        )
    },
    "802": {"a.log": log("alpha", warn("transport/nvls.cc:200", "Cuda failure 802 'system not yet initialized'"))},
    "newer words": {
        "a.log": log(
            "alpha",
            warn(
                "transport/nvls.cc:300",
                "Failed to bind NVLink SHARP (NVLS) Multicast memory of size 2097152 : CUDA error 401 "
                "'the operation cannot be performed in the present state'.",
            ),
        )
    },
}
STATE["another bind failure"] = {
    "a.log": log(
        "alpha",
        warn(
            "transport/nvls.cc:300",
            "Failed to bind NVLink SHARP (NVLS) Multicast memory of size 2097152 : CUDA error 2 'out of memory'. "
            "This is usually caused by a system or configuration error in the Fabric Manager or NVSwitches.",
        ),
    )
}
REFUSED = {
    "not permitted": {
        "a.log": log("alpha", AVAILABLE, warn("transport/nvls.cc:169", "Cuda failure 800 'operation not permitted'"))
    },
    "invalid argument": {
        "a.log": log("alpha", AVAILABLE, warn("transport/nvls.cc:251", "Cuda failure 1 'invalid argument'")),
        "cmd.txt": "docker run --gpus all server\n",
    },
}


def rows(table: dict[str, Files]) -> list[object]:
    return [pytest.param(files, id=name) for name, files in table.items()]


@pytest.mark.parametrize("files", rows(UNPINNED))
def test_an_unpinned_path_that_is_slow_is_told(files: Files) -> None:
    assert told(files).verdict == "rdma-path-not-pinned"


def test_both_functions_are_in_the_fix() -> None:
    assert any("NCCL_IB_HCA=rocep1s0f0,roceP2p1s0f0" in line for line in told(UNPINNED["links told"]).findings[0].fix)


def test_a_fast_path_needs_no_pin() -> None:
    assert told({"nccl_tests.txt": FAST, "rdma_link.txt": LINKS}).verdict == "none"


def test_slow_small_messages_say_nothing() -> None:
    assert (
        told({"nccl_tests.txt": GPUS.format("GB10") + result(1 << 20, 2.1), "rdma_link.txt": LINKS}).verdict == "none"
    )


@pytest.mark.parametrize("files", rows(ONE))
def test_one_function_of_two_is_told(files: Files) -> None:
    assert told(files).verdict == "gb10-one-function-of-port-used"


def test_both_functions_are_nothing_wrong() -> None:
    files = {"rdma_link.txt": LINKS, "nccl.env": "NCCL_IB_HCA==rocep1s0f0,roceP2p1s0f0\n", "nccl_tests.txt": FAST}
    assert told(files).verdict == "none"


@pytest.mark.parametrize("files", rows(UNSAFE))
def test_wrong_values_over_c2c_are_told(files: Files) -> None:
    assert told(files).verdict == "ll128-unsafe-on-path"


def test_wrong_values_without_ll128_are_not_explained_by_it() -> None:
    files = {"nccl_tests.txt": GPUS.format("GH200 480GB") + BAD, "nccl.env": "NCCL_PROTO=LL,Simple\n"}
    document = told(files)
    assert document.verdict == "unknown"
    assert "ll128-unsafe-on-path" in [one.id for one in document.considered]


@pytest.mark.parametrize("files", rows(FORCED))
def test_wrong_values_with_forced_ll128_are_told(files: Files) -> None:
    assert told(files).verdict == "ll128-forced-on-unsupported-path"


def test_forced_ll128_with_right_values_is_nothing_wrong_here() -> None:
    assert (
        told({"nccl_tests.txt": GPUS.format("L40S") + result(1 << 20, 9.0), "nccl.env": "NCCL_PROTO=LL128\n"}).verdict
        == "none"
    )


@pytest.mark.parametrize(
    ("value", "forced"),
    [
        ("LL128", True), ("ll,ll128", True), ("^LL", True), ("^Simple", True), ("allreduce:ll128", True),
        ("^LL128", False), ("^ll,ll128", False), ("LL,Simple", False), ("Simple", False), ("", False),
        ("allreduce:ll;broadcast:^ll", True),
    ],
)  # fmt: skip
def test_what_turns_ll128_on(value: str, forced: bool) -> None:
    assert forces_ll128(value) is forced


@pytest.mark.parametrize("files", rows(STATE))
def test_a_fabric_in_no_state_is_told(files: Files) -> None:
    assert told(files).verdict == "nvls-fabric-manager-state"


@pytest.mark.parametrize("files", rows(REFUSED))
def test_multicast_that_is_refused_is_told(files: Files) -> None:
    assert told(files).verdict == "nvls-multicast-not-permitted-in-container"


def test_another_cuda_failure_is_no_multicast() -> None:
    line = warn("enqueue.cc:100", "Cuda failure 401 'the operation cannot be performed in the present state'")
    assert told({"a.log": log("alpha", version("2.26.2"), line)}).verdict == "unknown"


def test_multicast_that_works_is_nothing_wrong() -> None:
    assert told({"a.log": log("alpha", AVAILABLE, using("mlx5_0"), "Using network IB")}).verdict == "none"


NOT_READY = "alpha: Test CUDA failure common.cu:941 'system not yet initialized'\n"
NVLS = warn("transport/nvls.cc:244", "Cuda failure 1 'invalid argument'")
JOURNAL = "Oct 18 21:10:04 alpha systemd[1]: Stopped NVIDIA fabric manager service.\n"


def test_cuda_that_waits_for_the_fabric_is_told() -> None:
    assert told({"run.txt": NOT_READY}).verdict == "nvls-fabric-manager-state"


def test_another_program_that_is_not_ready_is_nothing_of_cuda() -> None:
    files = {"run.txt": "scheduler: system not yet initialized, waiting\n", "a.log": log("alpha", version("2.27.5"))}
    assert told(files).verdict == "none"


def test_multicast_that_fails_after_fabric_manager_was_stopped_is_its_fault() -> None:
    assert told({"a.log": log("alpha", NVLS), "journal.txt": JOURNAL}).verdict == "nvls-fabric-manager-state"


def test_multicast_that_is_refused_in_a_container_is_not() -> None:
    denied = warn("transport/nvls.cc:196", "Cuda failure 800 'operation not permitted'")
    document = told({"a.log": log("alpha", denied), "journal.txt": JOURNAL, "run.sh": "docker run --gpus all x\n"})
    assert document.verdict == "nvls-multicast-not-permitted-in-container"


@pytest.mark.parametrize(("node", "told_of"), [("alpha", True), ("bravo", False)])
def test_a_list_is_held_against_its_own_nodes_cage(node: str, told_of: bool) -> None:
    files = {
        f"{node}.env": "NCCL_IB_HCA==rocep1s0f1\n",
        "alpha_rdma_link.txt": links(("rocep1s0f1", "ACTIVE"), ("roceP2p1s0f1", "ACTIVE")),
        "bravo_rdma_link.txt": links(("rocep1s0f1", "ACTIVE")),
    }
    assert (told(files).verdict == "gb10-one-function-of-port-used") is told_of
