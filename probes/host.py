"""The operating system as a process started here sees it: the list of facts, and the reading of them in order.

Every field is read on its own, so one that hangs or fails costs nothing but itself and what comes after it: what may
take long comes last. What each fact is stands in the module it is read by.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

from . import firewall, kernel_log, libraries, limits, machine, nccl_conf
from .deadline import TIME_LIMIT
from .environment import environment
from .facts import attempt, clean, exists, load, names, read_text, unknown
from .packages import import_path, torch_version

Request = Mapping[str, Any]
Reader = Callable[[], Any]


def fields(root: str, environ: Mapping[str, str], request: Request) -> dict[str, Reader]:
    """The reader of each field of model.fabric.Host but `environment` and what a child asks, the quick ones first."""
    return {**_system(root), **_machine(root), **_software(root, environ, request)}


def _system(root: str) -> dict[str, Reader]:
    system = os.uname()
    return {
        "clock": time.time,
        "hostname": lambda: clean(system.nodename),
        "kernel": lambda: system.release,
        "os": lambda: os_name(load(f"{root}/etc/os-release")),
        "arch": lambda: system.machine,
        "cpus": lambda: len(os.sched_getaffinity(0)),
        "python": lambda: ".".join(str(number) for number in sys.version_info[:3]),
        "machine_id": lambda: read_text(f"{root}/etc/machine-id"),
        "boot_id": lambda: read_text(f"{root}/proc/sys/kernel/random/boot_id"),
        "memory_total": lambda: limits.meminfo(load(f"{root}/proc/meminfo"), "MemTotal"),
        "memory_available": lambda: limits.meminfo(load(f"{root}/proc/meminfo"), "MemAvailable"),
        "memlock": lambda: limits.memlock(root),
        "shm_bytes": lambda: limits.size(f"{root}/dev/shm"),
        "nvidia_driver": lambda: nvidia_driver(root),
        "infiniband_devices": lambda: infiniband_devices(root),
    }


def _machine(root: str) -> dict[str, Reader]:
    return {
        "product": lambda: machine.product(root),
        "bios": lambda: machine.bios(root),
        "governor": lambda: machine.governor(root),
        "iommu": lambda: machine.iommu(root),
        "modules": lambda: machine.modules(root),
        "ip_forward": lambda: machine.ip_forward(root),
        "hotplug_armed": lambda: machine.hotplug_armed(root),
        "uptime_s": lambda: machine.uptime(root),
        "host_network": lambda: machine.host_network(root),
    }


def _software(root: str, environ: Mapping[str, str], request: Request) -> dict[str, Reader]:
    path = import_path(environ)
    search = libraries.Search(root, environ, path)
    return {
        "torch": lambda: torch_version(path),
        "nccl_conf": lambda: nccl_conf.read(root, environ),
        "ibverbs_providers": lambda: libraries.providers(search),
        "nccl_plugins": lambda: libraries.nccl_plugins(search),
        "libnccl": lambda: libraries.libnccl(search, hashed=request.get("hash") is True),
        "firewall": lambda: firewall.read(root),
        "kernel_log": lambda: kernel_log.read(root, request.get("kernel_signatures")),
    }


def blank() -> dict[str, Any]:
    """A host of which nothing was read in time."""
    unread = dict.fromkeys((*fields("", {}, {}), "libibverbs", "uverbs"), unknown(TIME_LIMIT))
    return {**unread, "environment": {}}


def fill(
    host: dict[str, Any],
    root: str = "",
    request: Request | None = None,
    environ: Mapping[str, str] = os.environ,
) -> None:
    """Read every field into `host`, one after the other; `request` is the scan's (hash, kernel_signatures)."""
    host["environment"] = environment(environ)
    for name, read in fields(root, environ, request or {}).items():
        host[name] = attempt(read)


def os_name(text: str) -> Any:
    """PRETTY_NAME of an os-release file."""
    for line in text.splitlines():
        if line.startswith("PRETTY_NAME="):
            return line.partition("=")[2].strip("\"'")
    return unknown("os-release has no PRETTY_NAME")


def nvidia_driver(root: str) -> Any:
    """Version of the loaded NVIDIA kernel driver."""
    path = f"{root}/sys/module/nvidia/version"
    return read_text(path) if exists(path) else unknown("no NVIDIA kernel driver is loaded")


def infiniband_devices(root: str) -> list[str]:
    """Device files of RDMA (uverbs0, rdma_cm, ...); none where /dev/infiniband does not exist. Raises OSError."""
    folder = f"{root}/dev/infiniband"
    return names(folder) if exists(folder) else []
