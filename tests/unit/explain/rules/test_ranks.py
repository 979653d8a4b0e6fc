"""Rules of ranks against each other: versions, plugins, settings, hosts and GPUs; each with what only looks like it."""

from __future__ import annotations

import pytest

from tests.excerpts import bare, log, told, using, version, warn

pytestmark = pytest.mark.unit

Files = dict[str, str]
IB, SOCKETS = "Using network IB", "Using network Socket"
SHAPE = "comm 0x55 rank {} nRanks {} nNodes {} localRanks 1 localRank 0 MNNVL 0"
INIT = "ncclCommInitRank comm 0x55 rank {} nranks 2 cudaDev 0 nvmlDev 0 busId 1a000 commId 0x9 - Init START"
HANG = (
    "[rank0]:[E1130 10:00:00.0 ProcessGroupNCCL.cpp:632] [Rank 0] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=7, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) "
    "ran for 600012 milliseconds before timing out."
)

VERSIONS = {
    "banners": {
        "alpha.log": log("alpha", bare("NCCL version 2.21.5+cuda12.4"), SOCKETS),
        "bravo.log": log("bravo", version("2.19.3"), SOCKETS),
    },
    "NCCL says so": {
        "a.log": log(
            "alpha", warn("init.cc:1", "Mismatched NCCL version detected : rank 0 version 22807 rank 1 version 22809")
        )
    },
    "engines": {
        "alpha.log": "INFO pynccl.py:111] vLLM is using nccl==2.27.5\n",
        "bravo.log": "INFO pynccl.py:111] vLLM is using nccl==2.28.9\n",
    },
    "bare banners in one log": {
        "all.log": log("alpha", bare("NCCL version 2.19.3+cuda12.1"), SOCKETS)
        + log("bravo", bare("NCCL version 2.21.5+cuda12.4"), SOCKETS)
    },
    "one interleaved log": {"all.log": log("alpha", version("2.27.5"), IB) + log("bravo", version("2.28.9"), IB)},
}
PLUGINS = {
    "one has HPC-X": {
        "alpha.log": log("alpha", "Using network IBext_v8"),
        "bravo.log": log("bravo", "NET/Plugin: Could not find: libnccl-net.so.", IB),
    },
    "one loads, the other has not come so far": {
        "alpha.log": log("alpha", "NET/Plugin: Loaded net plugin NCCL RDMA Plugin v8 (v8)", "P2P plugin IBext_v8"),
        "bravo.log": log("bravo", "NET/Plugin: Could not find: libnccl-net.so. Using internal network plugin."),
    },
    "libfabric and sockets": {
        "alpha.log": log("alpha", "Using network AWS Libfabric"),
        "bravo.log": log("bravo", SOCKETS),
    },
    "RDMA and sockets": {"alpha.log": log("alpha", using("mlx5_0"), IB), "bravo.log": log("bravo", SOCKETS)},
}
OFI = {
    "old words": {
        "a.log": log("alpha", warn("get_ofi_provider:312", "NET/OFI Could not find any optimal provider"), SOCKETS)
    },
    "newer words": {
        "a.log": log("alpha", warn("nccl_ofi_net.c:1", "NET/OFI No eligible providers were found"), SOCKETS)
    },
}
TRUNCATED = warn(
    "net_socket.cc:500",
    "NET/Socket : peer 10.1.0.6<40000> message truncated : receiving 524288 bytes instead of 65536. ",
)
SETTINGS = {
    "logs": {
        "alpha.log": log("alpha", "NCCL_PROTO set by environment to LL", SOCKETS, TRUNCATED),
        "bravo.log": log("bravo", "NCCL_PROTO set by environment to Simple", SOCKETS),
    },
    "env files": {
        "alpha.env": "NCCL_ALGO=allreduce:ring\nNCCL_IB_HCA=mlx5_0\n",
        "bravo.env": "NCCL_ALGO=allreduce:tree\nNCCL_IB_HCA=mlx5_1\n",
        "alpha.log": log("alpha", IB, TRUNCATED),
    },
    "set on one only": {
        "alpha.log": log("alpha", "NCCL_BUFFSIZE set by environment to 1048576.", SOCKETS, TRUNCATED),
        "bravo.log": log("bravo", "NCCL_DEBUG set by environment to INFO", SOCKETS),
    },
    "set on one only, over RDMA": {
        "alpha.log": log("alpha", "NCCL_ALGO set by environment to Ring", IB),
        "bravo.log": log(
            "bravo",
            IB,
            warn("net_ib.cc:1", "NET/IB : req 0/0 tag 0 peer 10.1.0.5<1> collective mismatch error, local size 1"),
        ),
    },
    "calls that NCCL compared": {
        "a.log": log("alpha", warn("init.cc:1247", "Mismatched collective detected, please check your calls at rank 3"))
    },
    "calls that RAS counted": {
        "ras.txt": "Communicator ranks have different AllReduce operation counts\n  7 ranks are at operation 40\n",
        "a.log": log("alpha", IB) + HANG + "\n",
    },
    "sizes alone": {"a.log": log("alpha", SOCKETS, TRUNCATED)},
}
IDENTITY = {
    "peer copies between hosts": {
        "alpha.log": log("alpha", INIT.format(0), "Channel 00/0 : 0[0] -> 1[0] via P2P/IPC"),
        "bravo.log": log("bravo", INIT.format(1)),
    },
    "one node counted": {
        "alpha.log": log("alpha", SHAPE.format(0, 2, 1)),
        "bravo.log": log("bravo", SHAPE.format(1, 2, 1)),
    },
    "the old dialect": {
        "n.east.log": "n:11:12 [0] INFO Ring 00 : 0[0] -> 1[1] via P2P/IPC\n",
        "n.west.log": "n:21:22 [1] INFO Ring 00 : 1[1] -> 0[0] via P2P/IPC\n",
    },
}
DOUBLE = warn("init.cc:800", "Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1a000")


