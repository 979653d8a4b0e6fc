"""Signatures of the kernel log: the table, real lines, and what must stay silent."""

from __future__ import annotations

import re
from typing import Any

import pytest

from fabricdoc.checks import load_catalogue
from fabricdoc.checks.kernel_log import check_kernel_log, signatures
from fabricdoc.fabric.signatures import kernel_signatures
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, KernelEvent
from fabricdoc.probes.kernel_log import found_in
from tests.fabrics.altering import changed
from tests.fabrics.others import laptop
from tests.fabrics.recorded import RECORDED
from tests.fabrics.servers import eight_rail_servers
from tests.fabrics.spark import spark_one_cable
from tests.unit.checks.judged import ids, only, texts

pytestmark = pytest.mark.unit

# A line as the kernel or a driver writes it, and the id under which the probe reports it.
LINES = (
    ("pcieport 0000:b2:01.0: AER: Uncorrectable (Fatal) error message received from 0000:b4:00.0", "aer-fatal"),
    ("pcieport 0000:b2:01.0: AER: Multiple Uncorrected (Fatal) error received: 0000:b4:00.0", "aer-fatal"),
    ("mlx5_core 0000:b4:00.0: mlx5_pci_slot_reset Device state = 2 health sensors: 0", "mlx5-slot-reset"),
    ("mlx5_core 0000:b4:00.0: mlx5_pci_err_detected was called", "mlx5-slot-reset"),
    ("mlx5_core 0000:b4:00.0: poll_health:1000:(pid 0): device's health compromised - reached miss count",
     "mlx5-health"),
    ("mlx5_core 0000:b4:00.0: print_health_info:430:(pid 0): Health issue observed, firmware internal", "mlx5-health"),
    ("mlx5_core 0000:b4:00.0: wait_func:1160:(pid 9): ACCESS_REG(0x805) timeout. Will cause a leak of a command"
     " resource", "mlx5-command-timeout"),
    ("mlx5_core 0000:b4:00.0: Port module event[error]: module 0, Cable error, High Temperature", "mlx5-module-hot"),
    ("mlx5_core 0000:b4:00.0: Port module event[error]: module 0, Cable error, Bad or shorted cable/module",
     "mlx5-module-error"),
    ("mlx5_core 0000:01:00.0: Detected insufficient power on the PCIe slot (27W).", "mlx5-slot-power"),
    ("mlx5_core 0000:b4:00.0 enp180s0np0: Link down", "mlx5-link-down"),
    ("NETDEV WATCHDOG: enp180s0np0 (mlx5_core): transmit queue 3 timed out 5000 ms", "netdev-tx-timeout"),
    ("DMAR: [DMA Read NO_PASID] Request device [b4:00.0] fault addr 0x1000 [fault reason 0x06]", "iommu-fault"),
    ("NVRM: nvCheckOkFailedNoLog: Check failed: Out of memory [NV_ERR_NO_MEMORY] (0x00000051)", "nv-no-memory"),
    ("Out of memory: Killed process 4242 (python3) total-vm:1kB, anon-rss:1kB", "oom-kill"),
    ("NVRM: Xid (PCI:0000:b3:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.", "xid-79"),
)  # fmt: skip
# Healthy lines that resemble them.
QUIET = (
    "mlx5_core 0000:01:00.0: Port module event: module 0, Cable plugged",
    "mlx5_core 0000:01:00.0 enp1s0f0np0: Link up",
    "mlx5_core 0000:01:00.0: firmware version: 28.45.4028",
    "mlx5_core 0000:01:00.0: 126.024 Gb/s available PCIe bandwidth (32.0 GT/s PCIe x4 link)",
    "pcieport 0000:00:1c.0: AER: Corrected error message received from 0000:01:00.0",
    "pcieport 0000:00:1c.0: AER: enabled with IRQ 122",
    "DMAR: IOMMU enabled",
    "Memory cgroup out of memory: Killed process 11 (stress)",
    "NVRM: loading NVIDIA UNIX Open Kernel Module for aarch64  580.173.02",
)


def compiled() -> dict[str, re.Pattern[str]]:
    return {one["id"]: re.compile(one["pattern"]) for one in kernel_signatures()}


