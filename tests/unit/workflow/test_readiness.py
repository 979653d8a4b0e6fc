"""What keeps a bench from starting: figures, names, and lines that are the user's to run."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.bench import base_candidate, grid_shapes, make_plan
from fabricdoc.errors import NodeError
from fabricdoc.fabric import rails_of
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Gpu, Tenant
from fabricdoc.model.run import Plan, Rank
from fabricdoc.transport import Answer, NodeSpec
from fabricdoc.workflow import readiness
from fabricdoc.workflow.readiness import obstacles
from tests.fabrics import crossed_pair
from tests.fabrics.altering import changed

pytestmark = pytest.mark.unit

GIB = 1 << 30
SPECS = [NodeSpec("alpha", "a"), NodeSpec("beta", "b")]


def plan(backend: Any = "nccl", largest: int = 20480, unified: tuple[str, ...] = ()) -> Plan:
    return make_plan(
        backend=backend,
        ranks=[Rank(rank=0, node="alpha", local_rank=0), Rank(rank=1, node="beta", local_rank=0)],
        candidates=[base_candidate(backend, rails_of(crossed_pair()), ["alpha", "beta"], single=True)],
        shapes=grid_shapes([largest]),
        blocks=1,
        seed=1,
        profile="p",
        objective="mix",
        unified_memory=unified,
    )


def with_memory(free: object, node: str = "beta") -> Fabric:
    fabric = changed(crossed_pair(), "*", "host", memory_available=64 * GIB)
    return changed(fabric, node, "host", memory_available=free)


def test_enough_memory_and_unknown_memory_are_no_obstacle() -> None:
    assert obstacles(plan(), with_memory(64 * GIB), SPECS) == []
    assert obstacles(plan(), with_memory(Unknown(unknown="no /proc")), SPECS) == []


def test_too_little_memory_is_told_with_figures() -> None:
    (error,) = obstacles(plan(), with_memory(5 * GIB), SPECS)
    assert isinstance(error, NodeError)
    assert error.id == "memory-short"
    assert error.message == (
        "beta: 5.0 GiB of memory are free; a launch needs 3.5 GiB and 2 GiB must stay free after it"
    )


def test_unified_memory_keeps_more_free_and_large_messages_need_more() -> None:
    assert obstacles(plan(), with_memory(12 * GIB), SPECS) == []
    assert "10 GiB must stay free" in obstacles(plan(unified=("beta",)), with_memory(12 * GIB), SPECS)[0].message
    assert obstacles(plan(largest=4 * GIB), with_memory(12 * GIB), SPECS)[0].id == "memory-short"


def gpu(*tenants: Tenant, processes: object = ()) -> Gpu:
    fields = dict.fromkeys(("name", "uuid", "pci", "compute_capability"), "x")
    return Gpu.model_validate({"index": 0, **fields, "memory_bytes": 1, "processes": processes, "tenants": tenants})


def busy(*tenants: Tenant, node: str = "alpha") -> Fabric:
    fabric = changed(crossed_pair(), "*", "host", memory_available=64 * GIB)
    nodes = [one.model_copy(update={"gpus": (gpu(*tenants),)}) if one.name == node else one for one in fabric.nodes]
    return fabric.model_copy(update={"nodes": tuple(nodes)})


def saying(monkeypatch: pytest.MonkeyPatch, *users: dict[str, Any]) -> list[Any]:
    asked: list[Any] = []

    def ask(specs: Any, module: str, request: Any, *, deadline_s: float) -> tuple[Answer, ...]:
        asked.append((specs[0].name, module, request))
        return (Answer(specs[0], {"users": list(users)}, None, "", 0.1, 0.0),)

    monkeypatch.setattr(readiness, "ask", ask)
    return asked


SERVER = Tenant(pid=11, name="VLLM::EngineCor", container="4f1c" * 16)


@pytest.mark.parametrize(
    ("more", "who", "stop", "start"),
    [
        (
            {"container": "vllm-head", "runtime": "docker"},
            "VLLM::EngineCor (pid 11, docker vllm-head)",
            "docker stop vllm-head",
            "docker start vllm-head",
        ),
        (
            {"container": "odd name; rm -rf /", "runtime": "podman"},
            "podman odd name; rm -rf /",
            "podman stop 'odd name; rm -rf /'",
            "podman start 'odd name; rm -rf /'",
        ),
        ({}, "container 4f1c4f1c", "stop the pod or container 4f1c4f1c4f1c", "start that pod again"),
    ],
)
def test_a_server_in_a_container(
    monkeypatch: pytest.MonkeyPatch, more: dict[str, Any], who: str, stop: str, start: str
) -> None:
    asked = saying(monkeypatch, {"pid": 11, **more})
    (error,) = obstacles(plan(), busy(SERVER), SPECS)
    assert error.id == "gpu-busy"
    assert error.message.startswith("a GPU is in use: alpha: ")
    assert who in error.message
    assert f"on alpha: {stop}" in error.fix
    assert f"on alpha: {start}" in error.fix
    assert error.fix.startswith("stop it yourself")
    assert asked == [("alpha", "settings", {"do": "who", "pids": [11]})]


def test_a_unit_and_a_bare_process(monkeypatch: pytest.MonkeyPatch) -> None:
    saying(monkeypatch, {"pid": 7, "unit": "vllm.service"})
    fix = obstacles(plan(), busy(Tenant(pid=7, name="python3"), Tenant(pid=8)), SPECS)[0].fix
    assert "sudo systemctl stop vllm.service" in fix
    assert "sudo systemctl start vllm.service" in fix
    assert "kill 8" in fix
    assert "start a process as you did before" in fix


def test_a_node_that_does_not_say_more_is_still_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def ask(specs: Any, module: str, request: Any, *, deadline_s: float) -> tuple[Answer, ...]:
        return (Answer(specs[0], None, NodeError("gone"), "", 0.1, 0.0),)

    monkeypatch.setattr(readiness, "ask", ask)
    assert "VLLM::EngineCor (pid 11" in obstacles(plan(), busy(SERVER), SPECS)[0].message


@pytest.mark.parametrize("said", [{"users": 3}, {"users": [3]}, {"users": [{"pid": "11"}]}, {}])
def test_nonsense_from_a_node_harms_nothing(monkeypatch: pytest.MonkeyPatch, said: dict[str, Any]) -> None:
    def ask(specs: Any, module: str, request: Any, *, deadline_s: float) -> tuple[Answer, ...]:
        return (Answer(specs[0], said, None, "", 0.1, 0.0),)

    monkeypatch.setattr(readiness, "ask", ask)
    assert obstacles(plan(), busy(SERVER), SPECS)[0].id == "gpu-busy"


def test_gloo_needs_no_gpu_and_the_server_of_mps_is_no_user(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = saying(monkeypatch)
    assert obstacles(plan("gloo"), busy(SERVER), SPECS) == []
    assert obstacles(plan(), busy(Tenant(pid=5, name="nvidia-cuda-mps")), SPECS) == []
    mps = [NodeSpec("alpha", "a", env={"CUDA_MPS_PIPE_DIRECTORY": "/x"}), SPECS[1]]
    assert obstacles(plan(), busy(Tenant(pid=5)), mps) == []
    assert asked == []


def test_where_only_numbers_are_known_they_count(monkeypatch: pytest.MonkeyPatch) -> None:
    saying(monkeypatch)
    fabric = busy()
    one = gpu(processes=(42,)).model_copy(update={"tenants": Unknown(unknown="not read")})
    nodes = (fabric.nodes[0].model_copy(update={"gpus": (one,)}), fabric.nodes[1])
    assert "pid 42" in obstacles(plan(), fabric.model_copy(update={"nodes": nodes}), SPECS)[0].message
