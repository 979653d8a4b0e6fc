"""Findings of a node's system, access, memory and libraries, and of what differs between hosts."""

from __future__ import annotations

from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Library
from fabricdoc.model.host import DeviceFile
from tests.fabrics.altering import set_facts
from tests.fabrics.ill import NOT_READ, Alter, Ill, both, host, nccl, on, put, same
from tests.fabrics.others import container_node
from tests.fabrics.servers import eight_rail_servers
from tests.fabrics.spark import spark_one_cable

A, B = "spark-a", "spark-b"
GIB = 1 << 30
NET_PLUGIN = (Library(path="/usr/lib/libnccl-net.so", version=NOT_READ, sha256=NOT_READ),)
TUNER = (Library(path="/usr/lib/libnccl-tuner.so", version=NOT_READ, sha256=NOT_READ),)
NO_VERBS = Unknown(unknown="libibverbs.so.1 can't be loaded: cannot open shared object file")
MODULES = ("ib_core", "ib_uverbs", "mlx5_core", "mlx5_ib", "nvidia", "nvidia_uvm", "rdma_cm")


def pair(fault: dict[str, object], almost: dict[str, object], node: str = A) -> Ill:
    """Facts of one host of a pair on one cable."""
    return Ill(spark_one_cable, host(node, **fault), host(node, **almost))


def device_files(access: str) -> tuple[DeviceFile, ...]:
    """uverbs0 and uverbs1 of a node, the second one opened with this."""
    return (DeviceFile(name="uverbs0", access="ok"), DeviceFile(name="uverbs1", access=access))


def version(fault: str, almost: str) -> Ill:
    """The NCCL of both nodes."""
    return Ill(spark_one_cable, host("*", libnccl=nccl(fault)), host("*", libnccl=nccl(almost)))


def twice(boot_id: str) -> Alter:
    """spark-b is spark-a again, or a machine that says the same of its interfaces."""

    def again(fabric: Fabric) -> Fabric:
        first = fabric.nodes[0]
        other = first.model_copy(update={"name": B, "host": first.host.model_copy(update={"boot_id": boot_id})})
        return fabric.model_copy(update={"nodes": (first, other), "links": Unknown(unknown="not asked")})

    return again


def like_a(**facts: object) -> Alter:
    """Facts of spark-a's host on spark-b too, by name of the field."""

    def alike(fabric: Fabric) -> Fabric:
        shared = {name: getattr(fabric.nodes[0].host, name) for name in facts}
        return host(B, **shared)(fabric)

    return alike


def gpus_with(dma_buf: bool) -> Alter:
    return put("*", "gpu", "*", dma_buf=dma_buf)


def one_gpu_less(fabric: Fabric) -> Fabric:
    def less(node: object) -> object:
        return set_facts(node, {"gpus": node.gpus[:-1]})  # type: ignore[type-var, attr-defined]

    return on("server-002", less)(fabric)  # type: ignore[arg-type]