def rows(table: dict[str, Files]) -> list[object]:
    return [pytest.param(files, id=name) for name, files in table.items()]


@pytest.mark.parametrize("files", rows(VERSIONS))
def test_two_releases_are_told(files: Files) -> None:
    assert told(files).verdict == "nccl-version-mismatch"


def test_the_releases_are_named() -> None:
    assert "2.28.7 and 2.28.9" in told(VERSIONS["NCCL says so"]).findings[0].cause


def test_one_release_in_two_builds_is_no_mismatch() -> None:
    files = {
        "alpha.log": log("alpha", version("2.28.9"), IB),
        "bravo.log": log("bravo", "NCCL version 2.28.9+cuda13.0", IB),
    }
    assert told(files).verdict == "none"


@pytest.mark.parametrize("files", rows(PLUGINS))
def test_different_networks_are_told(files: Files) -> None:
    assert told(files).verdict == "net-plugin-mismatch-between-nodes"


def test_one_plugin_everywhere_is_nothing_wrong() -> None:
    files = {"alpha.log": log("alpha", "Using network IBext_v8"), "bravo.log": log("bravo", "Using network IBext_v8")}
    assert told(files).verdict == "none"


@pytest.mark.parametrize("files", rows(OFI))
def test_libfabric_without_a_provider_is_told(files: Files) -> None:
    document = told(files | {"b.log": log("alpha", warn("ibvwrap.cc:63", "Failed to open libibverbs.so[.1]"))})
    assert document.verdict == "ofi-no-usable-provider"
    assert "libibverbs-missing" in [one.id for one in document.considered]


def test_libfabric_over_tcp_lacks_the_fabrics_provider() -> None:
    lines = (
        "NET/OFI Selected Provider is tcp (found 1 nics)",
        warn("ofi.c:9", "NET/OFI Disabling shared memory failed"),
    )
    assert told({"a.log": log("alpha", *lines)}).findings[0].severity == "error"
    document = told({"a.log": log("alpha", lines[0], "Using network AWS Libfabric")})
    assert (document.verdict, document.findings[0].severity) == ("ofi-no-usable-provider", "warning")


def test_libfabric_with_a_provider_is_nothing_wrong() -> None:
    lines = ("NET/OFI Selected Provider is efa (found 4 nics)", "Using network AWS Libfabric")
    assert told({"a.log": log("alpha", *lines)}).verdict == "none"


@pytest.mark.parametrize("files", rows(SETTINGS))
def test_settings_that_differ_are_told(files: Files) -> None:
    assert told(files).verdict == "env-differs-between-ranks"


