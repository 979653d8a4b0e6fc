"""Stand-ins for NVML, CUDA and libibverbs: real C function pointers made by ctypes, called through real signatures."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

C = ctypes
NVML_WORDS = {
    2: b"Invalid Argument",
    15: b"GPU is lost",
    3: b"Not Supported",
    9: b"Driver Not Loaded",
    4: b"Insufficient Permissions",
}


class Library:
    """An object with C functions as attributes, as ctypes.CDLL gives; keeps what they point to alive."""

    def __init__(self) -> None:
        self.kept: list[Any] = []

    def add(self, name: str, function: Callable[..., Any], result: Any, *arguments: Any) -> None:
        """A C function `name` with the given types."""
        setattr(self, name, ctypes.CFUNCTYPE(result, *arguments)(function))


@dataclass(frozen=True)
class Gpu:
    """One GPU of the NVML stand-in; `refused` is the code that a function answers instead of 0."""

    name: bytes = b"NVIDIA GB10"
    uuid: bytes = b"GPU-1234"
    bus_id: bytes = b"0000000F:01:00.0"
    capability: tuple[int, int] = (12, 1)
    memory: int = 1 << 37
    pids: tuple[int, ...] = ()
    mps_pids: tuple[int, ...] = ()
    memory_of: Mapping[int, int] = field(default_factory=dict)
    clock: int = 2400
    clock_max: int = 3003
    application_clocks: tuple[int, int] = (0, 0)
    power_mw: int = 14_500
    temperature: int = 51
    utilization: int = 96
    reasons: int = 0
    c2c: int = 1
    nvlinks: tuple[int, ...] = ()
    refused: Mapping[str, int] = field(default_factory=dict)


NO_MEMORY_KNOWN = (1 << 64) - 1


def nvml(gpus: Sequence[Gpu], *, init: int = 0, without: Sequence[str] = ()) -> Library:
    """NVML with these GPUs; `init` is what nvmlInit_v2 answers, `without` names functions this driver lacks."""
    library = Library()
    made = _Nvml(gpus, init)
    pointer = C.c_void_p
    words = {code: C.create_string_buffer(word) for code, word in NVML_WORDS.items()}
    library.kept.append(words)
    signatures: dict[str, tuple[Any, ...]] = {
        "nvmlErrorString": (lambda code: C.addressof(words[code]), pointer, C.c_int),
        "nvmlInit_v2": (lambda: init, C.c_int),
        "nvmlShutdown": (lambda: 0, C.c_int),
        "nvmlDeviceGetCount_v2": (made.count, C.c_int, C.POINTER(C.c_uint)),
        "nvmlDeviceGetHandleByIndex_v2": (made.handle, C.c_int, C.c_uint, C.POINTER(pointer)),
        "nvmlDeviceGetName": (made.text("nvmlDeviceGetName", "name"), C.c_int, pointer, pointer, C.c_uint),
        "nvmlDeviceGetUUID": (made.text("nvmlDeviceGetUUID", "uuid"), C.c_int, pointer, pointer, C.c_uint),
        "nvmlDeviceGetPciInfo_v3": (made.pci, C.c_int, pointer, pointer),
        "nvmlDeviceGetCudaComputeCapability": (
            made.capability,
            C.c_int,
            pointer,
            C.POINTER(C.c_int),
            C.POINTER(C.c_int),
        ),
        "nvmlDeviceGetMemoryInfo": (made.memory, C.c_int, pointer, pointer),
        "nvmlDeviceGetComputeRunningProcesses_v3": (made.pids("pids"), C.c_int, pointer, C.POINTER(C.c_uint), pointer),
        "nvmlDeviceGetMPSComputeRunningProcesses_v3": (
            made.pids("mps_pids"),
            C.c_int,
            pointer,
            C.POINTER(C.c_uint),
            pointer,
        ),
    }
    for name, (function, *types) in {**signatures, **_load_signatures(made)}.items():
        if name not in without:
            library.add(name, function, *types)
    return library


def _load_signatures(made: _Nvml) -> dict[str, tuple[Any, ...]]:
    """What says how a GPU runs: one number behind a pointer each, with up to two numbers before it."""
    pointer, number, words = C.c_void_p, C.POINTER(C.c_uint), C.POINTER(C.c_ulonglong)
    reasons = made.one("nvmlDeviceGetCurrentClocksThrottleReasons", lambda gpu: gpu.reasons)
    return {
        "nvmlSystemGetDriverVersion": (made.driver, C.c_int, pointer, C.c_uint),
        "nvmlDeviceGetClockInfo": (made.clock("nvmlDeviceGetClockInfo", "clock"), C.c_int, pointer, C.c_uint, number),
        "nvmlDeviceGetMaxClockInfo": (
            made.clock("nvmlDeviceGetMaxClockInfo", "clock_max"), C.c_int, pointer, C.c_uint, number,
        ),
        "nvmlDeviceGetClock": (made.application_clock, C.c_int, pointer, C.c_uint, C.c_uint, number),
        "nvmlDeviceGetPowerUsage": (
            made.one("nvmlDeviceGetPowerUsage", lambda gpu: gpu.power_mw), C.c_int, pointer, number,
        ),
        "nvmlDeviceGetTemperature": (
            made.clock("nvmlDeviceGetTemperature", "temperature", 0), C.c_int, pointer, C.c_uint, number,
        ),
        "nvmlDeviceGetUtilizationRates": (made.utilization, C.c_int, pointer, pointer),
        "nvmlDeviceGetCurrentClocksEventReasons": (reasons, C.c_int, pointer, words),
        "nvmlDeviceGetCurrentClocksThrottleReasons": (reasons, C.c_int, pointer, words),
        "nvmlDeviceGetC2cModeInfoV": (
            made.one("nvmlDeviceGetC2cModeInfoV", lambda gpu: gpu.c2c), C.c_int, pointer, number,
        ),
        "nvmlDeviceGetNvLinkState": (made.nvlink, C.c_int, pointer, C.c_uint, number),
    }  # fmt: skip


class _Nvml:
    """The functions behind the stand-in; a device's handle is its index plus one."""

    def __init__(self, gpus: Sequence[Gpu], init: int) -> None:
        self.gpus = gpus
        self.init = init

    def _gpu(self, handle: int) -> Gpu:
        return self.gpus[handle - 1]

    def count(self, number: Any) -> int:
        number[0] = len(self.gpus)
        return 0

    def handle(self, index: int, device: Any) -> int:
        refused = self.gpus[index].refused.get("nvmlDeviceGetHandleByIndex_v2", 0)
        if not refused:
            device[0] = index + 1
        return refused

    def text(self, name: str, attribute: str) -> Callable[..., int]:
        def answer(handle: int, buffer: int, size: int) -> int:
            text: bytes = getattr(self._gpu(handle), attribute)
            C.memmove(buffer, text + b"\0", min(size, len(text) + 1))
            return self._gpu(handle).refused.get(name, 0)

        return answer

    def pci(self, handle: int, info: int) -> int:
        C.memmove(info, b"\xff" * 16 + bytes(20) + self._gpu(handle).bus_id + b"\0", 37 + len(self._gpu(handle).bus_id))
        return self._gpu(handle).refused.get("nvmlDeviceGetPciInfo_v3", 0)

    def capability(self, handle: int, major: Any, minor: Any) -> int:
        major[0], minor[0] = self._gpu(handle).capability
        return self._gpu(handle).refused.get("nvmlDeviceGetCudaComputeCapability", 0)

    def memory(self, handle: int, sizes: int) -> int:
        C.memmove(sizes, (C.c_ulonglong * 3)(self._gpu(handle).memory, 1, 2), 24)
        return self._gpu(handle).refused.get("nvmlDeviceGetMemoryInfo", 0)

    def pids(self, attribute: str) -> Callable[..., int]:
        def answer(handle: int, count: Any, listed: int) -> int:
            pids: tuple[int, ...] = getattr(self._gpu(handle), attribute)
            for place, pid in enumerate(pids):
                held = self._gpu(handle).memory_of.get(pid, NO_MEMORY_KNOWN)
                C.memmove(listed + 24 * place, C.byref(C.c_uint(pid)), 4)
                C.memmove(listed + 24 * place + 8, C.byref(C.c_ulonglong(held)), 8)
            count[0] = len(pids)
            return self._gpu(handle).refused.get(attribute, 0)

        return answer

    def driver(self, buffer: int, size: int) -> int:
        C.memmove(buffer, b"580.95.05\0", min(size, 10))
        return 0

    def one(self, name: str, value: Callable[[Gpu], int]) -> Callable[..., int]:
        def answer(handle: int, number: Any) -> int:
            number[0] = value(self._gpu(handle))
            return self._gpu(handle).refused.get(name, 0)

        return answer

    def clock(self, name: str, attribute: str, kind: int = 1) -> Callable[..., int]:
        """A number of the one kind (SM clock, GPU sensor) that the probe may ask for; 2 (invalid argument) else."""

        def answer(handle: int, which: int, number: Any) -> int:
            number[0] = getattr(self._gpu(handle), attribute)
            return 2 if which != kind else self._gpu(handle).refused.get(name, 0)

        return answer

    def application_clock(self, handle: int, kind: int, which: int, number: Any) -> int:
        if kind != 1 or which not in (1, 2):
            return 2
        number[0] = self._gpu(handle).application_clocks[which - 1]
        return self._gpu(handle).refused.get("nvmlDeviceGetClock", 0)

    def nvlink(self, handle: int, link: int, state: Any) -> int:
        """The states of a GPU's links; what lies behind them is 2 (invalid argument), any link of none 3."""
        links = self._gpu(handle).nvlinks
        if link >= len(links):
            return 2 if links else 3
        state[0] = links[link]
        return self._gpu(handle).refused.get(f"nvlink {link}", 0)

    def utilization(self, handle: int, numbers: int) -> int:
        C.memmove(numbers, (C.c_uint * 2)(self._gpu(handle).utilization, 3), 8)
        return self._gpu(handle).refused.get("nvmlDeviceGetUtilizationRates", 0)


