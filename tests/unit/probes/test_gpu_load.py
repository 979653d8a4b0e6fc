"""How a GPU runs: clocks and a cap where one can be told, power, load, reasons by name, C2C."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest

from fabricdoc.probes import gpu_load
from fabricdoc.probes.facts import is_unknown
from fabricdoc.probes.nvml import Nvml
from tests.drivers import Gpu, nvml

pytestmark = pytest.mark.unit


def read(gpu: Gpu, without: tuple[str, ...] = ()) -> dict[str, Any]:
    return gpu_load.read(Nvml(nvml([gpu], without=without)), lambda: ctypes.c_void_p(1))


def test_every_figure_in_its_unit() -> None:
    found = read(Gpu(clock=2411, clock_max=3003, power_mw=14_500, temperature=51, utilization=96, c2c=1))
    assert (found["sm_clock_mhz"], found["sm_clock_max_mhz"]) == (2411, 3003)
    assert (found["power_w"], found["temperature_c"], found["utilization_percent"]) == (14.5, 51, 96)
    assert (found["c2c"], found["throttle_reasons"]) == (True, [])


def test_a_lock_can_not_be_read_back_and_is_not_made_up() -> None:
    assert read(Gpu(application_clocks=(1980, 1980)))["sm_clock_cap_mhz"] == {"unknown": gpu_load.LOCK_NOT_READABLE}
    refused = read(Gpu(refused={"nvmlDeviceGetClock": 3}))["sm_clock_cap_mhz"]
    assert refused == {"unknown": gpu_load.LOCK_NOT_READABLE}


def test_applications_clocks_that_somebody_set_are_the_cap() -> None:
    assert read(Gpu(application_clocks=(1000, 1980)))["sm_clock_cap_mhz"] == 1000


@pytest.mark.parametrize(
    ("bits", "names"),
    [
        (0x1, ["gpu_idle"]),
        (0x2, ["applications_clocks_setting"]),
        (0x4 | 0x80, ["sw_power_cap", "hw_power_brake_slowdown"]),
        (0x8 | 0x40, ["hw_slowdown", "hw_thermal_slowdown"]),
        (0x10 | 0x20 | 0x100, ["sync_boost", "sw_thermal_slowdown", "display_clock_setting"]),
        (1 << 63 | 1 << 9, ["bit_9", "bit_63"]),
    ],
)
def test_what_slows_it_by_name(bits: int, names: list[str]) -> None:
    assert read(Gpu(reasons=bits))["throttle_reasons"] == names


def test_an_older_driver_has_the_older_name_of_the_reasons() -> None:
    new, old = gpu_load.REASON_CALLS
    assert read(Gpu(reasons=4), without=(new,))["throttle_reasons"] == ["sw_power_cap"]
    assert is_unknown(read(Gpu(reasons=4), without=(new, old))["throttle_reasons"])


def test_a_refusal_of_the_new_call_is_its_answer() -> None:
    found = read(Gpu(reasons=4, refused={"nvmlDeviceGetCurrentClocksThrottleReasons": 4}))["throttle_reasons"]
    assert found == {"unknown": "NVML: Insufficient Permissions"}


def test_a_part_without_c2c_says_so() -> None:
    assert read(Gpu(c2c=0))["c2c"] is False
    assert read(Gpu(refused={"nvmlDeviceGetC2cModeInfoV": 3}))["c2c"] == {"unknown": gpu_load.NO_C2C}
    assert is_unknown(read(Gpu(), without=("nvmlDeviceGetC2cModeInfoV",))["c2c"])


def test_one_refusal_costs_one_figure() -> None:
    found = read(Gpu(refused={"nvmlDeviceGetPowerUsage": 3, "nvmlDeviceGetUtilizationRates": 15}))
    assert found["power_w"] == {"unknown": "NVML: not supported"}
    assert found["utilization_percent"] == {"unknown": "NVML: GPU is lost"}
    assert found["sm_clock_mhz"] == 2400


@pytest.mark.parametrize(
    "call", ["nvmlDeviceGetClockInfo", "nvmlDeviceGetTemperature", "nvmlDeviceGetUtilizationRates"]
)
def test_a_driver_without_a_call_costs_that_figure_alone(call: str) -> None:
    found = read(Gpu(), without=(call,))
    missing = [name for name, value in found.items() if value == {"unknown": "NVML: this driver lacks the function"}]
    assert len(missing) == 1


@pytest.mark.parametrize("power", [0, 999, 1000, 4_294_967_295])
def test_milliwatts_are_told_in_watts(power: int) -> None:
    assert read(Gpu(power_mw=power))["power_w"] == power / 1000
