"""How a GPU runs at this moment, by NVML: SM clocks and their cap, power, temperature, load, what slows it, C2C.

One look, no sampling and no setting. NVML (up to driver 610) has no call that reads back `nvidia-smi -lgc`
(nvmlDeviceSetGpuLockedClocks has no getter; nvidia-smi shows none either): a cap is known only where somebody set
applications clocks (`-ac`, which part with NVML's own default then). Judging clocks is fabricdoc's.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from .facts import unknown
from .nvml import Nvml, fact

Handle = Callable[[], Any]

# nvmlClockType_t, nvmlClockId_t, nvmlTemperatureSensors_t
SM_CLOCK = 1
APPLICATIONS_TARGET, APPLICATIONS_DEFAULT = 1, 2
GPU_SENSOR = 0
LOCK_NOT_READABLE = "NVML can't read back a lock set by nvidia-smi -lgc, and no applications clock is set"
NO_C2C = "NVML: not supported (it knows of no C2C link)"
# The new name since driver 535, then the old one of the same bits (nvmlClocksEventReasons).
REASON_CALLS = ("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons")
# By bit, as `nvidia-smi --query-gpu=clocks_event_reasons.*` names them.
REASONS = (
    "gpu_idle",
    "applications_clocks_setting",
    "sw_power_cap",
    "hw_slowdown",
    "sync_boost",
    "sw_thermal_slowdown",
    "hw_thermal_slowdown",
    "hw_power_brake_slowdown",
    "display_clock_setting",
)
REASON_BITS = 64


class Utilization(ctypes.Structure):
    """nvmlUtilization_t, percent of the last sample period (1/6 s to 1 s)."""

    _fields_ = (("gpu", ctypes.c_uint), ("memory", ctypes.c_uint))


def read(nvml: Nvml, handle: Handle) -> dict[str, Any]:
    """The fields of model.gpu.Gpu that change while it runs, and `c2c`."""
    return {
        "sm_clock_mhz": fact(lambda: nvml.number("nvmlDeviceGetClockInfo", handle(), ctypes.c_uint(SM_CLOCK))),
        "sm_clock_max_mhz": fact(lambda: nvml.number("nvmlDeviceGetMaxClockInfo", handle(), ctypes.c_uint(SM_CLOCK))),
        "sm_clock_cap_mhz": fact(lambda: _cap(nvml, handle()), LOCK_NOT_READABLE),
        "power_w": fact(lambda: nvml.number("nvmlDeviceGetPowerUsage", handle()) / 1000),
        "temperature_c": fact(lambda: nvml.number("nvmlDeviceGetTemperature", handle(), ctypes.c_uint(GPU_SENSOR))),
        "utilization_percent": fact(lambda: _utilization(nvml, handle())),
        "throttle_reasons": fact(lambda: _reasons(nvml, handle())),
        "c2c": fact(lambda: nvml.number("nvmlDeviceGetC2cModeInfoV", handle()) == 1, NO_C2C),
    }


def _cap(nvml: Nvml, device: Any) -> Any:
    """The applications clock in MHz where it is not the default one; else unknown, since a lock can't be read back."""
    target, usual = (
        nvml.number("nvmlDeviceGetClock", device, ctypes.c_uint(SM_CLOCK), ctypes.c_uint(which))
        for which in (APPLICATIONS_TARGET, APPLICATIONS_DEFAULT)
    )
    return target if target != usual else unknown(LOCK_NOT_READABLE)


def _utilization(nvml: Nvml, device: Any) -> int:
    load = Utilization()
    nvml.call("nvmlDeviceGetUtilizationRates", device, ctypes.byref(load))
    return int(load.gpu)


def _reasons(nvml: Nvml, device: Any) -> list[str]:
    """What keeps the clocks below the highest now; a bit this list does not know is named by its number."""
    try:
        bits = nvml.number(REASON_CALLS[0], device, kind=ctypes.c_ulonglong)
    except AttributeError:
        bits = nvml.number(REASON_CALLS[1], device, kind=ctypes.c_ulonglong)
    return [REASONS[bit] if bit < len(REASONS) else f"bit_{bit}" for bit in range(REASON_BITS) if bits >> bit & 1]
