"""CUDA's attributes without a context: values, refusals, a driver that is not there, and no trace outside the child."""

from __future__ import annotations

import os
from typing import Any

import pytest

from fabricdoc.probes import cuda
from fabricdoc.probes.facts import is_unknown
from tests.drivers import CudaDevice, Library
from tests.drivers import cuda as driver

pytestmark = pytest.mark.unit


@pytest.fixture(autouse=True)
def own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda, "DEVICES", ("/nonexistent", os.devnull))
    monkeypatch.setenv(cuda.HIDING, "1")
    monkeypatch.setenv(cuda.MPS_FOLDER, "/run/mps")


def asked(library: Library) -> dict[str, Any]:
    said: dict[str, Any] = {}
    cuda.ask(said.update, lambda _name: library)
    return said


def test_a_gb10_can_no_gpudirect_which_is_a_fact() -> None:
    said = asked(driver([CudaDevice()]))
    assert cuda.attributes(said, "000f:01:00.0") == {"integrated": True, "gpudirect_rdma": False, "dma_buf": False}


def test_servers_gpus_are_told_apart_by_their_address() -> None:
    can = {18: 0, 116: 1, 124: 1}
    said = asked(driver([CudaDevice(b"0000:1A:00.0", can), CudaDevice(b"0000:3d:00.0", can | {124: 0})]))
    assert cuda.attributes(said, "0000:1a:00.0") == {"integrated": False, "gpudirect_rdma": True, "dma_buf": True}
    assert cuda.attributes(said, "0000:3d:00.0")["dma_buf"] is False


def test_an_attribute_an_old_driver_does_not_know_is_unknown() -> None:
    found = cuda.attributes(asked(driver([CudaDevice(attributes={18: 0, 116: 1})])), "000f:01:00.0")
    assert found["dma_buf"] == {"unknown": "attribute 124: CUDA: cuDeviceGetAttribute answered 1"}
    assert found["gpudirect_rdma"] is True


def test_a_gpu_cuda_does_not_list_is_unknown() -> None:
    said = asked(driver([CudaDevice()]))
    for address in ("0000:99:00.0", {"unknown": "NVML: GPU is lost"}):
        found = cuda.attributes(said, address)
        assert set(found) == set(cuda.ATTRIBUTES)
        assert all(fact == {"unknown": cuda.NOT_LISTED} for fact in found.values())


@pytest.mark.parametrize(
    ("code", "reason"),
    [(100, "CUDA: cuInit answered 100 (CUDA_ERROR_NO_DEVICE)"), (999, "CUDA: cuInit answered 999")],
)
def test_a_driver_that_will_not_start_gives_its_reason(code: int, reason: str) -> None:
    said = asked(driver([], init=code))
    assert cuda.attributes(said, "000f:01:00.0")["dma_buf"] == {"unknown": reason}


def test_a_driver_without_names_of_errors_still_gives_the_number() -> None:
    said = asked(driver([], init=100, without=("cuGetErrorName",)))
    assert said["cuda_reason"] == "CUDA: cuInit answered 100"


def test_no_library_and_a_strange_one_are_reasons() -> None:
    said: dict[str, Any] = {}

    def fail(name: str) -> Library:
        raise OSError(f"{name}: cannot open shared object file")

    cuda.ask(said.update, fail)
    assert said["cuda_reason"] == "libcuda.so.1: cannot open shared object file"
    assert "cuInit" in asked(driver([], without=("cuInit",)))["cuda_reason"]


def test_a_hang_in_cuinit_is_told_from_not_being_asked() -> None:
    hung = cuda.attributes({"cuda_begun": True}, "000f:01:00.0")["integrated"]
    assert hung == {"unknown": "cuInit gave no answer within 2.5 s"}
    assert cuda.attributes({}, "000f:01:00.0")["integrated"] == {"unknown": cuda.NOT_ASKED}


def test_where_asking_would_load_a_module_nobody_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(name: str) -> Library:
        raise AssertionError(f"{name} was loaded")

    monkeypatch.setattr(cuda, "DEVICES", ("/nonexistent",))
    said: dict[str, Any] = {}
    cuda.ask(said.update, never)
    assert cuda.attributes(said, "000f:01:00.0")["integrated"] == {"unknown": cuda.NO_DEVICE}


def test_hidden_gpus_are_asked_too_and_no_mps_daemon_is() -> None:
    seen: list[tuple[str | None, str | None]] = []

    def look(_name: str) -> Library:
        seen.append((os.environ.get(cuda.HIDING), os.environ.get(cuda.MPS_FOLDER)))
        return driver([CudaDevice()])

    cuda.ask(lambda _said: None, look)
    assert seen == [(None, cuda.NO_FOLDER)]


def test_only_functions_that_make_no_context_are_called() -> None:
    called: list[str] = []

    class Listening:
        def __init__(self, library: Library) -> None:
            self._library = library

        def __getattr__(self, name: str) -> Any:
            called.append(name)
            return getattr(self._library, name)

    cuda.devices(Listening(driver([CudaDevice()])))
    assert set(called) == {
        "cuInit",
        "cuDeviceGetCount",
        "cuDeviceGet",
        "cuDeviceGetPCIBusId",
        "cuDeviceGetAttribute",
    }


def test_two_devices_of_one_address_are_the_first_one() -> None:
    """MIG lists its parts with the whole GPU's address."""
    found = asked(driver([CudaDevice(attributes={18: 0, 116: 1, 124: 1}), CudaDevice()]))
    assert found["cuda"]["000f:01:00.0"]["gpudirect_rdma"] is True
    assert not any(is_unknown(fact) for fact in found["cuda"]["000f:01:00.0"].values())