def test_the_request_is_within_the_probes_bounds() -> None:
    asked = kernel_signatures()
    assert 0 < len(asked) <= 64
    assert all(len(one["id"]) <= 64 and len(one["pattern"]) <= 300 for one in asked)
    assert len({one["id"] for one in asked}) == len(asked)
    assert all(re.compile(one["pattern"]).groups == bool(signatures()[one["id"]].numbers) for one in asked)


def test_every_signature_leads_to_a_known_finding_and_says_what_to_do() -> None:
    for one in signatures().values():
        assert one.finding in load_catalogue(), one.id
        assert one.cause.endswith(".") and one.fix, one.id
        assert one.severity in ("error", "warning", "info"), one.id


@pytest.mark.parametrize(("line", "id"), LINES)
def test_real_lines_are_met_by_one_signature(line: str, id: str) -> None:
    assert [event["id"] for event in found_in(iter([line]), compiled())] == [id]


@pytest.mark.parametrize("line", QUIET)
def test_healthy_lines_are_met_by_none(line: str) -> None:
    assert found_in(iter([line]), compiled()) == []


def test_every_signature_has_a_real_line_here() -> None:
    assert {id.removesuffix("-79") for _line, id in LINES} == set(signatures())


def logged(*events: tuple[str, int, str], uptime: Any = 86_400.0, spark: bool = False) -> Fabric:
    log = tuple(KernelEvent(id=id, count=count, last=last) for id, count, last in events)
    fabric = changed(spark_one_cable(), "spark-a", "host", kernel_log=log, uptime_s=uptime)
    return fabric if spark else changed(eight_rail_servers(1), "server-001", "host", kernel_log=log, uptime_s=uptime)


@pytest.mark.parametrize(("line", "id"), LINES)
def test_each_of_them_becomes_its_finding(line: str, id: str) -> None:
    found = ids(check_kernel_log, logged((id, 100, line)))
    signature = signatures()[id.removesuffix("-79")]
    severity = "error" if id.endswith("-79") else signature.severity
    assert found == [(signature.finding, severity, "server-001: kernel log")]


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_fabrics_have_quiet_logs(name: str) -> None:
    assert ids(check_kernel_log, RECORDED[name]()) == []


def test_low_slot_power_is_normal_on_gb10_and_told_elsewhere() -> None:
    event = ("mlx5-slot-power", 4, "mlx5_core 0000:01:00.0: Detected insufficient power on the PCIe slot (27W).")
    assert ids(check_kernel_log, logged(event, spark=True)) == []
    assert ids(check_kernel_log, logged(event)) == [("pcie-slot-power-low", "warning", "server-001: kernel log")]


@pytest.mark.parametrize(
    ("count", "uptime", "told"),
    [(72, 86_400.0, True), (71, 86_400.0, False), (19, 3600.0, False), (20, 3600.0, True), (20, 60.0, True)]
)  # fmt: skip
def test_links_may_go_down_now_and_then(count: int, uptime: float, told: bool) -> None:
    event = ("mlx5-link-down", count, "mlx5_core 0000:b4:00.0 enp180s0np0: Link down")
    assert ids(check_kernel_log, logged(event, uptime=uptime)) == (
        [("link-flap", "warning", "server-001: kernel log")] if told else []
    )
    assert ids(check_kernel_log, logged(event, uptime=Unknown(unknown="x"))) == []


def test_what_happened_to_another_device_is_not_the_fabrics() -> None:
    nvme = "pcieport 0000:00:1c.0: AER: Uncorrectable (Fatal) error message received from 0000:03:00.0"
    assert ids(check_kernel_log, logged(("aer-fatal", 1, nvme))) == []
    assert ids(check_kernel_log, logged(("netdev-tx-timeout", 1, "NETDEV WATCHDOG: eno1 (ice): transmit queue"))) == []


@pytest.mark.parametrize("id", ["xid-13", "xid-31", "xid", "xid-", "xid-abc", "xid-79-1", "no-such-thing", "", "-79"])
def test_ids_that_say_nothing_of_a_node_or_are_unknown_are_left_out(id: str) -> None:
    assert ids(check_kernel_log, logged((id, 5, "NVRM: Xid (PCI:0000:b3:00): 13"))) == []