@dataclass(frozen=True)
class CudaDevice:
    """One device of the CUDA stand-in: its PCI address and attributes by number; others are refused with 1."""

    pci: bytes = b"000F:01:00.0"
    attributes: Mapping[int, int] = field(default_factory=lambda: {18: 1, 116: 0, 124: 0})


def cuda(devices: Sequence[CudaDevice], *, init: int = 0, without: Sequence[str] = ()) -> Library:
    """The CUDA driver with these devices; `init` is what cuInit answers. It has no function that makes a context."""
    library = Library()
    name = C.create_string_buffer(b"CUDA_ERROR_NO_DEVICE")
    library.kept.append(name)

    def bus_id(text: int, size: int, device: int) -> int:
        C.memmove(text, devices[device].pci + b"\0", min(size, len(devices[device].pci) + 1))
        return 0

    def attribute(value: Any, number: int, device: int) -> int:
        if number not in devices[device].attributes:
            return 1
        value[0] = devices[device].attributes[number]
        return 0

    def error_name(code: int, text: int) -> int:
        C.memmove(text, C.byref(C.c_void_p(C.addressof(name))), C.sizeof(C.c_void_p))
        return 0 if code == 100 else 1

    number = C.POINTER(C.c_int)
    signatures: dict[str, tuple[Any, ...]] = {
        "cuInit": (lambda _flags: init, C.c_int, C.c_uint),
        "cuDeviceGetCount": (_writes(len(devices)), C.c_int, number),
        "cuDeviceGet": (lambda device, place: _write(device, place), C.c_int, number, C.c_int),
        "cuDeviceGetPCIBusId": (bus_id, C.c_int, C.c_void_p, C.c_int, C.c_int),
        "cuDeviceGetAttribute": (attribute, C.c_int, number, C.c_int, C.c_int),
        "cuGetErrorName": (error_name, C.c_int, C.c_int, C.c_void_p),
    }
    for function, (made, *types) in signatures.items():
        if function not in without:
            library.add(function, made, *types)
    return library


