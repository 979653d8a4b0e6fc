"""Findings of variables and selectors: what NCCL is told on a node, against what the node has."""

from __future__ import annotations

from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import ConfFile
from tests.fabrics.healthy import with_virtual_functions
from tests.fabrics.ill import Ill, both, env, host, put
from tests.fabrics.servers import eight_rail_servers
from tests.fabrics.spark import spark_foreign, spark_one_cable, spark_one_crossed, spark_ring

A = "spark-a"
TWINS = "=rocep1s0f0,roceP2p1s0f0"
AWAY = Unknown(unknown="its interface is in another network namespace")


def told(fault: dict[str, str], almost: dict[str, str]) -> Ill:
    """Variables of spark-a in a pair on one cable."""
    return Ill(spark_one_cable, env(A, **fault), env(A, **almost))


def conf(value: str) -> tuple[ConfFile, ...]:
    return (ConfFile(path="/etc/nccl.conf", values={"NCCL_DEBUG": value}),)


def listed(fault: str, almost: str) -> Ill:
    """NCCL_IB_HCA of spark-a."""
    return told({"NCCL_IB_HCA": fault}, {"NCCL_IB_HCA": almost})


def pinned(fault: str, almost: str = "3") -> Ill:
    return told({"NCCL_IB_GID_INDEX": fault}, {"NCCL_IB_GID_INDEX": almost})


RISKY = {"NCCL_IB_USE_INLINE": "1", "NCCL_IB_PREPOST_RECEIVE_WORK_REQUESTS": "1"}
ILL = {
    "ib-disabled-by-env": told({"NCCL_IB_DISABLE": "1"}, {"NCCL_IB_DISABLE": "0"}),
    "env-file-quotes-kept": told({"NCCL_DEBUG": '"INFO"'}, {"NCCL_DEBUG": 'INFO"'}),
    "env-differs-between-ranks": Ill(
        spark_one_cable,
        both(env("spark-a", NCCL_ALGO="Ring"), env("spark-b", NCCL_ALGO="Tree")),
        env("*", NCCL_ALGO="Ring"),
    ),
    "nccl-proto-ll-forced": told({"NCCL_PROTO": "LL"}, {"NCCL_PROTO": "LL,Simple"}),
    "cuda-launch-blocking-set": told({"CUDA_LAUNCH_BLOCKING": "0"}, {"CUDA_LAUNCH_BLOCKING": ""}),
    "expandable-segments-on-gb10": told(
        {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"},
        {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:False"},
    ),
    "nccl-trace-left-on": told({"NCCL_DEBUG": "TRACE"}, {"NCCL_DEBUG": "INFO"}),
    "nccl-setting-shadowed": Ill(
        spark_one_cable,
        host(A, environment={"NCCL_DEBUG": "INFO"}, nccl_conf=conf("WARN")),
        host(A, environment={"NCCL_DEBUG": "INFO"}, nccl_conf=conf("INFO")),
    ),
    "nccl-setting-risky": told(RISKY, {**RISKY, "NCCL_IB_USE_INLINE": "0"}),
    "ll128-forced-on-unsupported-path": told({"NCCL_PROTO": "LL128"}, {"NCCL_PROTO": "^LL128"}),
    "ib-timeout-or-retry-too-low": told({"NCCL_IB_TIMEOUT": "13"}, {"NCCL_IB_TIMEOUT": "14"}),
    "wrong-gid-index": pinned("2"),
    "gid-index-link-local": pinned("1"),
    "gid-index-drifted": pinned("9"),
    "gid-index-pinned": pinned("3", "-1"),
    "ib-hca-matches-nothing": listed("=rocep1s0f9", TWINS),
    "ib-hca-port-down": listed(f"{TWINS},rocep1s0f1", TWINS),
    "ib-hca-entry-unknown": listed(f"{TWINS},rocep1s0f9", TWINS),
    "gb10-one-function-of-port-used": listed("=rocep1s0f0", TWINS),
    "ib-hca-prefix-match": Ill(
        lambda: both(with_virtual_functions, put(A, "port", "rocep1s0f0v1", state="ACTIVE"))(spark_one_cable()),
        env(A, NCCL_IB_HCA="rocep1s0f0,roceP2p1s0f0"),
        env(A, NCCL_IB_HCA=TWINS),
    ),
    "force-merge-unknown-hca": told(
        {"NCCL_NET_FORCE_MERGE": "rocep1s0f0,rocep1s0f1"}, {"NCCL_NET_FORCE_MERGE": "rocep1s0f0,roceP2p1s0f0"}
    ),
    "ib-hca-names-differ-between-nodes": Ill(spark_one_crossed, env("*", NCCL_IB_HCA=TWINS), env(A, NCCL_IB_HCA=TWINS)),
    "ib-hca-includes-port-cabled-elsewhere": Ill(
        spark_foreign, env(A, NCCL_IB_HCA=f"{TWINS},rocep1s0f1"), env(A, NCCL_IB_HCA=TWINS)
    ),
    "links-not-used": Ill(
        spark_foreign, env(A, NCCL_IB_HCA="=rocep1s0f1,roceP2p1s0f1"), env(A, NCCL_IB_HCA=f"{TWINS},rocep1s0f1")
    ),
    "unusable-hca-visible": Ill(
        spark_one_cable,
        put(A, "port", "roceP2p1s0f0", netdev=AWAY),
        put(A, "port", "roceP2p1s0f0", netdev=Unknown(unknown="not read")),
    ),
    "vf-beside-pf": Ill(
        lambda: with_virtual_functions(eight_rail_servers()),
        put("server-001", "port", "mlx5_0v1", state="ACTIVE"),
        put("server-001", "port", "mlx5_0v1", state="INIT"),
    ),
    "socket-ifname-not-found": told({"NCCL_SOCKET_IFNAME": "eth0"}, {"NCCL_SOCKET_IFNAME": "en"}),
    "ucx-devices-not-found": told({"UCX_NET_DEVICES": "rocep1s0f9:1"}, {"UCX_NET_DEVICES": "rocep1s0f0:1"}),
    "loopback-selected": told({"NCCL_SOCKET_IFNAME": "lo"}, {"NCCL_SOCKET_IFNAME": "^lo"}),
    "virtual-interface-selected": Ill(
        lambda: put(A, "netdev", "docker0", carrier=True, operstate="up")(spark_one_cable()),
        env(A, NCCL_SOCKET_IFNAME="docker"),
        env(A, NCCL_SOCKET_IFNAME="^docker"),
    ),
    "ring-without-subnet-routing": Ill(spark_ring, lambda fabric: fabric, env("*", NCCL_IB_SUBNET_AWARE_ROUTING="1")),
    "traffic-class-misses-lossless-priority": Ill(
        eight_rail_servers, env("server-001", NCCL_IB_TC="64"), env("server-001", NCCL_IB_TC="106")
    ),
    "mixed-link-layers": Ill(
        eight_rail_servers,
        put("server-001", "port", "mlx5_7", link_layer="InfiniBand"),
        put("server-001", "port", "mlx5_7", link_layer="InfiniBand", state="DOWN", phys_state="Polling"),
    ),
}
