"""Findings of the kernel log and of counters: each signature of presets/, and one counter for each finding."""

from __future__ import annotations

from fabricdoc.model.fabric import Fabric, KernelEvent
from tests.fabrics.altering import changed
from tests.fabrics.ill import Alter, Ill, both, host, put
from tests.fabrics.servers import eight_rail_servers, rail

S, HCA, NETDEV, PCI = "server-001", "mlx5_0", rail(0, 0).netdev, rail(0, 0).pci
PORT, HW, ETHTOOL = f"{HCA}/1:port", f"{HCA}/1:hw", f"{NETDEV}:ethtool"


def logged(id: str, last: str, almost: str = "", *, count: int = 1, other: str = "") -> Ill:
    """An event on server-001; nearly: the same of another device, or (`other`) an id that no signature has."""
    near = KernelEvent(id=other or id, count=count, last=almost or last)
    return Ill(
        eight_rail_servers,
        host(S, kernel_log=(KernelEvent(id=id, count=count, last=last),)),
        host(S, kernel_log=(near,)),
    )


def counted(source: str, name: str, fault: int, almost: int, *, grown: bool = True) -> Ill:
    """A counter of server-001's first rail in 10 s (or in all, with `grown` false)."""

    def amount(value: int) -> Alter:
        def alter(fabric: Fabric) -> Fabric:
            facts = {"values": {name: value}, "deltas": {name: value} if grown else {}}
            return changed(fabric, S, "counters", source, **facts)

        return both(alter, put(S, "node", watched_s=10.0))

    return Ill(eight_rail_servers, amount(fault), amount(almost))


NOBODY = "0000:ff:1f.7"
ILL = {
    "oom-killed": logged("oom-kill", "Out of memory: Killed process 4711 (python3)", other="oom-kill-2"),
    "pcie-slot-power-low": logged(
        "mlx5-slot-power", f"mlx5_core {PCI}: Detected insufficient power on the PCIe slot (27W).", other="slot-power"
    ),
    "iommu-fault": logged(
        "iommu-fault",
        f"DMAR: [DMA Write] Request device [{PCI[5:]}] fault addr 0",
        f"DMAR: device [{NOBODY[5:]}] fault",
    ),
    "hca-health": logged("mlx5-health", f"mlx5_core {PCI}: handling bad device here", other="mlx5-healthy"),
    "hca-was-reset": logged("mlx5-slot-reset", f"mlx5_core {PCI}: mlx5_pci_slot_reset Device", other="mlx5-slot"),
    "cable-too-hot": logged("mlx5-module-hot", "mlx5_core: Port module event: module 0, High Temperature", other="hot"),
    "cable-error": logged("mlx5-module-error", "mlx5_core: Port module event: Bus stuck", other="mlx5-module"),
    "nic-tx-timeout": logged(
        "netdev-tx-timeout",
        f"NETDEV WATCHDOG: {NETDEV} (mlx5_core): transmit queue 3 timed out",
        "NETDEV WATCHDOG: eno1 (ice): transmit queue 3 timed out",
    ),
    "gpu-driver-no-memory": logged("nv-no-memory", "NVRM: nvAssertOk: NV_ERR_NO_MEMORY", other="nv-memory"),
    "gpu-xid": logged("xid-79", "NVRM: Xid (PCI:0000:13:00): 79, GPU has fallen off the bus", other="xid-13"),
    "roce-packet-loss": counted(HW, "packet_seq_err", 1, 0),
    "qp-retries-exceeded": counted(HW, "req_transport_retries_exceeded", 1, 0),
    "receiver-not-ready": counted(HW, "rnr_nak_retry_err", 1, 0),
    "receive-starved": counted(HW, "out_of_buffer", 10, 9),
    "payload-corrupt": counted(HW, "rx_icrc_encapsulated", 1, 0, grown=False),
    "link-bit-errors": counted(PORT, "symbol_error", 100, 99),
    "roce-slow-restarts": counted(HW, "roce_slow_restart", 100, 99),
    "ecn-ignored": counted(HW, "rp_cnp_ignored", 1, 0, grown=False),
    "port-discards": counted(ETHTOOL, "rx_prio3_discards", 1, 0),
    "pause-storm": counted(ETHTOOL, "tx_pause_storm_warning_events", 1, 0, grown=False),
    "pause-heavy": counted(ETHTOOL, "rx_prio3_pause_duration", 500_001, 500_000),
    "pcie-backpressure": counted(ETHTOOL, "outbound_pci_buffer_overflow", 1, 0),
}