def _write(number: Any, value: int) -> int:
    number[0] = value
    return 0


def _writes(value: int) -> Callable[[Any], int]:
    return lambda number: _write(number, value)


@dataclass(frozen=True)
class VerbsDevice:
    """One device of the libibverbs stand-in: the mtu number of each port, or no answer when opened."""

    name: bytes
    mtus: tuple[int, ...] = (5,)
    opens: bool = True


def verbs(devices: Sequence[VerbsDevice] | None) -> Library:
    """libibverbs with these devices; None is a kernel without RDMA (ENOSYS)."""
    library = Library()
    listed = (C.c_void_p * (len(devices or ()) + 1))(*range(1, len(devices or ()) + 1))
    library.kept.append(listed)
    found = {place + 1: device for place, device in enumerate(devices or ())}
    names = {handle: C.create_string_buffer(device.name) for handle, device in found.items()}
    library.kept.append(names)

    def get_list(count: Any) -> int | None:
        if devices is None:
            C.set_errno(38)
            return None
        count[0] = len(devices)
        return C.addressof(listed)

    def open_device(handle: int) -> int | None:
        if not found[handle].opens:
            C.set_errno(13)
            return None
        return handle + 100

    def query_port(context: int, port: int, attributes: int) -> int:
        mtus = found[context - 100].mtus
        if port > len(mtus):
            return 22
        C.memmove(attributes, (C.c_int * 3)(4, 5, mtus[port - 1]), 12)
        return 0

    library.add("ibv_get_device_list", get_list, C.c_void_p, C.POINTER(C.c_int))
    library.add("ibv_free_device_list", lambda _listed: None, None, C.c_void_p)
    library.add("ibv_get_device_name", lambda handle: C.addressof(names[handle]), C.c_void_p, C.c_void_p)
    library.add("ibv_open_device", open_device, C.c_void_p, C.c_void_p)
    library.add("ibv_query_port", query_port, C.c_int, C.c_void_p, C.c_uint8, C.c_void_p)
    library.add("ibv_close_device", lambda _context: 0, C.c_int, C.c_void_p)
    return library
