"""GPUs of the nodes held against one another."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.checks.gpu_sets import check_gpu_sets
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Gpu
from tests.fabrics import node
from tests.fabrics.recorded import RECORDED
from tests.fabrics.servers import eight_rail_servers
from tests.unit.checks.between import ids, nodes_with

pytestmark = pytest.mark.unit

HIDDEN = Unknown(unknown="no")


def gpus(*names: Any) -> tuple[Gpu, ...]:
    rest = dict.fromkeys(("uuid", "pci", "compute_capability", "memory_bytes", "processes"), HIDDEN)
    return tuple(Gpu(index=number, name=name, **rest) for number, name in enumerate(names))


def fabric(*values: Any) -> Fabric:
    return nodes_with(values, lambda name, value: node(name).model_copy(update={"gpus": value}))


@pytest.mark.parametrize("name", list(RECORDED))
def test_recorded_fabrics_are_silent(name: str) -> None:
    assert check_gpu_sets(RECORDED[name]()) == ()


def test_the_server_with_a_lost_gpu_is_named() -> None:
    made = eight_rail_servers(3)
    lost = made.nodes[1].model_copy(update={"gpus": made.nodes[1].gpus[:7]})  # type: ignore[index]
    (found,) = check_gpu_sets(made.model_copy(update={"nodes": (made.nodes[0], lost, made.nodes[2])}))
    assert ids([found]) == [("gpu-sets-differ-between-nodes", "warning", "server-002")]
    assert found.evidence[1].text == "GPUs: 7 x NVIDIA H100 80GB HBM3"
    assert found.fix[1] == "nvidia-smi -L"


def test_models_count_too() -> None:
    (found,) = check_gpu_sets(fabric(gpus("A"), gpus("B")))
    assert found.subject == "alpha, beta"


@pytest.mark.parametrize(
    "silent",
    [
        fabric(gpus("A", "A"), gpus("A", "A")),
        fabric(gpus("A"), ()),
        fabric(gpus("A"), HIDDEN),
        fabric(gpus("A", "B"), gpus("A", HIDDEN)),
        fabric(gpus("A", "B"), gpus("B", "A")),
    ],
)
def test_alike_absent_or_unknown_is_no_difference(silent: Fabric) -> None:
    assert check_gpu_sets(silent) == ()