def test_settings_that_may_differ_are_nothing_wrong() -> None:
    files = {
        "alpha.log": log("alpha", "NCCL_SOCKET_IFNAME set by environment to eno1", SOCKETS),
        "bravo.log": log("bravo", "NCCL_SOCKET_IFNAME set by environment to eno2", SOCKETS),
    }
    assert told(files).verdict == "none"


@pytest.mark.parametrize("files", rows(IDENTITY))
def test_two_hosts_that_look_like_one_are_told(files: Files) -> None:
    assert told(files).verdict == "host-identity-collision"


def test_peer_copies_within_a_host_are_nothing_wrong() -> None:
    lines = (INIT.format(0), "Channel 00/0 : 0[0] -> 1[1] via P2P/IPC")
    assert told({"a.log": log("alpha", *lines) + log("alpha", INIT.format(1), gpu=1, pid=99)}).verdict == "none"


def test_two_nodes_counted_are_two() -> None:
    files = {"alpha.log": log("alpha", SHAPE.format(0, 2, 2)), "bravo.log": log("bravo", SHAPE.format(1, 2, 2))}
    assert told(files).verdict == "none"


def test_a_shared_gpu_is_told() -> None:
    document = told({"a.log": log("alpha", version("2.27.5"), DOUBLE)})
    assert document.verdict == "ranks-share-one-gpu"
    assert "1a000" in document.findings[0].cause


def test_a_gpu_shared_between_hosts_is_another_cause() -> None:
    files = {"alpha.log": log("alpha", version("2.27.5"), DOUBLE), "bravo.log": log("bravo", version("2.27.5"), DOUBLE)}
    document = told(files)
    assert document.verdict == "host-identity-collision"
    assert "ranks-share-one-gpu" in [one.id for one in document.considered]


def test_a_hang_of_a_known_build_with_graphs_is_told() -> None:
    text = log("alpha", version("2.28.9"), IB) + "INFO Capturing CUDA graph shapes\n" + HANG + "\n"
    assert told({"a.log": text}).verdict == "nccl-build-specific-hang"


def test_a_hang_of_another_build_is_not_explained() -> None:
    text = log("alpha", version("2.30.7"), IB) + HANG + "\n"
    assert told({"a.log": text}).verdict == "unknown"


def test_two_builds_of_which_one_hangs_are_told() -> None:
    notes = "nccl 2.29.2 (wheel): hangs at the third step\nnccl 2.29.3 (wheel): works, 4 h without a hang\n"
    files = {"alpha.log": log("alpha", version("2.29.2"), IB) + HANG + "\n", "builds.txt": notes}
    assert told(files).verdict == "nccl-build-specific-hang"


def test_a_hang_and_two_builds_of_one_release_are_told() -> None:
    wait = "No available shared memory broadcast block found in 60 seconds. This may be due to a hang.\n"
    builds = "wheel: libnccl.so.2 Build ID: a7f420a1\npackage: libnccl.so.2 Build ID: c0db9360\n"
    files = {"alpha.log": log("alpha", version("2.29.2"), IB) + wait, "builds.txt": builds}
    assert told(files).verdict == "nccl-build-specific-hang"


def test_two_builds_without_a_hang_are_nothing_wrong() -> None:
    builds = "nvidia-nccl-cu13==2.28.9\nlibnccl2 2.28.9-1+cuda13.0\n"
    assert told({"alpha.log": log("alpha", version("2.29.2"), IB), "builds.txt": builds}).verdict == "none"


def test_an_engine_and_its_remote_worker_with_two_releases_are_told() -> None:
    says = "INFO pynccl.py:65] vLLM is using nccl=={}\n"
    text = says.format("2.20.5") + "(RayWorkerWrapper pid=402, ip=10.6.0.12) " + says.format("2.18.3")
    assert told({"ray.log": text + log("alpha", version("2.20.5"), SOCKETS)}).verdict == "nccl-version-mismatch"


def test_an_engine_and_its_remote_worker_with_one_release_are_nothing_wrong() -> None:
    says = "INFO pynccl.py:65] vLLM is using nccl==2.20.5\n"
    text = says + "(RayWorkerWrapper pid=402, ip=10.6.0.12) " + says
    assert told({"ray.log": text + log("alpha", version("2.20.5"), SOCKETS)}).verdict == "none"


