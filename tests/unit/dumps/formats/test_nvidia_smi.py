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


ROW = "|   0  NVIDIA GB10                    On  |   0000000F:01:00.0 Off |                  N/A |\n"
HEAD = "| NVIDIA-SMI 580.95.05              Driver Version: 580.95.05      CUDA Version: 13.0     |\n"


GB10 = "| N/A   41C    P8              5W /  N/A  |      Not Supported    |      3%      Default |"
H100 = "| 30%   88C    P0            300W /  350W |   1024MiB /  81559MiB |     98%      Default |"
ILL = "| ERR!  N/A    P0            N/A  /  N/A  |             N/A       |     N/A      Default |"


@pytest.mark.parametrize(
    ("second", "told"),
    [
        (GB10, {"temperature_c": 41, "power_w": 5.0, "utilization_percent": 3}),
        (H100, {"temperature_c": 88, "power_w": 300.0, "utilization_percent": 98, "memory_bytes": 81559 << 20}),
        (ILL, {}),
    ],
)
def test_the_second_line_of_a_gpu(second: str, told: dict[str, object]) -> None:
    found = gpu(0, f"{HEAD}{ROW}{second}\n")
    unified = {"unknown": "nvidia-smi: not supported (unified memory)"}
    wanted = {"name": "NVIDIA GB10", "pci": "000f:01:00.0", **told}
    assert found == wanted | ({} if "memory_bytes" in told else {"memory_bytes": unified})


def test_a_second_line_is_of_the_gpu_above_it_alone() -> None:
    second = "| N/A   41C    P8              5W /  N/A  |      Not Supported    |      3%      Default |\n"
    assert gpu(0, f"{HEAD}{second}") == {}
    assert gpu(0, f"{HEAD}{ROW}{second}{second.replace('41C', '99C')}")["temperature_c"] == 41


def test_processes_of_each_gpu_once_each() -> None:
    row = "|    {}   N/A  N/A      {}      C   python3                                    100MiB |\n"
    text = HEAD + ROW + "".join(row.format(index, pid) for index, pid in ((0, 77), (0, 5), (0, 77), (1, 9)))
    assert gpu(0, text)["processes"] == [5, 77]
    assert gpu(1, text)["processes"] == [9]


@pytest.mark.parametrize("value", ["N/A", "None", "Unknown Error"])
def test_a_long_line_without_a_value_is_no_fact(value: str) -> None:
    text = f"GPU 0000000F:01:00.0\n    Product Name  : {value}\n    GPU UUID : {value}\n"
    assert gpu(0, text) == {"pci": "000f:01:00.0"}


def test_lines_above_the_first_gpu_are_of_none_but_the_driver() -> None:
    text = "==============NVSMI LOG==============\nDriver Version : 580.1\nProduct Name : NVIDIA H200\n"
    assert facts(text) == {("host", "nvidia_driver"): "580.1"}


def test_clocks_are_those_of_their_section() -> None:
    sections = ("Clocks", "Applications Clocks", "Max Clocks", "Max Customer Boost Clocks")
    body = "".join(f"    {name}\n        SM : {100 * at} MHz\n" for at, name in enumerate(sections, 1))
    assert gpu(0, f"GPU 0000000F:01:00.0\n{body}") == {
        "pci": "000f:01:00.0",
        "sm_clock_mhz": 100,
        "sm_clock_max_mhz": 300,
    }
