"""Rules of links and networks: MTU, ports that go down, loss, subnets; each with what only looks like it."""

from __future__ import annotations

import pytest

from tests.excerpts import addresses, completion, gids, links, log, modify_qp, told, version, warn

pytestmark = pytest.mark.unit

Files = dict[str, str]
IB = "Using network IB"


def devinfo(hca: str, mtu: int, enum: int) -> str:
    return (
        f"hca_id:\t{hca}\n\ttransport:\t\t\tInfiniBand (0)\n\tphys_port_cnt:\t\t\t1\n\t\tport:\t1\n"
        f"\t\t\tstate:\t\t\tPORT_ACTIVE (4)\n\t\t\tmax_mtu:\t\t4096 (5)\n\t\t\tactive_mtu:\t\t{mtu} ({enum})\n"
        "\t\t\tlink_layer:\t\tEthernet\n"
    )


def bench(*rows: tuple[int, float, float]) -> str:
    """nccl-tests rows of (bytes, bus bandwidth out of place, in place)."""
    return "".join(
        f"{size:12d} {size // 4:13d}     float     sum      -1  100.00  {out:6.2f}  {out:6.2f}      0"
        f"  100.00  {inner:6.2f}  {inner:6.2f}      0\n"
        for size, out, inner in rows
    )


def counters(**values: int) -> str:
    return "".join(
        f"/sys/class/infiniband/mlx5_0/ports/1/hw_counters/{name}:{value}\n" for name, value in values.items()
    )


MTU = {
    "ports": {"alpha_ibv_devinfo.txt": devinfo("mlx5_0", 4096, 5), "bravo_ibv_devinfo.txt": devinfo("mlx5_0", 1024, 3)},
    "interfaces of one subnet": {
        "alpha_ip_addr.txt": addresses(("eno1", "10.1.0.5/24"), mtu=9000),
        "bravo_ip_addr.txt": addresses(("eno2", "10.1.0.6/24"), mtu=1500),
    },
    "queue pairs": {
        "alpha.log": log(
            "alpha",
            "NET/IB: NCCL Dev 0 IbDev 0 Port 1 qpn 277 mtu 5 GID 3 (0/100000AFFFF0000) fifoRkey=0x1 fifoLkey=0x1",
            completion(12),
        ),
        "bravo.log": log(
            "bravo",
            "NET/IB: NCCL Dev 0 IbDev 0 Port 1 qpn 278 mtu 3 GID 3 (0/200000AFFFF0000) fifoRkey=0x1 fifoLkey=0x1",
        ),
    },
}
FLAP = {
    "port error": {
        "alpha.log": log("alpha", warn("transport/net_ib.cc:93", "NET/IB : mlx5_0:1 Got async event : port error")),
        "bravo.log": log("bravo", completion(12)),
    },
    "without the device": {
        "alpha.log": log("alpha", warn("transport/net_ib.cc:93", "NET/IB : Got async event : port error"))
    },
    "kernel and a broken connection": {
        "alpha.log": log("alpha", version("2.21.5"), IB, completion(12)),
        "alpha_dmesg.txt": "[ 812.4] mlx5_core 0000:17:00.0 eno1: Link down\n",
    },
    "counter and a broken connection": {
        "alpha.log": log("alpha", version("2.21.5"), IB, completion(12)),
        "alpha_counters.txt": "/sys/class/infiniband/mlx5_0/ports/1/counters/link_downed:3\n",
    },
}
LOSS = {
    "collapse": {
        "nccl_tests.txt": bench((4 << 20, 9.1, 9.2), (8 << 20, 9.4, 9.5), (16 << 20, 0.8, 0.7), (32 << 20, 9.6, 9.7))
    },
    "counters of a broken run": {
        "a.log": log("alpha", IB, completion(12)),
        "hw_counters.txt": counters(packet_seq_err=5123, out_of_sequence=4870),
    },
    "both": {
        "nccl_tests.txt": bench((4 << 20, 9.1, 9.2), (8 << 20, 1.1, 9.5)),
        "hw_counters.txt": counters(roce_adp_retrans=900),
    },
}
SHARED = {
    "three of a host": {
        "ip_addr.txt": addresses(("if_mlx5_0", "10.9.0.1/24"), ("if_mlx5_1", "10.9.0.2/24")),
        "rdma_link.txt": links(("mlx5_0", "ACTIVE"), ("mlx5_1", "ACTIVE")),
    },
    "by GID tables": {"show_gids.txt": gids(("mlx5_0", 3, "10.9.0.1", "v2"), ("mlx5_1", 3, "10.9.0.2", "v2"))},
}


def rows(table: dict[str, Files]) -> list[object]:
    return [pytest.param(files, id=name) for name, files in table.items()]


@pytest.mark.parametrize("files", rows(MTU))
def test_an_mtu_that_differs_is_told(files: Files) -> None:
    document = told(files)
    assert document.verdict == "mtu-mismatch"
    assert document.findings[0].subject.startswith("bravo")


def test_one_mtu_on_both_ends_is_nothing_wrong() -> None:
    files = {"alpha_ibv_devinfo.txt": devinfo("mlx5_0", 4096, 5), "bravo_ibv_devinfo.txt": devinfo("mlx5_0", 4096, 5)}
    assert told(files).verdict == "none"


def test_interfaces_of_two_subnets_may_differ() -> None:
    files = {
        "alpha_ip_addr.txt": addresses(("eno1", "10.1.0.5/24"), mtu=9000),
        "bravo_ip_addr.txt": addresses(("eno1", "10.7.0.6/24"), mtu=1500),
    }
    assert told(files).verdict == "none"


