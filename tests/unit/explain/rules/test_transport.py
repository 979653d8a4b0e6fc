"""Rules of connections between HCAs: who does not reach whom, and why; each with what only looks like it."""

from __future__ import annotations

import pytest

from tests.excerpts import addresses, bare, completion, gids, log, modify_qp, told, using, version, warn

pytestmark = pytest.mark.unit

Files = dict[str, str]
IB = "Using network IB"
TWO_RAILS = gids(("mlx5_0", 3, "10.1.0.5", "v2"), ("mlx5_1", 3, "10.2.0.5", "v2"))
TIMED_OUT = (110, "Connection timed out")


def pair(hca: str, local: str, remote: str, errno: int = 110) -> str:
    return modify_qp(errno, "Connection timed out", hca, f"::ffff:{local}", f"::ffff:{remote}")


LOW = {
    "retry count": {"a.log": log("alpha", "NCCL_IB_RETRY_CNT set by environment to 1.", IB, completion(12))},
    "time, in the env file": {"a.log": log("alpha", IB, completion(12)), "nccl.env": "NCCL_IB_TIMEOUT=5\n"},
    "the oldest words": {
        "a.log": log(
            "alpha",
            "NCCL_IB_TIMEOUT set by environment to 2.",
            IB,
            warn("transport/net_ib.cc:839", "NET/IB : Got completion with error 12, opcode 0, len 0, vendor err 129"),
        )
    },
}
PATH = {
    "completion": {"a.log": log("alpha", version("2.21.5"), IB, completion(12))},
    "queue pair": {"a.log": log("alpha", version("2.28.9"), IB, pair("mlx5_0", "10.1.0.5", "10.1.0.6"))},
    "the old words": {
        "a.log": log(
            "alpha",
            version("2.16.2"),
            IB,
            warn("misc/ibvwrap.cc:160", "Call to ibv_modify_qp failed with error Connection timed out"),
        )
    },
    "with flushed ones": {"a.log": log("alpha", IB, completion(5, 249), completion(12))},
}
INTRA = {
    "both are mine": {"a.log": log("alpha", IB, pair("mlx5_0", "10.1.0.5", "10.2.0.5")), "show_gids.txt": TWO_RAILS},
    "completion": {
        "a.log": log("alpha", IB, completion(12, local="::ffff:10.1.0.5", remote="::ffff:10.2.0.5", hca="mlx5_0")),
        "show_gids.txt": TWO_RAILS,
    },
}
CROSSED = {
    "with the table": {"a.log": log("alpha", IB, pair("mlx5_0", "10.1.0.5", "10.2.0.6")), "show_gids.txt": TWO_RAILS},
    "log alone": {
        "a.log": log(
            "alpha",
            "NCCL_CROSS_NIC set by environment to 1.",
            using("mlx5_0", "mlx5_1"),
            "NCCL_IB_HCA set to =mlx5_0,mlx5_1",
            IB,
            pair("mlx5_0", "10.1.0.5", "10.2.0.6"),
        )
    },
    "a completion": {
        "a.log": log("alpha", IB, completion(12, local="::ffff:10.1.0.5", remote="::ffff:10.2.0.6", hca="mlx5_0")),
        "show_gids.txt": TWO_RAILS,
    },
}
SICK = {
    "event": {
        "a.log": log(
            "alpha",
            IB,
            warn("transport/net_ib.cc:219", "NET/IB : mlx5_0:1 async fatal event: local catastrophic error"),
            completion(12),
        )
    },
    "kernel": {
        "a.log": log("alpha", IB, completion(12)),
        "alpha_dmesg.txt": "[ 99.1] mlx5_core 0000:17:00.0: mlx5_health_try_recover:330: health compromised\n",
    },
}


def rows(table: dict[str, Files]) -> list[object]:
    return [pytest.param(files, id=name) for name, files in table.items()]


@pytest.mark.parametrize("files", rows(LOW))
def test_too_little_time_is_told(files: Files) -> None:
    document = told(files)
    assert document.verdict == "ib-timeout-or-retry-too-low"
    assert "rdma-path-timeout" in [one.id for one in document.considered]


def test_a_usual_time_is_not_too_little() -> None:
    files = {"a.log": log("alpha", "NCCL_IB_TIMEOUT set by environment to 22.", IB, completion(12))}
    assert told(files).verdict == "rdma-path-timeout"


