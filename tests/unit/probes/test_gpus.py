"""GPUs through NVML's C interface: fields, refusals, unified memory, and a machine without any."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Gpu as GpuModel
from fabricdoc.probes import child, cuda, gpus
from tests.drivers import CudaDevice, Gpu, Library, nvml
from tests.drivers import cuda as cuda_driver
from tests.sysfs import spark, write

pytestmark = [
    pytest.mark.unit,
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]

ask_nvml = gpus.ask


@pytest.fixture(autouse=True)
def loaded_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpus, "DEVICES", ("/nonexistent", os.devnull))


def asked(library: Library) -> dict[str, Any]:
    said: dict[str, Any] = {}
    gpus.ask(said.update, lambda _name: library)
    return said


def read(*found: Gpu, without: tuple[str, ...] = ()) -> list[GpuModel]:
    said = asked(nvml(found, without=without))
    return [GpuModel.model_validate(one) for one in gpus.from_said(said, "", "/nowhere")]


def test_every_field_of_every_gpu() -> None:
    first, second = read(
        Gpu(name=b"NVIDIA H200", bus_id=b"00000000:1A:00.0", capability=(9, 0), pids=(30, 20)), Gpu(uuid=b"GPU-2")
    )
    assert (first.index, first.name, first.uuid) == (0, "NVIDIA H200", "GPU-1234")
    assert (first.pci, first.compute_capability) == ("0000:1a:00.0", "9.0")
    assert (first.memory_bytes, first.processes) == (1 << 37, (20, 30))
    assert (second.index, second.uuid) == (1, "GPU-2")


def test_a_long_pci_domain_is_kept() -> None:
    assert read(Gpu(bus_id=b"0000000F:01:00.0"))[0].pci == "000f:01:00.0"
    assert read(Gpu(bus_id=b"00010000:01:00.0"))[0].pci == "00010000:01:00.0"


def test_unified_memory_has_no_size() -> None:
    (gpu,) = read(Gpu(refused={"nvmlDeviceGetMemoryInfo": 3}))
    assert gpu.memory_bytes == Unknown(unknown="NVML: not supported (unified memory)")
    assert gpu.name == "NVIDIA GB10"


def test_a_refused_field_is_unknown_with_nvmls_words() -> None:
    (gpu,) = read(Gpu(refused={"nvmlDeviceGetUUID": 4, "pids": 4}))
    assert gpu.uuid == Unknown(unknown="NVML: Insufficient Permissions")
    assert gpu.processes == Unknown(unknown="NVML: Insufficient Permissions")


def test_a_gpu_without_a_handle_is_listed_with_unknown_fields() -> None:
    lost, well = read(Gpu(refused={"nvmlDeviceGetHandleByIndex_v2": 15}), Gpu())
    assert lost.index == 0
    assert lost.name == lost.pci == lost.processes == Unknown(unknown="NVML: GPU is lost")
    assert well.name == "NVIDIA GB10"


def test_mps_clients_count_and_an_old_driver_has_none() -> None:
    gpu = Gpu(pids=(7,), mps_pids=(7, 8))
    assert read(gpu)[0].processes == (7, 8)
    assert read(gpu, without=("nvmlDeviceGetMPSComputeRunningProcesses_v3",))[0].processes == (7,)
    missing = read(gpu, without=("nvmlDeviceGetComputeRunningProcesses_v3",))[0].processes
    assert missing == Unknown(unknown="NVML: this driver lacks the function")


def test_a_driver_that_is_not_loaded_is_a_reason() -> None:
    assert asked(nvml([], init=9)) == {"reason": "NVML: Driver Not Loaded"}


def test_no_library_is_a_reason() -> None:
    said: dict[str, Any] = {}

    def fail(name: str) -> Library:
        raise OSError(f"{name}: cannot open shared object file")

    gpus.ask(said.update, fail)
    assert said == {"reason": "libnvidia-ml.so.1: cannot open shared object file"}


def test_silence_on_a_machine_without_a_gpu_is_no_gpu(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "sys/bus/pci/devices/0000:01:00.0/vendor": "0x15b3",
            "sys/bus/pci/devices/0000:01:00.0/class": "0x030000",
            "sys/bus/pci/devices/0000:02:00.0/vendor": "0x10de",
            "sys/bus/pci/devices/0000:02:00.0/class": "0x040300",
        },
    )
    (tmp_path / "sys/bus/pci/devices/0000:03:00.0").mkdir()
    assert gpus.from_said({"reason": "NVML: Driver Not Loaded"}, "", str(tmp_path)) == []


def test_silence_with_a_gpu_on_the_bus_is_unknown(tmp_path: Path) -> None:
    spark(tmp_path)
    assert gpus.from_said({"reason": "NVML: Driver Not Loaded"}, "", str(tmp_path)) == {
        "unknown": "NVML: Driver Not Loaded; on the PCI bus: 000f:01:00.0"
    }
    hung = gpus.from_said({}, "no answer within 4 s", str(tmp_path))
    assert hung["unknown"].startswith("no answer within 4 s")


def test_silence_without_a_readable_bus_is_unknown(tmp_path: Path) -> None:
    assert "PCI bus can't be listed" in gpus.from_said({}, "", str(tmp_path))["unknown"]


def test_what_was_said_before_a_hang_counts() -> None:
    said = asked(nvml([Gpu()])) | {"cuda_begun": True}
    (gpu,) = gpus.from_said(said, "no answer within 4 s", "/nowhere")
    assert gpu["name"] == "NVIDIA GB10"
    assert gpu["gpudirect_rdma"] == {"unknown": "cuInit gave no answer within 2.5 s"}


def test_what_each_tenant_holds_and_what_nvml_does_not_say() -> None:
    (gpu,) = read(Gpu(pids=(30, 20), mps_pids=(40,), memory_of={20: 7 << 30, 40: 1 << 20}))
    assert gpu.processes == (20, 30, 40)
    assert not isinstance(gpu.tenants, Unknown)
    assert [one.memory_bytes for one in gpu.tenants] == [7 << 30, Unknown(unknown=gpus.NO_MEMORY), 1 << 20]


def test_tenants_that_nvml_refuses_to_list_are_unknown() -> None:
    (gpu,) = read(Gpu(refused={"pids": 4}))
    assert gpu.tenants == gpu.processes == Unknown(unknown="NVML: Insufficient Permissions")


def test_no_field_of_the_model_is_forgotten() -> None:
    (gpu,) = gpus.from_said(asked(nvml([Gpu()])), "", "/nowhere")
    assert set(gpu) == set(GpuModel.model_fields)


def test_how_it_runs_and_what_cuda_says_of_it_come_together() -> None:
    said = asked(nvml([Gpu(clock=2411)])) | {"cuda": {"000f:01:00.0": {"integrated": True, "gpudirect_rdma": False}}}
    (gpu,) = gpus.from_said(said, "", "/nowhere")
    assert (gpu["sm_clock_mhz"], gpu["integrated"], gpu["gpudirect_rdma"]) == (2411, True, False)


def test_the_drivers_version_where_the_kernel_does_not_show_it() -> None:
    said = asked(nvml([Gpu()]))
    hidden = {"unknown": "no NVIDIA kernel driver is loaded"}
    assert gpus.driver(hidden, said) == "580.95.05"
    assert gpus.driver("580.1", said) == "580.1"
    assert gpus.driver(hidden, {}) == hidden


@pytest.mark.parametrize(("request_", "asks"), [({}, True), ({"cuda": True}, True), ({"cuda": False}, False)])
def test_cuda_is_asked_after_nvml_unless_the_request_says_no(
    monkeypatch: pytest.MonkeyPatch, request_: dict[str, Any], asks: bool
) -> None:
    order: list[str] = []
    monkeypatch.setattr(gpus, "ask", lambda _say: order.append("nvml"))
    monkeypatch.setattr(cuda, "ask", lambda _say: order.append("cuda"))
    monkeypatch.setattr(signal, "setitimer", lambda _which, seconds: order.append(f"{seconds:g} s"))
    gpus.question(request_)(lambda _said: None)
    assert order == ["4 s", "nvml", *(["2.5 s", "cuda"] if asks else [])]


def test_where_the_driver_is_not_loaded_nobody_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(_say: object) -> None:
        raise AssertionError("it was asked, which loads modules")

    monkeypatch.setattr(gpus, "DEVICES", ("/nonexistent",))
    monkeypatch.setattr(gpus, "ask", never)
    monkeypatch.setattr(cuda, "ask", never)
    said: dict[str, Any] = {}
    gpus.question({})(said.update)
    assert said == {"reason": "there is no /dev/nvidiactl, and asking the NVIDIA driver would load it"}


def test_a_gb10_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """No memory size, no GPUDirect: facts of the part, none of them a failure."""
    monkeypatch.setattr(cuda, "DEVICES", (os.devnull,))
    for name in (cuda.HIDING, cuda.MPS_FOLDER):
        monkeypatch.setenv(name, "")
    said = asked(nvml([Gpu(pids=(7,), refused={"nvmlDeviceGetMemoryInfo": 3, "nvmlDeviceGetClock": 3})]))
    cuda.ask(said.update, lambda _name: cuda_driver([CudaDevice()]))
    (found,) = gpus.from_said(said, "", "/nowhere")
    gpu = GpuModel.model_validate(found)
    assert gpu.memory_bytes == Unknown(unknown="NVML: not supported (unified memory)")
    assert (gpu.integrated, gpu.gpudirect_rdma, gpu.dma_buf) == (True, False, False)
    assert (gpu.pci, gpu.compute_capability, gpu.processes) == ("000f:01:00.0", "12.1", (7,))
    assert isinstance(gpu.sm_clock_cap_mhz, Unknown)
    assert "-lgc" in gpu.sm_clock_cap_mhz.unknown


@pytest.mark.long
def test_a_cuinit_that_hangs_costs_only_cudas_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a real child: what NVML said is kept, and the child ends at CUDA's own limit."""
    monkeypatch.setattr(cuda, "LIMIT_S", 0.2)
    monkeypatch.setattr(gpus, "ask", lambda say: ask_nvml(say, lambda _name: nvml([Gpu()])))
    monkeypatch.setattr(cuda, "ask", lambda say: (say({"cuda_begun": True}), time.sleep(60)))
    begun = time.monotonic()
    said, reason = child.start(gpus.question({}), gpus.LIMIT_S).finish(30)
    assert time.monotonic() - begun < 4
    assert reason.startswith("no answer within")
    (gpu,) = gpus.from_said(said, reason, "/nowhere")
    assert gpu["name"] == "NVIDIA GB10"
    assert gpu["integrated"] == {"unknown": "cuInit gave no answer within 0.2 s"}


@pytest.mark.parametrize(
    ("gpu", "count"),
    [
        (Gpu(), 0),
        (Gpu(nvlinks=(1,) * 18), 18),
        (Gpu(nvlinks=(1, 0, 1, 0)), 2),
        (Gpu(nvlinks=(0,) * 12), 0),
        (Gpu(nvlinks=(1, 1, 1), refused={"nvlink 1": 3}), 2),
        (Gpu(nvlinks=(1, 1), refused={"nvlink 0": 3}), 0),
        (Gpu(nvlinks=(1,) * 500), gpus.MOST_NVLINKS),
    ],
)
def test_links_that_are_up_are_counted(gpu: Gpu, count: int) -> None:
    assert read(gpu)[0].nvlinks == count


def test_links_that_can_not_be_asked_are_unknown() -> None:
    assert read(Gpu(), without=("nvmlDeviceGetNvLinkState",))[0].nvlinks == Unknown(
        unknown="NVML: this driver lacks the function"
    )
    lost = read(Gpu(nvlinks=(1, 1), refused={"nvlink 1": 15}))[0]
    assert lost.nvlinks == Unknown(unknown="NVML: GPU is lost")
