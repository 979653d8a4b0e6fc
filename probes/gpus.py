"""GPUs as NVML sees them, asked through ctypes in a forked child, since a sick driver can hang.

NVML only: no CUDA context is made, no setting is touched. Signatures and structures from nvml.h: PCI info is
nvmlPciInfo_t (bus id text at offset 36), a process is nvmlProcessInfo_t (24 bytes, pid first). On unified
memory (GB10) NVML has no memory size, which is reported as such.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from .child import Say
from .facts import clean, load, names, unknown

LIBRARY = "libnvidia-ml.so.1"
LIMIT_S = 4.0
NVIDIA, DISPLAY_CLASS = "0x10de", "0x03"
NOT_SUPPORTED, INSUFFICIENT_SIZE = 3, 7
TEXT_SIZE, PCI_SIZE, PCI_TEXT = 96, 128, 36
MAX_PROCESSES = 1024
UNIFIED = "NVML: not supported (unified memory)"
PROCESS_CALLS = ("nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetMPSComputeRunningProcesses_v3")


class NvmlError(OSError):
    """An NVML function that did not answer 0; `code` is its number."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(f"NVML: {text}")
        self.code = code


class Process(ctypes.Structure):
    """nvmlProcessInfo_t: memory and instance numbers are not used."""

    _fields_ = (("pid", ctypes.c_uint), ("memory", ctypes.c_ulonglong), ("gi", ctypes.c_uint), ("ci", ctypes.c_uint))


class Nvml:
    """NVML's functions with their return codes turned into NvmlError."""

    def __init__(self, library: Any) -> None:
        self._library = library
        library.nvmlErrorString.restype = ctypes.c_char_p

    def call(self, name: str, *arguments: Any) -> None:
        """Call one function; raises NvmlError, or AttributeError where this driver lacks it."""
        code = getattr(self._library, name)(*arguments)
        if code != 0:
            raise NvmlError(code, self._library.nvmlErrorString(code).decode("utf-8", "replace"))

    def text(self, name: str, device: Any) -> str:
        """What a function writes into a text buffer."""
        buffer = ctypes.create_string_buffer(TEXT_SIZE)
        self.call(name, device, buffer, ctypes.c_uint(TEXT_SIZE))
        return clean(buffer.value.decode("utf-8", "replace"))


def ask(say: Say, load_library: Any = ctypes.CDLL) -> None:
    """Say {"gpus": [...]} or {"reason": why there is no answer}."""
    try:
        nvml = Nvml(load_library(LIBRARY))
        nvml.call("nvmlInit_v2")
        count = ctypes.c_uint(0)
        nvml.call("nvmlDeviceGetCount_v2", ctypes.byref(count))
    except OSError as error:
        say({"reason": str(error)})
        return
    say({"gpus": [gpu(nvml, index) for index in range(count.value)]})
    nvml.call("nvmlShutdown")


def gpu(nvml: Nvml, index: int) -> dict[str, Any]:
    """One GPU (model.fabric.Gpu), each field on its own: one that NVML refuses is unknown with its words."""
    device = ctypes.c_void_p(None)

    def handle() -> ctypes.c_void_p:
        if not device.value:
            nvml.call("nvmlDeviceGetHandleByIndex_v2", ctypes.c_uint(index), ctypes.byref(device))
        return device

    return {
        "index": index,
        "name": _fact(lambda: nvml.text("nvmlDeviceGetName", handle())),
        "uuid": _fact(lambda: nvml.text("nvmlDeviceGetUUID", handle())),
        "pci": _fact(lambda: _pci(nvml, handle())),
        "compute_capability": _fact(lambda: _capability(nvml, handle())),
        "memory_bytes": _fact(lambda: _memory(nvml, handle()), UNIFIED),
        "processes": _fact(lambda: _processes(nvml, handle())),
    }


def _fact(read: Callable[[], Any], not_supported: str = "NVML: not supported") -> Any:
    try:
        return read()
    except NvmlError as error:
        return unknown(not_supported if error.code == NOT_SUPPORTED else str(error))
    except AttributeError:
        return unknown("NVML: this driver lacks the function")


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


def _processes(nvml: Nvml, device: Any) -> list[int]:
    """Pids with a compute context, MPS clients included; 0 or the host's number inside a container."""
    pids: set[int] = set()
    for name in PROCESS_CALLS:
        try:
            pids.update(_pids(nvml, name, device))
        except (NvmlError, AttributeError):
            if name == PROCESS_CALLS[0]:
                raise
    return sorted(pids)


def _pids(nvml: Nvml, name: str, device: Any) -> list[int]:
    count = ctypes.c_uint(MAX_PROCESSES)
    listed = (Process * MAX_PROCESSES)()
    nvml.call(name, device, ctypes.byref(count), listed)
    return [one.pid for one in listed[: count.value]]


def from_said(said: dict[str, Any], reason: str, root: str = "") -> Any:
    """The GPUs the child said; none where NVML is silent and the PCI bus has no NVIDIA GPU either."""
    if "gpus" in said:
        return said["gpus"]
    why_not = str(said.get("reason") or reason or "NVML gave no answer")
    try:
        present = pci_gpus(root)
    except OSError:
        return unknown(f"{why_not}; the PCI bus can't be listed")
    return unknown(f"{why_not}; on the PCI bus: {', '.join(present)}") if present else []


def pci_gpus(root: str = "") -> list[str]:
    """PCI addresses of NVIDIA display devices (vendor 0x10de, class 0x03*); raises OSError."""
    base = f"{root}/sys/bus/pci/devices"
    return [name for name in names(base) if _is_gpu(f"{base}/{name}")]


def _is_gpu(device: str) -> bool:
    try:
        return load(f"{device}/vendor") == NVIDIA and load(f"{device}/class").startswith(DISPLAY_CLASS)
    except OSError:
        return False