@pytest.mark.parametrize("files", rows(PATH))
def test_no_answer_is_told(files: Files) -> None:
    document = told(files)
    assert document.verdict == "rdma-path-timeout"
    assert document.findings[0].confidence == "likely"
    assert document.collect


def test_flushed_work_follows_another_error() -> None:
    text = told(PATH["with flushed ones"]).findings[0].evidence[0].text
    assert "status=12" in text


def test_flushed_work_alone_decides_nothing() -> None:
    assert told({"a.log": log("alpha", IB, completion(5, 249))}).verdict == "unknown"


@pytest.mark.parametrize("files", rows(INTRA))
def test_two_nics_of_one_node_are_told(files: Files) -> None:
    assert told(files).verdict == "intra-node-nics-cannot-talk"


@pytest.mark.parametrize("files", rows(CROSSED))
def test_two_rails_are_told(files: Files) -> None:
    document = told(files)
    assert document.verdict == "cross-rail-unreachable"
    assert any("NCCL_CROSS_NIC=0" in line for line in document.findings[0].fix)


def test_one_subnet_is_one_rail() -> None:
    files = {"a.log": log("alpha", IB, pair("mlx5_0", "10.1.0.5", "10.1.0.6")), "show_gids.txt": TWO_RAILS}
    assert told(files).verdict == "rdma-path-timeout"


@pytest.mark.parametrize("files", rows(SICK))
def test_a_sick_hca_is_told(files: Files) -> None:
    assert told(files).verdict == "hca-health"


def test_an_event_that_is_not_fatal_is_no_sick_hca() -> None:
    line = warn("transport/net_ib.cc:253", "NET/IB : mlx5_0:1 Got non-fatal async event: client reregistration(17)")
    assert told({"a.log": log("alpha", IB, line)}).verdict != "hca-health"


def test_a_receiver_that_is_not_ready_is_told() -> None:
    assert told({"a.log": log("alpha", IB, completion(13, 135))}).verdict == "receiver-not-ready"


def test_a_table_that_changed_is_told() -> None:
    line = warn("transport/net_ib.cc:239", "NET/IB : mlx5_0:1 GID table changed")
    document = told({"a.log": log("alpha", IB, line)})
    assert document.verdict == "gid-table-changed"
    assert document.findings[0].severity == "warning"


def test_a_table_that_changed_before_an_error_is_only_considered() -> None:
    line = warn("transport/net_ib.cc:239", "NET/IB : mlx5_0:1 GID table changed")
    document = told({"a.log": log("alpha", IB, line, completion(12))})
    assert document.verdict == "rdma-path-timeout"
    assert "gid-table-changed" in [one.id for one in document.considered]


def test_another_subnet_alone_is_no_other_rail() -> None:
    files = {"a.log": log("alpha", using("mlx5_0"), IB, pair("mlx5_0", "10.1.0.5", "10.9.4.6"))}
    assert told(files).verdict == "rdma-path-timeout"


SHAPE = "comm 0x1 rank 0 nRanks 8 nNodes {} localRanks 8 localRank 0 MNNVL 0"
APART = modify_qp(110, "Connection timed out", "mlx5_1", "::ffff:10.100.1.1", "::ffff:10.100.0.1")


def test_where_nccl_counts_one_node_both_ends_are_its_own() -> None:
    assert told({"a.log": log("alpha", SHAPE.format(1), APART)}).verdict == "intra-node-nics-cannot-talk"


def test_where_nccl_counts_two_nodes_the_ends_may_be_anybodys() -> None:
    assert told({"a.log": log("alpha", SHAPE.format(2), APART)}).verdict == "rdma-path-timeout"


RAILS = gids(("mlx5_0", 3, "10.1.0.5", "v2"), ("mlx5_1", 3, "10.2.0.5", "v2"))
ONE_NET = gids(("mlx5_0", 3, "10.1.0.5", "v2"), ("mlx5_1", 3, "10.1.0.6", "v2"))
NO_NAMES = warn("misc/ibvwrap.cc:299", "Call to ibv_modify_qp failed with error Connection timed out")


