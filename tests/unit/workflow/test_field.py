"""Where a bench stands: backend, GPUs, NCCL builds, rendezvous, memory."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.errors import NodeError, UsageError
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Gpu
from fabricdoc.workflow.field import choose_backend, has_unified_memory
from fabricdoc.workflow.planning import prepare
from fabricdoc.workflow.requests import Request
from tests.fabrics import crossed_pair, node
from tests.unit.workflow.asked import SPECS, Answered, prepared

pytestmark = pytest.mark.unit


def test_auto_takes_nccl_only_where_every_node_can() -> None:
    agents = Answered()
    assert choose_backend("auto", agents.hello) == "nccl"
    agents.hello["beta"]["gpus"] = 0
    assert choose_backend("auto", agents.hello) == "gloo"
    assert choose_backend("gloo", Answered().hello) == "gloo"


def test_a_wanted_nccl_that_can_not_run_is_named_with_the_node() -> None:
    agents = Answered()
    agents.hello["beta"]["backends"] = ["gloo"]
    with pytest.raises(NodeError) as caught:
        choose_backend("nccl", agents.hello)
    assert "beta" in caught.value.message
    assert "--python" in caught.value.fix


def test_rendezvous_is_node_0_on_the_first_proven_link_unless_named() -> None:
    assert prepared(Request(SPECS, backend="gloo", seed=1)).master == "10.77.0.1"
    assert prepared(Request(SPECS, backend="gloo", seed=1, master="10.0.0.9")).master == "10.0.0.9"


def test_unified_memory_is_a_gpu_whose_memory_nvml_does_not_know() -> None:
    def gpu(memory: object) -> Gpu:
        fields = dict.fromkeys(("name", "uuid", "pci", "compute_capability"), "x")
        return Gpu.model_validate({"index": 0, **fields, "memory_bytes": memory, "processes": ()})

    plain = node("alpha")
    assert not has_unified_memory(plain)
    assert not has_unified_memory(plain.model_copy(update={"gpus": (gpu(1 << 37),)}))
    assert has_unified_memory(plain.model_copy(update={"gpus": (gpu(Unknown(unknown="not supported")),)}))


def test_mixed_nccl_builds_are_refused_and_named() -> None:
    agents = Answered()
    agents.hello["beta"]["nccl"] = "2.30.7"
    with pytest.raises(NodeError) as caught:
        prepare(Request(SPECS, backend="nccl"), crossed_pair(), agents)
    assert caught.value.id == "mixed-nccl"
    assert "2.28.9 on alpha, 2.30.7 on beta" in caught.value.message
    prepare(Request(SPECS, backend="gloo"), crossed_pair(), agents)


def test_more_ranks_than_gpus_is_refused_with_what_fits() -> None:
    with pytest.raises(NodeError) as caught:
        prepared(Request(SPECS, backend="nccl", ranks_per_node=2))
    assert (caught.value.id, caught.value.fix) == ("few-gpus", "--ranks-per-node 1")
    ranks = prepared(Request(SPECS, backend="nccl", ranks_per_node=2), gpus=2).run.plan.ranks
    assert [(one.rank, one.node, one.local_rank) for one in ranks] == [
        (0, "alpha", 0),
        (1, "alpha", 1),
        (2, "beta", 0),
        (3, "beta", 1),
    ]


def test_missing_nccl_says_what_torch_has() -> None:
    agents = Answered(backends=["gloo"], nccl=None)
    with pytest.raises(NodeError) as caught:
        choose_backend("nccl", agents.hello)
    assert "torch 2.13.0 has no NCCL (backends: gloo)" in caught.value.message


@pytest.mark.parametrize("path", ["direct", "both"])
def test_nccls_own_calls_need_nccl(path: Any) -> None:
    for request, hello in ((Request(SPECS, backend="gloo", path=path), {}), (Request(SPECS, path=path), {"gpus": 0})):
        with pytest.raises(UsageError) as caught:
            prepared(request, **hello)
        assert caught.value.id == "path-without-nccl"
