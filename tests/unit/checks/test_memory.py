"""Free memory and /dev/shm."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.checks.memory import GIB, MIB, check_memory
from fabricdoc.model.documents import Unknown
from tests.fabrics.altering import changed
from tests.fabrics.others import ci_machine, container_node
from tests.fabrics.recorded import HEALTHY, RECORDED
from tests.fabrics.servers import eight_rail_servers
from tests.fabrics.spark import spark_one_cable
from tests.unit.checks.judged import ids, only, texts

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_fabrics_are_silent(name: str) -> None:
    assert ids(check_memory, RECORDED[name]()) == []


def test_dockers_default_is_too_small() -> None:
    found = only(check_memory, container_node(), "dev-shm-too-small")
    assert (found.severity, found.subject) == ("warning", "container")
    assert texts(found) == ["/dev/shm 64 MiB, wanted 128 MiB"]
    assert "--ipc=host" in found.fix[0]


@pytest.mark.parametrize(("size", "told"), [(128 * MIB, False), (128 * MIB - 1, True), (Unknown(unknown="x"), False)])
def test_shm(size: Any, told: bool) -> None:
    fabric = changed(spark_one_cable(), "spark-b", "host", shm_bytes=size)
    assert ids(check_memory, fabric) == ([("dev-shm-too-small", "warning", "spark-b")] if told else [])
    if told:
        fix = only(check_memory, fabric, "dev-shm-too-small").fix
        assert fix == ("on spark-b:", "sudo mount -o remount,size=8G /dev/shm")


def test_a_node_without_gpus_may_be_given_one_later() -> None:
    fabric = changed(changed(spark_one_cable(), "spark-b", "node", gpus=()), "spark-b", "host", shm_bytes=64 * MIB)
    assert ids(check_memory, fabric) == [("dev-shm-too-small", "warning", "spark-b")]


def test_a_ci_machine_with_64_mb_is_well() -> None:
    assert ids(check_memory, changed(ci_machine(), "ci", "host", memory_available=GIB)) == []


@pytest.mark.parametrize(("free", "told"), [(13.3, True), (13.5, False), (0.5, True), (Unknown(unknown="x"), False)])
def test_unified_memory_must_leave_10_gib_after_a_group(free: Any, told: bool) -> None:
    available = int(free * GIB) if isinstance(free, float) else free
    fabric = changed(spark_one_cable(), "spark-a", "host", memory_available=available)
    assert ids(check_memory, fabric) == ([("memory-available-low", "warning", "spark-a")] if told else [])


def test_a_server_that_runs_explains_little_memory() -> None:
    fabric = changed(spark_one_cable(), "spark-a", "host", memory_available=5 * GIB)
    fabric = changed(fabric, "spark-a", "gpu", 0, processes=(4242,))
    found = only(check_memory, fabric, "memory-available-low")
    assert found.severity == "info"
    assert texts(found) == ["MemAvailable 5.0 GiB, wanted 13.4 GiB"]


@pytest.mark.parametrize(("free", "told"), [(2 * GIB, False), (2 * GIB - 1, True)])
def test_separate_memory_needs_less(free: int, told: bool) -> None:
    fabric = changed(eight_rail_servers(1), "server-001", "host", memory_available=free)
    assert ids(check_memory, fabric) == ([("memory-available-low", "warning", "server-001")] if told else [])
    if told:
        assert "drop_caches" not in " ".join(only(check_memory, fabric, "memory-available-low").fix)


def test_any_integrated_gpu_shares_the_memory() -> None:
    fabric = changed(eight_rail_servers(1), "server-001", "host", memory_available=9 * GIB)
    assert ids(check_memory, fabric) == []
    assert ids(check_memory, changed(fabric, "server-001", "gpu", 0, integrated=True)) == [
        ("memory-available-low", "warning", "server-001")
    ]