@pytest.mark.parametrize("setting", ["NCCL_CROSS_NIC=1", "NCCL_PXN_DISABLE=1"])
def test_an_old_release_that_may_cross_its_rails_is_told(setting: str) -> None:
    document = told({"a.log": log("alpha", NO_NAMES), "show_gids.txt": RAILS, "nccl.env": f"{setting}\n"})
    assert document.verdict == "cross-rail-unreachable"


@pytest.mark.parametrize(("table", "setting"), [(RAILS, "NCCL_CROSS_NIC=0"), (ONE_NET, "NCCL_CROSS_NIC=1")])
def test_an_old_release_that_keeps_its_rails_or_has_none_crosses_nothing(table: str, setting: str) -> None:
    document = told({"a.log": log("alpha", NO_NAMES), "show_gids.txt": table, "nccl.env": f"{setting}\n"})
    assert document.verdict == "rdma-path-timeout"


ENDS = ["::ffff:10.1.0.5", "::ffff:10.2.0.6", "fe80::a00:27ff:fe11:2233", "fd00:a::5", "fd00:b::6", "::"]


@pytest.mark.parametrize("local", ENDS)
@pytest.mark.parametrize("remote", ENDS)
def test_ends_of_two_families_are_no_rails_and_stop_nothing(local: str, remote: str) -> None:
    line = modify_qp(110, "Connection timed out", "mlx5_0", local, remote)
    plain = local.removeprefix("::ffff:")
    prefix = 64 if ":" in plain else 24
    files = {"a.log": log("alpha", version("2.28.9"), IB, line), "ip.txt": addresses(("eth1", f"{plain}/{prefix}"))}
    document = told({**files, "show_gids.txt": TWO_RAILS})
    assert document.verdict not in ("none", "")
    if (":" in plain) != (":" in remote.removeprefix("::ffff:")):
        assert "cross-rail-unreachable" not in [document.verdict, *(one.id for one in document.considered)]


def test_rails_of_ipv6_cross_too() -> None:
    wide = "fd00:000{}:0000:0000:0000:0000:0000:0005"
    table = gids(("mlx5_0", 3, wide.format("a"), "v2"), ("mlx5_1", 3, wide.format("b"), "v2"))
    line = modify_qp(110, "Connection timed out", "mlx5_0", "fd00:a::5", "fd00:b::6")
    document = told({"a.log": log("alpha", version("2.28.9"), IB, line), "show_gids.txt": table})
    assert document.verdict == "cross-rail-unreachable"


OLD = warn("misc/ibvwrap.cc:160", "Call to ibv_modify_qp failed with error Connection timed out")
WITHIN = (
    "Channel 00/0 : 0[50] -> 4[90] [send] via NET/IBext/0",
    "Channel 00/0 : 0[50] -> 4[90] [receive] via NET/IBext/1",
)


def test_channels_between_ranks_of_one_host_stay_within_the_node() -> None:
    document = told({"a.log": log("alpha", bare(version("2.12.10")), *WITHIN, OLD)})
    assert document.verdict == "intra-node-nics-cannot-talk"
    assert any("NCCL_NET_DISABLE_INTRA=1" in fix for fix in document.findings[0].fix)


def test_a_completion_without_addresses_between_ranks_of_one_host_stays_within_the_node() -> None:
    said = warn("transport/net_ib.cc:816", "NET/IB : Got completion with error 12, opcode 0, len 0, vendor err 129")
    channels = [line.replace("IBext", "IB") for line in WITHIN]
    assert told({"a.log": log("alpha", *channels, said)}).verdict == "intra-node-nics-cannot-talk"


def test_a_channel_to_a_rank_that_does_not_speak_here_leaves_the_node() -> None:
    away = "Channel 00/0 : 4[90] -> 8[50] [send] via NET/IBext/1"
    assert told({"a.log": log("alpha", bare(version("2.12.10")), *WITHIN, away, OLD)}).verdict == "rdma-path-timeout"


@pytest.mark.parametrize(("node", "told_of"), [("alpha", True), ("bravo", False)])
def test_a_short_time_is_held_against_its_own_nodes_failures(node: str, told_of: bool) -> None:
    files = {
        "alpha.log": log("alpha", IB, completion(12)),
        "bravo.log": log("bravo", IB),
        f"{node}.env": "NCCL_IB_TIMEOUT=5\n",
    }
    assert (told(files).verdict == "ib-timeout-or-retry-too-low") is told_of
