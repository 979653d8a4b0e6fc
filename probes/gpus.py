"""GPUs as NVML sees them, asked through ctypes in a forked child, since a sick driver can hang.

No CUDA context is made, no setting is touched. Signatures and structures from nvml.h: PCI info is nvmlPciInfo_t (bus
id text at offset 36), a process is nvmlProcessInfo_t (24 bytes, pid first). On unified memory (GB10) NVML has no
memory size, which is reported as such. Clocks, power and load are `gpu_load`'s, CUDA's own attributes `cuda`'s.
"""

from __future__ import annotations

import ctypes
import signal
from collections.abc import Mapping
from typing import Any

from . import cuda, gpu_load, tenants
from .child import Say, Work
from .facts import exists, is_unknown, load, names, unknown
from .nvml import INVALID_ARGUMENT, NOT_SUPPORTED, Nvml, NvmlError, fact

LIBRARY = "libnvidia-ml.so.1"
# The driver's own devices (on Linux, and under WSL). Where they are missing its libraries would run nvidia-modprobe(1),
# which loads kernel modules and makes device files: a scan only looks.
DEVICES = ("/dev/nvidiactl", "/dev/dxg")
NO_DRIVER = f"there is no {DEVICES[0]}, and asking the NVIDIA driver would load it"
# NVML's own limit and that of the whole child: a cuInit that hangs then costs CUDA's answers only
NVML_LIMIT_S = 4.0
LIMIT_S = NVML_LIMIT_S + cuda.LIMIT_S
NVIDIA, DISPLAY_CLASS = "0x10de", "0x03"
PCI_SIZE, PCI_TEXT = 128, 36
MAX_GPUS = 256
MAX_PROCESSES = 1024
MEMORY_NOT_AVAILABLE = (1 << 64) - 1  # NVML_VALUE_NOT_AVAILABLE
UNIFIED = "NVML: not supported (unified memory)"
NO_MEMORY = "NVML does not say how much memory this process holds"
NVLINK_ENABLED = 1
MOST_NVLINKS = 72  # NVML_NVLINK_MAX_LINKS is 18 up to CUDA 13, and has grown with every generation
PROCESS_CALLS = ("nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetMPSComputeRunningProcesses_v3")


class Process(ctypes.Structure):
    """nvmlProcessInfo_t: instance numbers are not used."""

    _fields_ = (("pid", ctypes.c_uint), ("memory", ctypes.c_ulonglong), ("gi", ctypes.c_uint), ("ci", ctypes.c_uint))


def question(request: Mapping[str, Any]) -> Work:
    """The child's work: NVML, then CUDA unless the request says "cuda": false; each with a limit of its own.

    Nobody is asked where the driver is not loaded.
    """

    def both(say: Say) -> None:
        if not any(map(exists, DEVICES)):
            say({"reason": NO_DRIVER})
            return
        signal.setitimer(signal.ITIMER_REAL, NVML_LIMIT_S)
        ask(say)
        if request.get("cuda") is not False:
            signal.setitimer(signal.ITIMER_REAL, cuda.LIMIT_S)
            cuda.ask(say)

    return both


def ask(say: Say, load_library: Any = ctypes.CDLL) -> None:
    """Say {"gpus": [...], "driver": version} or {"reason": why there is no answer}."""
    try:
        nvml = Nvml(load_library(LIBRARY))
        nvml.call("nvmlInit_v2")
        count = ctypes.c_uint(0)
        nvml.call("nvmlDeviceGetCount_v2", ctypes.byref(count))
    except OSError as error:
        say({"reason": str(error)})
        return
    say({"driver": fact(lambda: nvml.words("nvmlSystemGetDriverVersion"))})
    say({"gpus": [gpu(nvml, index) for index in range(min(count.value, MAX_GPUS))]})
    nvml.call("nvmlShutdown")


def gpu(nvml: Nvml, index: int) -> dict[str, Any]:
    """One GPU (model.gpu.Gpu without CUDA's fields), each field on its own: what NVML refuses has its words.

    `tenants` is as said, {"pid", "memory_bytes"} each: the parent adds names and containers.
    """
    device = ctypes.c_void_p(None)

    def handle() -> ctypes.c_void_p:
        if not device.value:
            nvml.call("nvmlDeviceGetHandleByIndex_v2", ctypes.c_uint(index), ctypes.byref(device))
        return device

    held = fact(lambda: used(nvml, handle()))
    return {
        "index": index,
        "name": fact(lambda: nvml.text("nvmlDeviceGetName", handle())),
        "uuid": fact(lambda: nvml.text("nvmlDeviceGetUUID", handle())),
        "pci": fact(lambda: _pci(nvml, handle())),
        "compute_capability": fact(lambda: _capability(nvml, handle())),
        "memory_bytes": fact(lambda: _memory(nvml, handle()), UNIFIED),
        "nvlinks": fact(lambda: _nvlinks(nvml, handle())),
        "processes": held if is_unknown(held) else [one["pid"] for one in held],
        "tenants": held,
        **gpu_load.read(nvml, handle),
    }