@pytest.mark.parametrize("files", rows(FLAP))
def test_a_port_that_went_down_is_told(files: Files) -> None:
    document = told(files)
    assert document.verdict == "link-flap"
    assert document.findings[0].subject.startswith("alpha")


def test_a_link_that_went_down_before_a_healthy_run_is_nothing_wrong() -> None:
    files = {**FLAP["kernel and a broken connection"], "alpha.log": log("alpha", IB, "Connected all rings")}
    assert told(files).verdict == "none"


@pytest.mark.parametrize("files", rows(LOSS))
def test_lost_packets_are_told(files: Files) -> None:
    document = told(files)
    assert document.verdict == "roce-packet-loss"
    assert document.findings[0].severity == ("error" if "a.log" in files else "warning")


def test_counters_of_missing_answers_are_no_cause_of_them() -> None:
    files = {"a.log": log("alpha", IB, completion(12)), "hw_counters.txt": counters(local_ack_timeout_err=5123)}
    document = told(files)
    assert document.verdict == "rdma-path-timeout"
    assert "roce-packet-loss" in [one.id for one in document.considered]


def test_counters_of_zero_leave_a_collapse_unproven() -> None:
    document = told({**LOSS["collapse"], "hw_counters.txt": counters(packet_seq_err=0)})
    assert document.verdict == "roce-packet-loss"
    assert document.findings[0].confidence == "possible"


def test_a_bandwidth_that_grows_with_the_size_is_nothing_wrong() -> None:
    assert (
        told({"nccl_tests.txt": bench((1 << 20, 2.0, 2.1), (8 << 20, 7.0, 7.1), (64 << 20, 9.0, 9.1))}).verdict
        == "none"
    )


def test_a_few_lost_packets_alone_are_only_considered() -> None:
    document = told({"hw_counters.txt": counters(out_of_sequence=3)})
    assert document.verdict == "none"
    assert [one.id for one in document.considered] == ["roce-packet-loss"]


@pytest.mark.parametrize("files", rows(SHARED))
def test_a_shared_subnet_is_told(files: Files) -> None:
    document = told(files)
    assert document.verdict == "nics-share-subnet"
    assert "10.9.0.0/24" in document.findings[0].cause


def test_a_shared_subnet_explains_answers_that_do_not_come() -> None:
    files = {
        **SHARED["three of a host"],
        "sysctl.txt": "net.ipv4.conf.all.arp_ignore = 0\n",
        "a.log": log("alpha", IB, completion(12)),
    }
    document = told(files)
    assert (document.verdict, document.findings[0].severity) == ("nics-share-subnet", "error")
    assert told({**files, "sysctl.txt": "net.ipv4.conf.all.arp_ignore = 1\n"}).verdict == "rdma-path-timeout"


def test_a_shared_subnet_of_a_run_that_works_is_only_considered() -> None:
    document = told({**SHARED["three of a host"], "alpha.log": log("alpha", IB, "Connected all rings")})
    assert document.verdict == "none"
    assert [one.id for one in document.considered] == ["nics-share-subnet"]


def test_a_subnet_for_each_rail_is_nothing_wrong() -> None:
    files = {
        "ip_addr.txt": addresses(("if_mlx5_0", "10.9.0.1/24"), ("if_mlx5_1", "10.9.1.1/24")),
        "rdma_link.txt": links(("mlx5_0", "ACTIVE"), ("mlx5_1", "ACTIVE")),
    }
    assert told(files).verdict == "none"


def test_answers_that_are_kept_apart_are_only_considered() -> None:
    files = {
        **SHARED["three of a host"],
        "sysctl.txt": "net.ipv4.conf.all.arp_ignore = 2\nnet.ipv4.conf.all.arp_announce = 2\n",
    }
    document = told(files)
    assert document.verdict == "none"
    assert [one.id for one in document.considered] == ["nics-share-subnet"]


def test_unequal_mtu_does_not_explain_a_connection_that_is_not_made() -> None:
    line = modify_qp(110, "Connection timed out", "mlx5_0", "fe80::a00:27ff:fe11:2233", "fe80::1", index=1)
    files = {
        "a.log": log("alpha", "NCCL_IB_GID_INDEX set by environment to 1.", line),
        "alpha_ip.txt": addresses(("ens8", "10.1.0.5/24"), mtu=9000),
        "bravo_ip.txt": addresses(("ens8", "10.1.0.6/24"), mtu=1500),
    }
    document = told(files)
    assert document.verdict == "gid-index-link-local"
    assert "mtu-mismatch" in [one.id for one in document.considered]


@pytest.mark.parametrize(
    ("local", "verdict"), [("10.10.1.11", "nics-share-subnet"), ("10.77.1.11", "rdma-path-timeout")]
)
def test_a_connection_that_times_out_within_a_shared_subnet_is_its_fault(local: str, verdict: str) -> None:
    line = completion(12, local=f"::ffff:{local}", remote=f"::ffff:{local[:-1]}2", hca="mlx5_1")
    files = {
        "alpha_ip.txt": addresses(("if_mlx5_0", "10.10.0.11/16"), ("if_mlx5_1", "10.10.1.11/16")),
        "alpha_rdma.txt": links(("mlx5_0", "ACTIVE"), ("mlx5_1", "ACTIVE")),
        "alpha.log": log("alpha", line),
    }
    assert told(files).verdict == verdict
