"""Host facts: every field of the model read, each on its own, the quick ones first."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Host
from fabricdoc.probes import host
from fabricdoc.probes.facts import is_unknown
from tests.sysfs import write

pytestmark = pytest.mark.unit

FIRST_NAMESPACE = "         0          0 4294967295"


def machine(root: Path, **changed: str) -> str:
    files = {
        "etc/os-release": 'NAME="Ubuntu"\nPRETTY_NAME="Ubuntu 24.04.3 LTS"',
        "etc/machine-id": "abc",
        "proc/sys/kernel/random/boot_id": "11111111-2222",
        "proc/meminfo": "MemTotal:       125000000 kB\nMemFree: 1 kB\nMemAvailable:   100000000 kB",
        "proc/self/uid_map": FIRST_NAMESPACE,
        "proc/self/status": "Name:\tpython3\nCapEff:\t0000000000000000",
        "sys/module/nvidia/version": "580.95.05",
        "dev/infiniband/uverbs0": "",
        "dev/infiniband/rdma_cm": "",
        "dev/shm/x": "",
    }
    write(root, files | changed)
    return str(root)


def filled(root: str, environ: dict[str, str] | None = None, **request: Any) -> dict[str, Any]:
    found = host.blank()
    host.fill(found, root, request, environ or {})
    return found


def test_every_field_of_the_model_is_read(tmp_path: Path) -> None:
    found = filled(machine(tmp_path))
    report = Host.model_validate(found)
    assert (report.os, report.machine_id, report.boot_id) == ("Ubuntu 24.04.3 LTS", "abc", "11111111-2222")
    assert (report.memory_total, report.memory_available) == (125_000_000 * 1024, 100_000_000 * 1024)
    assert (report.nvidia_driver, report.infiniband_devices) == ("580.95.05", ("rdma_cm", "uverbs0"))
    assert (report.hostname, report.kernel, report.arch) == (
        os.uname().nodename,
        os.uname().release,
        os.uname().machine,
    )
    assert report.cpus == len(os.sched_getaffinity(0))
    assert report.python == ".".join(map(str, sys.version_info[:3]))
    assert isinstance(report.shm_bytes, int)
    assert is_unknown(found["libibverbs"])


def test_no_field_of_the_model_is_forgotten(tmp_path: Path) -> None:
    assert set(filled(machine(tmp_path))) == set(Host.model_fields)
    assert set(host.blank()) == set(Host.model_fields)


def test_what_the_newer_fields_say(tmp_path: Path) -> None:
    root = machine(
        tmp_path,
        **{
            "sys/class/dmi/id/sys_vendor": "NVIDIA",
            "sys/class/dmi/id/product_name": "NVIDIA_DGX_Spark",
            "sys/class/dmi/id/bios_version": "0105",
            "sys/module/ib_core/initstate": "live",
            "proc/sys/net/ipv4/ip_forward": "1",
            "proc/uptime": "12.5 3.0",
            "etc/nccl.conf": "NCCL_DEBUG=INFO",
            "etc/ufw/ufw.conf": "ENABLED=yes",
        },
    )
    before = time.time()
    report = Host.model_validate(filled(root))
    assert (report.product, report.bios) == ("NVIDIA_DGX_Spark", "0105")
    assert (report.modules, report.ip_forward, report.uptime_s) == (("ib_core", "nvidia"), True, 12.5)
    assert not isinstance(report.nccl_conf, Unknown)
    assert report.nccl_conf[-1].values == {"NCCL_DEBUG": "INFO"}
    assert isinstance(report.clock, float)
    assert before <= report.clock <= time.time()
    assert str(report.firewall).endswith("ufw is enabled")
    assert report.hotplug_armed is False


def test_the_environment_is_the_one_given(tmp_path: Path) -> None:
    assert filled(machine(tmp_path), {"NCCL_DEBUG": "INFO", "PATH": "/"})["environment"] == {"NCCL_DEBUG": "INFO"}


def test_a_request_that_is_nonsense_costs_only_what_it_asks_for(tmp_path: Path) -> None:
    found = filled(machine(tmp_path), hash="yes", kernel_signatures=[{"id": "x", "pattern": "("}])
    assert is_unknown(found["kernel_log"])
    assert "no pattern" in found["kernel_log"]["unknown"]
    assert found["libnccl"] == []


def test_what_may_take_long_is_read_last() -> None:
    assert list(host.fields("", {}, {}))[-4:] == ["nccl_plugins", "libnccl", "firewall", "kernel_log"]
    assert next(iter(host.fields("", {}, {}))) == "clock"


def test_a_blank_host_is_the_model_with_every_fact_unknown() -> None:
    report = Host.model_validate(host.blank())
    assert all(is_unknown(fact) for name, fact in host.blank().items() if name != "environment")
    assert report.environment == {}


def test_an_empty_tree_costs_only_the_facts_it_holds(tmp_path: Path) -> None:
    found = filled(str(tmp_path))
    Host.model_validate(found)
    for name in ("os", "machine_id", "boot_id", "memory_total", "memlock", "shm_bytes", "nvidia_driver"):
        assert is_unknown(found[name]), name
    assert found["infiniband_devices"] == []


def test_os_release_without_a_name() -> None:
    assert is_unknown(host.os_name("NAME=x"))
    assert host.os_name("PRETTY_NAME='A B'") == "A B"