RUN = "ncclCommInitRank comm 0x55 rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 1a000 commId 0x9 - Init COMPLETE"


def test_two_runs_of_a_rank_of_which_one_hangs_are_two_builds() -> None:
    files = {
        "hang.log": log("alpha", version("2.29.2"), IB, RUN) + HANG + "\n",
        "ok.log": log("alpha", version("2.29.3"), IB, RUN),
    }
    document = told(files)
    assert document.verdict == "nccl-build-specific-hang"
    assert "nccl-version-mismatch" in [one.id for one in document.considered]


def test_two_runs_that_both_hang_are_no_build() -> None:
    files = {
        "a.log": log("alpha", version("2.29.2"), IB, RUN) + HANG + "\n",
        "b.log": log("alpha", version("2.29.3"), IB, RUN) + HANG + "\n",
    }
    assert told(files).verdict == "unknown"


def test_notes_of_a_deadlock_and_a_build_without_it_are_told() -> None:
    notes = "NCCL 2.31.2: 7+8 ranks deadlock (3/3)\nNCCL 2.30.7: 7+8 works on the same nodes\n"
    files = {"a.log": log("alpha", version("2.31.2"), IB), "notes.txt": notes}
    assert told(files).verdict == "nccl-build-specific-hang"


IPC = warn("transport/p2p.cu:526", "failed to open CUDA IPC handle : 30 unknown error")
USING = "NET : Using interface eth2:{}<0>"


def test_one_host_name_with_two_addresses_is_two_machines() -> None:
    text = log("gpu-server", USING.format("10.12.0.3")) + log("gpu-server", USING.format("10.12.0.4"), IPC, pid=7)
    assert told({"mpi.txt": text}).verdict == "host-identity-collision"


def test_one_host_name_with_one_address_is_one_machine() -> None:
    text = log("gpu-server", USING.format("10.12.0.3")) + log("gpu-server", USING.format("10.12.0.3"), IPC, pid=7)
    assert told({"mpi.txt": text}).verdict == "unknown"


def test_torchs_comparison_of_calls_is_told() -> None:
    line = (
        "[rank0]: RuntimeError: Detected mismatch between collectives on ranks. Rank 0 is running collective: "
        "CollectiveFingerPrint(SequenceNumber=47, OpType=ALLGATHER), but Rank 3 is running collective: ALLREDUCE\n"
    )
    assert told({"a.log": line}).verdict == "env-differs-between-ranks"


def test_one_host_name_with_two_addresses_counted_as_one_node_is_two_machines() -> None:
    first = log("vm", "Bootstrap: Using eth0:10.30.1.4<0>", SHAPE.format(0, 2, 1))
    second = log("vm", "Bootstrap: Using eth0:10.30.1.5<0>", SHAPE.format(1, 2, 1), pid=9)
    assert told({"all.log": first + second}).verdict == "host-identity-collision"


def test_one_host_name_with_two_addresses_counted_as_two_nodes_is_nothing_wrong() -> None:
    first = log("vm", "Bootstrap: Using eth0:10.30.1.4<0>", SHAPE.format(0, 2, 2))
    second = log("vm", "Bootstrap: Using eth0:10.30.1.5<0>", SHAPE.format(1, 2, 2), pid=9)
    assert told({"all.log": first + second}).verdict == "none"


TABLE_BEGUN = "#       size         count\n#        (B)    (elements)\n"
RESULT = "  1073741824  268435456  float  sum  -1  134000  8.01  12.01  0  134100  8.01  12.01  0\n"


def test_a_table_that_one_of_two_builds_never_fills_is_a_hang_of_that_build() -> None:
    files = {
        "bad.log": log("alpha", version("2.28.9"), IB, RUN) + TABLE_BEGUN,
        "good.log": log("alpha", version("2.27.7"), IB, RUN) + TABLE_BEGUN + RESULT,
    }
    document = told(files)
    assert document.verdict == "nccl-build-specific-hang"
    assert document.findings[0].evidence[0].file == "bad.log"


def test_tables_that_both_builds_fill_are_nothing_wrong() -> None:
    files = {
        "a.log": log("alpha", version("2.28.9"), IB, RUN) + TABLE_BEGUN + RESULT,
        "b.log": log("alpha", version("2.27.7"), IB, RUN) + TABLE_BEGUN + RESULT,
    }
    assert told(files).verdict == "none"


