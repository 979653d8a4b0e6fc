"""The operating system as a process started here sees it: names, memory, limits, libraries, environment.

Every field is read on its own, so one that hangs or fails costs nothing but itself. The environment is an
allow-list: what could hold a secret is never read. Nothing is imported to learn its version.
"""

from __future__ import annotations

import os
import re
import resource
import site
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .deadline import TIME_LIMIT
from .facts import attempt, clean, exists, listed, load, names, read_text, unknown

ALLOWED = ("NCCL_", "GLOO_", "UCX_", "TP_SOCKET", "CUDA_VISIBLE_DEVICES")
SECRET = re.compile(r"TOKEN|KEY|SECRET")
MAX_VALUE = 1024
CAP_IPC_LOCK = 14
UNLIMITED = -1


def fields(root: str, path: Iterable[str]) -> dict[str, Callable[[], Any]]:
    """The reader of each field of model.fabric.Host but `libibverbs` and `environment`."""
    system = os.uname()
    return {
        "hostname": lambda: clean(system.nodename),
        "kernel": lambda: system.release,
        "os": lambda: os_name(load(f"{root}/etc/os-release")),
        "arch": lambda: system.machine,
        "cpus": lambda: len(os.sched_getaffinity(0)),
        "python": lambda: ".".join(str(number) for number in sys.version_info[:3]),
        "machine_id": lambda: read_text(f"{root}/etc/machine-id"),
        "boot_id": lambda: read_text(f"{root}/proc/sys/kernel/random/boot_id"),
        "memory_total": lambda: meminfo(load(f"{root}/proc/meminfo"), "MemTotal"),
        "memory_available": lambda: meminfo(load(f"{root}/proc/meminfo"), "MemAvailable"),
        "memlock": lambda: memlock(root),
        "shm_bytes": lambda: size(f"{root}/dev/shm"),
        "nvidia_driver": lambda: nvidia_driver(root),
        "infiniband_devices": lambda: infiniband_devices(root),
        "torch": lambda: torch_version(path),
    }


def blank() -> dict[str, Any]:
    """A host of which nothing was read in time."""
    unread = dict.fromkeys((*fields("", ()), "libibverbs"), unknown(TIME_LIMIT))
    return {**unread, "environment": {}}


def fill(host: dict[str, Any], root: str = "", environ: Mapping[str, str] = os.environ) -> None:
    """Read every field into `host`, one after the other."""
    host["environment"] = environment(environ)
    for name, read in fields(root, import_path(environ)).items():
        host[name] = attempt(read)


def os_name(text: str) -> Any:
    """PRETTY_NAME of an os-release file."""
    for line in text.splitlines():
        if line.startswith("PRETTY_NAME="):
            return line.partition("=")[2].strip("\"'")
    return unknown("os-release has no PRETTY_NAME")


def meminfo(text: str, name: str) -> Any:
    """One line of /proc/meminfo in bytes (it says kB and means KiB)."""
    found = re.search(rf"^{name}:\s+(\d+) kB$", text, re.MULTILINE)
    return int(found[1]) * 1024 if found else unknown(f"/proc/meminfo has no {name}")


def memlock(root: str) -> int:
    """The locked-memory limit that holds for RDMA registration here, in bytes; -1 when there is none.

    The kernel does not hold a process with CAP_IPC_LOCK in the first user namespace to its limit
    (drivers/infiniband/core/umem.c), so for such a process the answer is -1 whatever the limit says.
    """
    if _in_first_user_namespace(root) and _capabilities(root) >> CAP_IPC_LOCK & 1:
        return UNLIMITED
    soft, _hard = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    return UNLIMITED if soft == resource.RLIM_INFINITY else soft


def _in_first_user_namespace(root: str) -> bool:
    return load(f"{root}/proc/self/uid_map").split() == ["0", "0", "4294967295"]


def _capabilities(root: str) -> int:
    found = re.search(r"^CapEff:\s*([0-9a-f]+)$", load(f"{root}/proc/self/status"), re.MULTILINE)
    return int(found[1], 16) if found else 0


def size(path: str) -> int:
    """Bytes of the file system at `path`; raises OSError."""
    about = os.statvfs(path)
    return about.f_blocks * about.f_frsize


def nvidia_driver(root: str) -> Any:
    """Version of the loaded NVIDIA kernel driver."""
    path = f"{root}/sys/module/nvidia/version"
    return read_text(path) if exists(path) else unknown("no NVIDIA kernel driver is loaded")


def infiniband_devices(root: str) -> list[str]:
    """Device files of RDMA (uverbs0, rdma_cm, ...); none where /dev/infiniband does not exist. Raises OSError."""
    folder = f"{root}/dev/infiniband"
    return names(folder) if exists(folder) else []


def environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables on the allow-list, values cut to 1024 characters; a name that smells of a secret is dropped."""
    return {
        clean(name): clean(value)[:MAX_VALUE]
        for name, value in sorted(environ.items())
        if name.startswith(ALLOWED) and not SECRET.search(name.upper())
    }


def import_path(environ: Mapping[str, str]) -> list[str]:
    """Where this python would look for packages if it were not isolated: PYTHONPATH, user site, its own path."""
    ahead = [one for one in environ.get("PYTHONPATH", "").split(os.pathsep) if one]
    return [*ahead, site.getusersitepackages(), *(one for one in sys.path if one)]


def torch_version(path: Iterable[str]) -> Any:
    """Version of the first torch on `path`, from its package metadata; torch is never imported."""
    for folder in path:
        for name in listed(folder):
            if re.fullmatch(r"torch-[^-]+(-py[\d.]+)?\.(dist|egg)-info", name):
                return name.split("-")[1].removesuffix(".dist").removesuffix(".egg")
    return unknown("no package metadata of torch on this python's path")