def _pci(nvml: Nvml, device: Any) -> str:
    """The PCI address as the kernel writes it: NVML's eight-digit domain cut to four, lower case."""
    info = ctypes.create_string_buffer(PCI_SIZE)
    nvml.call("nvmlDeviceGetPciInfo_v3", device, info)
    text = info.raw[PCI_TEXT : PCI_TEXT + 32].split(b"\0", 1)[0].decode("ascii", "replace").lower()
    return text[4:] if text.startswith("0000") and text.index(":") == 8 else text


def _capability(nvml: Nvml, device: Any) -> str:
    major, minor = ctypes.c_int(0), ctypes.c_int(0)
    nvml.call("nvmlDeviceGetCudaComputeCapability", device, ctypes.byref(major), ctypes.byref(minor))
    return f"{major.value}.{minor.value}"


def _memory(nvml: Nvml, device: Any) -> int:
    """Bytes in total (nvmlMemory_t: total, free, used)."""
    memory = (ctypes.c_ulonglong * 3)()
    nvml.call("nvmlDeviceGetMemoryInfo", device, ctypes.byref(memory))
    return int(memory[0])


def _nvlinks(nvml: Nvml, device: Any) -> int:
    """How many of a GPU's NVLink links are up (nvmlDeviceGetNvLinkState); 0 for a part that NVML knows none of.

    A number beyond the part's links is an invalid argument, one it does not use is not supported.
    """
    active = 0
    for link in range(MOST_NVLINKS):
        try:
            active += nvml.number("nvmlDeviceGetNvLinkState", device, ctypes.c_uint(link)) == NVLINK_ENABLED
        except NvmlError as error:
            if error.code == INVALID_ARGUMENT:
                break
            if error.code != NOT_SUPPORTED:
                raise
            if link == 0:
                break
    return active


def used(nvml: Nvml, device: Any) -> list[dict[str, Any]]:
    """Processes with a compute context, MPS clients included, by pid (0 or the machine's number in a container)."""
    found: dict[int, Any] = {}
    for name in PROCESS_CALLS:
        try:
            found.update({one["pid"]: one for one in _listed(nvml, name, device)})
        except (NvmlError, AttributeError):
            if name == PROCESS_CALLS[0]:
                raise
    return [found[pid] for pid in sorted(found)]


def _listed(nvml: Nvml, name: str, device: Any) -> list[dict[str, Any]]:
    count = ctypes.c_uint(MAX_PROCESSES)
    listed = (Process * MAX_PROCESSES)()
    nvml.call(name, device, ctypes.byref(count), listed)
    return [{"pid": one.pid, "memory_bytes": _held(one.memory)} for one in listed[: count.value]]


def _held(size: int) -> Any:
    return unknown(NO_MEMORY) if size == MEMORY_NOT_AVAILABLE else size


def from_said(said: dict[str, Any], reason: str, root: str = "") -> Any:
    """The GPUs the child said; none where NVML is silent and the PCI bus has no NVIDIA GPU either."""
    if "gpus" in said:
        return [_whole(one, said, root) for one in said["gpus"]]
    why_not = str(said.get("reason") or reason or "NVML gave no answer")
    try:
        present = pci_gpus(root)
    except OSError:
        return unknown(f"{why_not}; the PCI bus can't be listed")
    return unknown(f"{why_not}; on the PCI bus: {', '.join(present)}") if present else []


def _whole(one: dict[str, Any], said: dict[str, Any], root: str) -> dict[str, Any]:
    """One GPU with what CUDA said of it, and with the names of those who use it."""
    used = one["tenants"]
    return {
        **one,
        "tenants": used if is_unknown(used) else tenants.named(used, root),
        **cuda.attributes(said, one["pci"]),
    }


def driver(known: Any, said: dict[str, Any]) -> Any:
    """The NVIDIA driver's version: the kernel module's (`known`), or what NVML says where that could not be read."""
    return said.get("driver", known) if is_unknown(known) else known


def pci_gpus(root: str = "") -> list[str]:
    """PCI addresses of NVIDIA display devices (vendor 0x10de, class 0x03*); raises OSError."""
    base = f"{root}/sys/bus/pci/devices"
    return [name for name in names(base) if _is_gpu(f"{base}/{name}")]


def _is_gpu(device: str) -> bool:
    try:
        return load(f"{device}/vendor") == NVIDIA and load(f"{device}/class").startswith(DISPLAY_CLASS)
    except OSError:
        return False