BISECTED = "| NCCL | result |\n|---|---|\n| 2.28.9 | deadlock |\n| 2.29.3 | no deadlock (2/2) |\n"


def test_a_table_of_builds_that_hang_and_do_not_is_told() -> None:
    document = told({"a.log": log("alpha", version("2.28.9"), IB, RUN), "notes.md": BISECTED})
    assert document.verdict == "nccl-build-specific-hang"


def test_a_table_of_speeds_by_build_tells_no_hang() -> None:
    notes = "| NCCL | GB/s |\n|---|---|\n| 2.28.9 | 11.2 |\n| 2.29.3 | 11.3 |\n"
    assert told({"a.log": log("alpha", version("2.28.9"), IB, RUN), "notes.md": notes}).verdict == "none"


def test_words_of_a_run_without_output_are_a_hang_of_the_build_that_the_other_run_does_not_use() -> None:
    files = {
        "run1.log": log("alpha", version("2.28.9"), IB, RUN) + "no output for 40 minutes, killed\n",
        "run2.log": log("alpha", version("2.30.7"), IB, RUN) + "step 20000 done\n",
    }
    assert told(files).verdict == "nccl-build-specific-hang"


CALLS = (
    "[rank{rank}]:[E1010 10:10:10.0 ProcessGroupNCCL.cpp:632] [{group}Rank {rank}] Watchdog caught collective "
    "operation timeout: WorkNCCL(SeqNum={seq}, OpType={op}, NumelIn=16, NumelOut=16, Timeout(ms)=600000) ran for 9 "
    "milliseconds before timing out.\n"
)


def _calls(*ranks: tuple[str, int, str]) -> Files:
    """What every rank's watchdog says: (group, place in the sequence, collective)."""
    return {
        f"r{at}.log": CALLS.format(rank=at, group=group, seq=seq, op=op) for at, (group, seq, op) in enumerate(ranks)
    }


def test_ranks_that_wait_in_other_collectives_at_one_place_differ() -> None:
    document = told(_calls(("", 88, "ALLREDUCE"), ("", 88, "BROADCAST")))
    assert document.verdict == "env-differs-between-ranks"
    assert [one.file for one in document.findings[0].evidence] == ["r0.log", "r1.log"]


@pytest.mark.parametrize(
    "ranks",
    [
        (("", 88, "ALLREDUCE"), ("", 88, "ALLREDUCE")),
        (("", 88, "ALLREDUCE"), ("", 89, "BROADCAST")),
        (("PG ID 0 PG GUID 0(default_pg) ", 5, "ALLREDUCE"), ("PG ID 2 PG GUID 7(tp) ", 5, "BROADCAST")),
    ],
)
def test_ranks_of_other_places_or_groups_do_not(ranks: tuple[tuple[str, int, str], ...]) -> None:
    assert told(_calls(*ranks)).verdict == "unknown"


def test_a_protocol_that_one_of_two_stuck_logs_does_not_name_differs() -> None:
    first = log("alpha", "NCCL_PROTO set by environment to LL128", RUN)
    second = log("bravo", RUN.replace("rank 0", "rank 1"))
    document = told({"alpha.log": first, "bravo.log": second + HANG + "\n"})
    assert document.verdict == "env-differs-between-ranks"
    assert told({"alpha.log": first, "bravo.log": second}).verdict != "env-differs-between-ranks"


@pytest.mark.parametrize(
    ("name", "end", "verdict"),
    [
        ("NCCL_CROSS_NIC", HANG, "env-differs-between-ranks"),
        ("NCCL_CROSS_NIC", "done", "none"),
        ("NCCL_SOCKET_NTHREADS", HANG, "unknown"),
    ],
)
def test_a_setting_of_unknown_weight_that_differs_may_be_why_a_run_hangs(name: str, end: str, verdict: str) -> None:
    first = log("alpha", f"{name} set by environment to 0.", RUN)
    second = log("bravo", f"{name} set by environment to 1.", RUN.replace("rank 0", "rank 1"))
    document = told({"alpha.log": first, "bravo.log": second + end + "\n"})
    assert document.verdict == verdict
    if verdict not in ("none", "unknown"):
        assert document.findings[0].confidence == "possible"