ILL = {
    "libibverbs-missing": pair({"libibverbs": NO_VERBS}, {"libibverbs": Unknown(unknown="time limit")}),
    "uverbs-missing": pair({"infiniband_devices": ("rdma_cm",)}, {"infiniband_devices": ("rdma_cm", "uverbs0")}),
    "ibverbs-provider-missing": pair(
        {"ibverbs_providers": ("libmlx4-rdmav34.so",)}, {"ibverbs_providers": ("libmlx5-rdmav57.so",)}
    ),
    "container-rdma-device-missing": Ill(
        lambda: container_node(host_network=True), same, host("container", infiniband_devices=("uverbs0",))
    ),
    "container-rdma-device-not-accessible": pair({"uverbs": device_files("EPERM")}, {"uverbs": device_files("ENXIO")}),
    "container-network-private": Ill(
        lambda: container_node(device_files=True), same, host("container", host_network=NOT_READ)
    ),
    "memlock-limit-too-low": pair({"memlock": 299_999_999}, {"memlock": 300_000_000}),
    "dev-shm-too-small": pair({"shm_bytes": (128 << 20) - 1}, {"shm_bytes": 128 << 20}),
    "memory-available-low": pair({"memory_available": int(13.39 * GIB)}, {"memory_available": int(13.41 * GIB)}),
    "host-firewall": pair({"firewall": "nftables: 4 rules, policy drop in input"}, {"firewall": "none seen"}),
    "iommu-breaks-p2p": Ill(
        eight_rail_servers, host("server-001", iommu="translated"), host("server-001", iommu="passthrough")
    ),
    "cpu-governor-slow": pair({"governor": "powersave"}, {"governor": "schedutil"}),
    "kernel-known-bad": pair({"kernel": "6.17.0-1021-nvidia"}, {"kernel": "6.17.0-10210-nvidia"}),
    "driver-known-bad": pair({"nvidia_driver": "590.44.01"}, {"nvidia_driver": "580.590.1"}),
    "cx7-hotplug-armed": pair({"hotplug_armed": True}, {"hotplug_armed": False}, node="*"),
    "nccl-too-old-for-platform": version("2.27.2", "2.27.3"),
    "nccl-build-specific-hang": version("2.28.9", "2.29.2"),
    "nccl-without-gid-choice": version("2.21.4", "2.21.5"),
    "nccl-many-channels": version("2.30.7", ""),
    "libnccl-several": pair(
        {"libnccl": (*nccl("2.30.7"), *nccl("2.30.7", sha="6b", path="/opt/libnccl.so.2"))},
        {"libnccl": (*nccl("2.30.7"), *nccl("2.30.7", path="/opt/libnccl.so.2"))},
    ),
    "libnccl-missing": pair({"libnccl": (), "torch": "2.9.0"}, {"libnccl": NOT_READ, "torch": "2.9.0"}),
    "net-plugin-found": pair({"nccl_plugins": NET_PLUGIN}, {"nccl_plugins": TUNER}),
    "net-plugin-mismatch-between-nodes": pair({"nccl_plugins": NET_PLUGIN}, {"nccl_plugins": TUNER}, node=B),
    "nccl-version-mismatch": pair({"libnccl": nccl("2.30.4")}, {"libnccl": nccl(NOT_READ)}, node=B),
    "nccl-build-differs": Ill(
        lambda: host("*", libnccl=nccl("2.30.7"))(spark_one_cable()),
        host(B, libnccl=nccl("2.30.7", sha="6b")),
        host(B, libnccl=nccl("2.30.7", path="/opt/libnccl.so.2")),
    ),
    "driver-differs-between-nodes": pair({"nvidia_driver": "580.95.05"}, {"nvidia_driver": NOT_READ}, node=B),
    "kernel-differs-between-nodes": pair(
        {"kernel": "6.17.0-1030-nvidia"}, {"kernel": "6.17.0-1030-nvidia", "arch": "x86_64"}, node=B
    ),
    "os-differs-between-nodes": pair({"os": "Ubuntu 22.04.5 LTS"}, {"os": NOT_READ}, node=B),
    "bios-differs-between-nodes": pair({"bios": "5.35"}, {"bios": "5.35", "product": "NVIDIA DGX Spark B"}, node=B),
    "governor-differs-between-nodes": pair({"governor": "ondemand"}, {"governor": NOT_READ}, node=B),
    "host-identity-collision": Ill(
        spark_one_cable,
        like_a(hostname=1, boot_id=1),
        both(like_a(hostname=1, boot_id=1), host(B, environment={"NCCL_HOSTID": "b"})),
    ),
    "hostname-shared": Ill(spark_one_cable, like_a(hostname=1), like_a(hostname=1, boot_id=1)),
    "machine-id-shared": Ill(spark_one_cable, like_a(machine_id=1), like_a(machine_id=1, boot_id=1)),
    "same-node-twice": Ill(
        spark_one_cable, twice("5a5a0000-0000-4000-8000-00000000b000"), twice("5a5a0000-0000-4000-8000-00000000b0ff")
    ),
    "clock-skew": Ill(spark_one_cable, put(B, "node", clock_offset_s=1.01), put(B, "node", clock_offset_s=0.99)),
    "gpu-sets-differ-between-nodes": Ill(eight_rail_servers, one_gpu_less, put("server-002", "gpu", 7, name=NOT_READ)),
    "peermem-differs-between-nodes": Ill(
        eight_rail_servers,
        both(gpus_with(False), host("server-002", modules=MODULES)),
        both(gpus_with(True), host("server-002", modules=MODULES)),
    ),
    "gpudirect-path-missing": Ill(
        eight_rail_servers,
        both(gpus_with(False), host("server-001", modules=MODULES)),
        both(gpus_with(False), host("server-001", modules=(*MODULES, "nvidia_peermem"))),
    ),
}
