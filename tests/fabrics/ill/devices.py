"""Findings of PCIe, of the ConnectX-7 of a GB10, of HCAs between nodes and of GPUs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fabricdoc.model.fabric import Fabric, GpuPath, Node, Tenant
from tests.fabrics.altering import set_facts
from tests.fabrics.ill import NOT_READ, Alter, Ill, both, on, put, same
from tests.fabrics.servers import RAILS, chain, eight_rail_servers, gpu_pci, rail
from tests.fabrics.spark import spark_one_cable

A, B = "spark-a", "spark-b"
S = "server-001"
THIRD = "0002:01:00.0"
NIC = rail(0, 5).pci
SLOT = chain(5)[3]


def function(address: str = THIRD, **facts: Any) -> Alter:
    return put(A, "pcie", address, **facts)


def gpu(**facts: Any) -> Alter:
    """The GPU of spark-a, busy unless said otherwise."""
    return put(A, "gpu", 0, **{"utilization_percent": 96, **facts})


def watched(sent: int) -> Alter:
    """A look of 10 s at spark-a's ports, which sent so much."""
    grown = {"port_xmit_data": sent} if sent else {}
    ports = (put(A, "counters", f"{hca}/1:port", deltas=grown) for hca in ("rocep1s0f0", "roceP2p1s0f0"))
    return both(*ports, put(A, "node", watched_s=10.0))


def fewer(part: str, keep: Callable[[Any], bool]) -> Alter:
    """A list of spark-a's without the members that are not kept."""

    def less(node: Node) -> Node:
        return set_facts(node, {part: tuple(one for one in getattr(node, part) if keep(one))})

    return on(A, less)


def paths(far: str) -> Alter:
    """GPU 3 of server-001 is this far from every HCA."""

    def alter(fabric: Fabric) -> Fabric:
        told = tuple(
            GpuPath(gpu=g, hca=f"mlx5_{k}", path=far if g == 3 else "PIX" if g == k else "NODE")
            for g in range(RAILS)
            for k in range(RAILS)
        )
        return put(S, "node", gpu_paths=told)(fabric)

    return alter


def slot(width: int, gbps: float) -> Alter:
    """Rail 5 of server-001: what its slot has, and its port's rate."""
    narrow = {"max_width": width, "current_width": width}
    return both(put(S, "pcie", SLOT, **narrow), put(S, "pcie", NIC, **narrow), put(S, "port", "mlx5_5", rate_gbps=gbps))


def two_gpus_below_one_switch() -> Fabric:
    """A server of GPUs without NVLink and GPUDirect, of which GPU 0 and GPU 1 share the first switch."""
    root, up, first, second = chain(0)
    below = ((gpu_pci(0), first), (gpu_pci(1), second))
    moved = (put(S, "pcie", address, upstream=(root, up, bridge)) for address, bridge in below)
    return both(put(S, "gpu", "*", nvlinks=0, gpudirect_rdma=False), *moved)(eight_rail_servers(1))


BUSY = {"sm_clock_mhz": 800, "power_w": 14.0}
TENANT = (Tenant(pid=4711, name="python3", memory_bytes=NOT_READ),)
ILL = {
    "pcie-device-gone": Ill(spark_one_cable, function(gone=True), function(gone=False)),
    "pcie-width-low": Ill(spark_one_cable, function(current_width=2), function(current_width=NOT_READ)),
    "pcie-speed-low": Ill(spark_one_cable, function(current_speed_gts=16.0), function(current_speed_gts=NOT_READ)),
    "pcie-slot-too-narrow": Ill(eight_rail_servers, slot(8, 400.0), slot(8, 200.0)),
    "pcie-differs-between-nodes": Ill(
        lambda: eight_rail_servers(3),
        both(put("server-002", "pcie", NIC, current_width=8, max_width=8)),
        both(put("server-002", "pcie", NIC, current_width=NOT_READ, max_width=8)),
    ),
    "pcie-aer-fatal": Ill(spark_one_cable, function(aer={"fatal": 1}), function(aer={"fatal": 0})),
    "pcie-aer-nonfatal": Ill(spark_one_cable, function(aer={"nonfatal": 1}), function(aer={"nonfatal": 0})),
    "pcie-aer-correctable": Ill(  # 24 h up, told from 100 an hour
        spark_one_cable, function(aer={"correctable": 2401}), function(aer={"correctable": 2399})
    ),
    "cx7-functions-missing": Ill(spark_one_cable, fewer("pcie", lambda one: one.address != THIRD)),
    "rdma-device-missing": Ill(spark_one_cable, fewer("hcas", lambda one: one.pci != "0000:01:00.1")),
    "firmware-differs-between-nodes": Ill(
        spark_one_cable,
        put(B, "hca", "*", firmware="28.43.1000"),
        put(B, "hca", "*", firmware=NOT_READ),
    ),
    "hca-sets-differ-between-nodes": Ill(
        eight_rail_servers,
        put("server-002", "port", "mlx5_7", state="DOWN"),
        put("server-002", "port", "mlx5_7", state=NOT_READ),
    ),
    "acs-breaks-gpudirect": Ill(
        eight_rail_servers, put(S, "pcie", SLOT, acs=True), put(S, "pcie", chain(5)[0], acs=True)
    ),
    "acs-breaks-p2p": Ill(
        two_gpus_below_one_switch, put(S, "pcie", chain(0)[2], acs=True), put(S, "pcie", chain(0)[0], acs=True)
    ),
    "gpu-far-from-hcas": Ill(eight_rail_servers, paths("NODE"), paths("PXB")),
    "gpudirect-not-available": Ill(spark_one_cable, same, put("*", "gpu", 0, gpudirect_rdma=NOT_READ)),
    "gpu-clock-capped": Ill(spark_one_cable, gpu(sm_clock_cap_mhz=2376), gpu(sm_clock_cap_mhz=2377)),
    "gpu-power-clamp": Ill(spark_one_cable, gpu(**BUSY), gpu(**BUSY, throttle_reasons=("hw_slowdown",))),
    "gpu-too-hot": Ill(spark_one_cable, gpu(temperature_c=88), gpu(temperature_c=87)),
    "gpu-spinning": Ill(
        spark_one_cable,
        both(gpu(sm_clock_mhz=2400, power_w=18.0), watched(0)),
        both(gpu(sm_clock_mhz=2400, power_w=18.0), watched(1)),
    ),
    "gpu-in-use": Ill(spark_one_cable, gpu(tenants=TENANT), gpu(tenants=())),
}
