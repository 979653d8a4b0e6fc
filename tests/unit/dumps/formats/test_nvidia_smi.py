"""nvidia-smi, -L, -q: GPUs, driver and tenants; N/A is no number."""

from __future__ import annotations

import pytest

from tests.unit.dumps.texts import facts, fixture, tools

pytestmark = pytest.mark.unit

TABLE, LONG = fixture("nvidia-smi.txt"), fixture("nvidia-smi-q.txt")


def gpu(index: int, text: str) -> dict[object, object]:
    return {path[2]: value for path, value in facts(text).items() if path[:2] == ("gpu", index)}


def test_a_gb10_has_no_memory_size() -> None:
    assert gpu(0, TABLE) == {
        "name": "NVIDIA GB10",
        "pci": "000f:01:00.0",
        "temperature_c": 41,
        "power_w": 5.0,
        "utilization_percent": 3,
        "memory_bytes": {"unknown": "nvidia-smi: not supported (unified memory)"},
        "processes": [4100, 4242],
    }


def test_a_gpu_with_memory() -> None:
    assert gpu(1, TABLE) == {
        "name": "NVIDIA H200",
        "pci": "0000:1b:00.0",
        "temperature_c": 33,
        "power_w": 120.0,
        "utilization_percent": 96,
        "memory_bytes": 143771 << 20,
    }


def test_the_driver() -> None:
    assert facts(TABLE)[("host", "nvidia_driver")] == "580.95.05"
    assert facts(LONG)[("host", "nvidia_driver")] == "580.95.05"


def test_long_output() -> None:
    assert gpu(0, LONG) == {
        "pci": "000f:01:00.0",
        "name": "NVIDIA GB10",
        "uuid": "GPU-00000000-1111-2222-3333-444444444444",
        "temperature_c": 41,
        "sm_clock_mhz": 611,
        "sm_clock_max_mhz": 3003,
    }


def test_the_list() -> None:
    text = "GPU 0: NVIDIA GB10 (UUID: GPU-0a)\nGPU 1: NVIDIA GB10 (UUID: GPU-0b)\n"
    assert gpu(1, text) == {"name": "NVIDIA GB10", "uuid": "GPU-0b"}


def test_each_is_one_part() -> None:
    assert [tool for tool, _first, _last in tools(TABLE)] in (["nvidia-smi"], ["", "nvidia-smi"])
    assert [tool for tool, _first, _last in tools(LONG)] == ["nvidia-smi"]
