"""Whether the demo may take a GPU: never while a process uses one, and only where there is one."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import pytest

from fabricdoc.demo import gpu
from fabricdoc.errors import ToolError
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Gpu
from tests.fabrics import node

pytestmark = pytest.mark.unit


def card(index: int, *processes: int) -> Gpu:
    facts: dict[str, Any] = dict.fromkeys(("name", "uuid", "pci", "compute_capability"), "x")
    return Gpu(index=index, memory_bytes=1 << 37, processes=processes, **facts)


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Any:
    def see(gpus: Any) -> None:
        here = node("local").model_copy(update={"gpus": gpus})
        monkeypatch.setattr(gpu, "scan", lambda _: Fabric(nodes=(here,)))

    return see


def test_a_gpu_in_use_is_refused_with_the_pid(seen: Any) -> None:
    seen((card(0), card(1, 4242)))
    with ExitStack() as stack, pytest.raises(ToolError) as caught:
        gpu.share_gpus(stack, 2)
    assert caught.value.id == "gpu-busy"
    assert "4242" in caught.value.message


@pytest.mark.parametrize("gpus", [(), Unknown(unknown="the driver is not loaded")])
def test_without_a_gpu_the_reason_and_the_way_out_are_told(seen: Any, gpus: Any) -> None:
    seen(gpus)
    with ExitStack() as stack, pytest.raises(ToolError) as caught:
        gpu.share_gpus(stack, 2)
    assert caught.value.id == "no-gpu"
    assert "without --gpu" in caught.value.fix
    if isinstance(gpus, Unknown):
        assert "driver is not loaded" in caught.value.message


def test_two_idle_gpus_are_one_each_without_mps(seen: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "which", lambda _: None)
    seen((card(0), card(1)))
    with ExitStack() as stack:
        share = gpu.share_gpus(stack, 2)
    assert [share.environment(i)["CUDA_VISIBLE_DEVICES"] for i in range(2)] == ["0", "1"]


def test_one_gpu_without_the_mps_daemon_is_refused(seen: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "which", lambda _: None)
    seen((card(0),))
    with ExitStack() as stack, pytest.raises(ToolError) as caught:
        gpu.share_gpus(stack, 2)
    assert caught.value.id == "no-mps"


def test_processes_nobody_could_list_do_not_count_as_none_used(seen: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "which", lambda _: None)
    hidden = card(0).model_copy(update={"processes": Unknown(unknown="another PID namespace")})
    seen((hidden, card(1)))
    with ExitStack() as stack, pytest.raises(ToolError) as caught:
        gpu.share_gpus(stack, 2)
    assert caught.value.id == "gpu-busy"
    assert "another PID namespace" in caught.value.message