def test_signatures_of_one_finding_are_told_together() -> None:
    fabric = logged(("xid-79", 1, "line of 79"), ("xid-154", 3, "line of 154"))
    found = only(check_kernel_log, fabric, "gpu-xid")
    assert texts(found) == ["1 x since boot, last: line of 79", "3 x since boot, last: line of 154"]
    assert found.fix[0] == "on server-001:"


def test_a_gpu_that_fell_off_the_bus_is_an_error_and_others_may_be_well_again() -> None:
    assert ids(check_kernel_log, logged(("xid-154", 3, "x"))) == [("gpu-xid", "warning", "server-001: kernel log")]
    fallen = logged(("xid-154", 3, "x"), ("xid-79", 1, "GPU has fallen off the bus"))
    assert ids(check_kernel_log, fallen) == [("gpu-xid", "error", "server-001: kernel log")]


def test_a_laptop_and_an_unread_log_say_nothing() -> None:
    log = (KernelEvent(id="oom-kill", count=3, last="Out of memory: Killed process 1 (chrome)"),)
    assert ids(check_kernel_log, changed(laptop(), "*", "host", kernel_log=log)) == []
    unread = changed(spark_one_cable(), "*", "host", kernel_log=Unknown(unknown="no CAP_SYSLOG"))
    assert ids(check_kernel_log, unread) == []


def test_a_spark_that_lost_its_card_still_tells_why() -> None:
    log = (KernelEvent(id="mlx5-health", count=1, last="mlx5_core 0000:01:00.0: Health issue observed"),)
    fabric = changed(spark_one_cable(), "spark-a", "host", kernel_log=log)
    fabric = changed(fabric, "spark-a", "node", hcas=())
    assert ids(check_kernel_log, fabric) == [("hca-health", "error", "spark-a: kernel log")]


AER = "pcieport {0}:00:00.0: AER: Uncorrectable (Fatal) error message received from {0}:01:00.0"


@pytest.mark.parametrize(
    ("domain", "near"), [("0000", True), ("0002", True), ("0004", False), ("0007", False), ("000f", False)]
)
def test_a_device_of_the_same_bus_in_another_domain_is_another_device(domain: str, near: bool) -> None:
    """On a Spark the SSD, the 10GbE port and the GPU are 01:00.0 too, each in a domain of its own."""
    found = ids(check_kernel_log, logged(("aer-fatal", 1, AER.format(domain)), spark=True))
    assert found == ([("pcie-aer-fatal", "error", "spark-a: kernel log")] if near else [])


@pytest.mark.parametrize(
    ("line", "near"),
    [
        ("DMAR: [DMA Write] Request device [b4:00.0] fault addr 0", True),
        ("DMAR: [DMA Write] Request device [b4:00.01] fault addr 0", False),
        ("DMAR: [DMA Write] Request device [1b4:00.0] fault addr 0", False),
        ("AMD-Vi: Event logged [IO_PAGE_FAULT device=0000:b4:00.0 domain=0x1]", True),
        ("AMD-Vi: Event logged [IO_PAGE_FAULT device=0001:b4:00.0 domain=0x1]", False),
        ("arm-smmu-v3 arm-smmu-v3.1.auto: event 0x10 received from 0000:b2:01.0:", True),
        ("arm-smmu-v3 arm-smmu-v3.1.auto: event 0x10 received from 0000:b2:00.0:", False),
    ],
)
def test_an_address_is_met_whole(line: str, near: bool) -> None:
    """0000:b4:00.0 is rail 5's NIC; 0000:b2:01.0 the bridge above it, 0000:b2:00.0 the one above the GPU beside it."""
    found = ids(check_kernel_log, logged(("iommu-fault", 1, line)))
    assert bool(found) is near


@pytest.mark.parametrize(("name", "near"), [("enp180s0np0", True), ("enp180s0np01", False), ("xenp180s0np0", False)])
def test_an_interface_is_met_by_its_whole_name(name: str, near: bool) -> None:
    line = f"NETDEV WATCHDOG: {name} (mlx5_core): transmit queue 3 timed out"
    assert bool(ids(check_kernel_log, logged(("netdev-tx-timeout", 1, line)))) is near
