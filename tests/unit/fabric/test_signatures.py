"""The patterns a probe is sent: what the file holds, read without tomllib, and fit for the probe."""

from __future__ import annotations

import tomllib
from importlib.resources import files

import pytest

from fabricdoc.fabric.signatures import kernel_signatures, signatures_in
from fabricdoc.probes import kernel_log

pytestmark = pytest.mark.unit

# Lines as kernels and drivers write them, each after the signature it must be taken for.
LINES = (
    ("mlx5-link-down", "mlx5_core 0000:01:00.0 enp1s0f0np0: Link down"),
    ("mlx5-health", "mlx5_core 0000:01:00.0: poll_health:838: device's health compromised - reached miss count"),
    (
        "mlx5-health",
        "mlx5_core 0000:01:00.0: print_health_info:435: Health issue observed, firmware internal error, severity(3)",
    ),
    (
        "mlx5-command-timeout",
        "mlx5_core 0000:01:00.0: wait_func:1151: CREATE_QP(0x500) timeout. Will cause a leak of a command resource",
    ),
    ("mlx5-module-hot", "mlx5_core 0000:01:00.0: Port module event[error]: module 0, Cable error, High Temperature"),
    (
        "mlx5-slot-power",
        "mlx5_core 0000:01:00.0: mlx5_pcie_event:301: Detected insufficient power on the PCIe slot (27W).",
    ),
    ("aer-fatal", "pcieport 0000:00:00.0: AER: Uncorrectable (Fatal) error message received from 0000:01:00.0"),
    ("xid-119", "NVRM: Xid (PCI:000f:01:00): 119, pid=2041, name=python3, Timeout after 6s of waiting for RPC"),
    ("nv-no-memory", "NVRM: nvAssertOkFailedNoLog: Assertion failed: Out of memory [NV_ERR_NO_MEMORY] (0x00000051)"),
)


def entries() -> list[dict[str, str]]:
    text = files("fabricdoc.presets").joinpath("signatures", "kernel_log.toml").read_text("utf-8")
    return [{"id": one["id"], "pattern": one["pattern"]} for one in tomllib.loads(text)["signature"]]


def test_it_is_what_tomllib_reads() -> None:
    assert list(kernel_signatures()) == entries()
    assert len(kernel_signatures()) > 5


def test_the_probe_takes_all_of_them() -> None:
    assert list(kernel_log.compiled(list(kernel_signatures()))) == [one["id"] for one in kernel_signatures()]


@pytest.mark.parametrize(("id", "line"), LINES, ids=[line for line, _id in LINES])
def test_lines_as_drivers_write_them_are_met(id: str, line: str) -> None:
    found = kernel_log.found_in(iter([line]), kernel_log.compiled(list(kernel_signatures())))
    assert id in [one["id"] for one in found]


@pytest.mark.parametrize(
    "line",
    [
        "mlx5_core 0000:01:00.0 enp1s0f0np0: Link up",
        "mlx5_core 0000:01:00.0: Port module event: module 0, Cable plugged",
        "mlx5_core 0000:01:00.0: firmware version: 28.45.4028",
        "NVRM: loading NVIDIA UNIX Open Kernel Module for aarch64  580.95.05",
        "pcieport 0000:00:1c.0: AER: enabled with IRQ 122",
        "r8169 0007:01:00.0 enP7s7: Link is Down",
    ],
)
def test_lines_of_a_healthy_node_are_not(line: str) -> None:
    assert kernel_log.found_in(iter([line]), kernel_log.compiled(list(kernel_signatures()))) == []


@pytest.mark.long
def test_no_pattern_takes_long_on_a_hostile_line() -> None:
    """Backtracking that grows with the square of a record's 8 KiB would be seconds, not milliseconds."""
    import time

    signatures = kernel_log.compiled(list(kernel_signatures()))
    hostile = ["mlx5_core " * 800, "AER: " * 1600, "NVRM: " * 1300, "Port module event " * 450, "a" * 8000]
    begun = time.process_time()
    assert kernel_log.found_in(iter(hostile), signatures) == []
    assert time.process_time() - begun < 5


def test_half_an_entry_is_none() -> None:
    text = '[[signature]]\nid = "a"\n\n[[signature]]\nid = "b"\npattern = \'x\\d\'\ncause = "id"\n'
    assert signatures_in(text) == ({"id": "b", "pattern": "x\\d"},)
    assert signatures_in("") == ()
