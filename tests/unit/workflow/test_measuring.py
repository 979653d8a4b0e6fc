"""Decisions before the first launch: backend, candidates, rendezvous, notes; and which winners are confirmed."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.errors import InconclusiveError, NodeError, UsageError
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import FailedNode, Gpu
from fabricdoc.model.verdict import CandidateVerdict, Interval, Verdict
from fabricdoc.transport import NodeSpec
from fabricdoc.workflow.measuring import (
    Prepared,
    Request,
    best_first,
    choose_backend,
    has_unified_memory,
    new_run_id,
    opened_agents,
    prepare,
)
from tests.fabrics import crossed_pair, node

pytestmark = pytest.mark.unit

SPECS = [NodeSpec("alpha", "netns:11"), NodeSpec("beta", "netns:12")]


class Answered:
    """Agents that have said hello; nothing is started by a plan."""

    def __init__(self, **more: Any) -> None:
        hello = {
            "torch": "2.13.0",
            "nccl": "2.28.9",
            "backends": ["gloo", "nccl"],
            "gpus": 1,
            "environment": {},
            **more,
        }
        self.hello = {"alpha": dict(hello), "beta": dict(hello)}


def prepared(request: Request, **hello: Any) -> Prepared:
    return prepare(request, crossed_pair(), Answered(**hello))  # type: ignore[arg-type]


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


def test_gloo_plan_has_base_and_default_and_no_nccl_set() -> None:
    plan = prepared(Request(SPECS, backend="gloo", seed=1)).run.plan
    assert [c.name for c in plan.candidates] == ["base", "default"]
    assert not any(name.startswith("NCCL_") for c in plan.candidates for name in c.variables)


def test_both_nics_weighs_the_first_rail_against_both_and_each_other() -> None:
    plan = prepared(Request(SPECS, backend="nccl", both_nics=True, seed=1)).run.plan
    assert [c.name for c in plan.candidates] == ["base", "default", "both-nics", "rail-1"]
    assert plan.candidates[0].node_variables["beta"]["NCCL_SOCKET_IFNAME"] == "=p1"


def test_nccl_tries_the_decode_set_and_says_what_it_left_out() -> None:
    done = prepared(Request(SPECS, backend="nccl", seed=1))
    names = [c.name for c in done.run.plan.candidates]
    assert {"base", "default", "ring-tree", "simple"} <= set(names)
    assert "inline" not in names
    assert any("inline" in note for note in done.notes)


def test_an_old_library_drops_what_it_does_not_know() -> None:
    names = [c.name for c in prepared(Request(SPECS, backend="nccl", seed=1), nccl="2.18.5").run.plan.candidates]
    assert "ring-tree" not in names


def test_rendezvous_is_node_0_on_the_first_proven_link_unless_named() -> None:
    assert prepared(Request(SPECS, backend="gloo", seed=1)).master == "10.77.0.1"
    assert prepared(Request(SPECS, backend="gloo", seed=1, master="10.0.0.9")).master == "10.0.0.9"


def test_inherited_variables_are_told() -> None:
    notes = prepared(Request(SPECS, backend="gloo", seed=1), environment={"NCCL_PROTO": "LL"}).notes
    assert any("NCCL_PROTO=LL" in note and note.startswith("alpha") for note in notes)


def test_one_node_has_nothing_between_nodes() -> None:
    fabric = crossed_pair().model_copy(update={"nodes": (node("alpha"),)})
    with pytest.raises(UsageError) as caught:
        opened_agents(Request(SPECS[:1]), fabric, lambda _: None)
    assert "--nodes" in caught.value.fix


def test_a_node_that_failed_the_scan_ends_it_with_its_own_fix() -> None:
    lost = FailedNode(name="beta", target="b", id="node-unreachable", message="no answer", fix="switch it on")
    fabric = crossed_pair().model_copy(update={"failed": (lost,)})
    with pytest.raises(NodeError) as caught:
        opened_agents(Request(SPECS), fabric, lambda _: None)
    assert (caught.value.id, caught.value.fix) == ("node-unreachable", "switch it on")


def test_both_nics_with_one_rail_is_inconclusive_and_says_so() -> None:
    fabric = crossed_pair()
    one = fabric.model_copy(update={"links": fabric.links[:1]})  # type: ignore[index]
    with pytest.raises(InconclusiveError) as caught:
        prepare(Request(SPECS, backend="gloo", both_nics=True), one, Answered())  # type: ignore[arg-type]
    assert "cables" in caught.value.fix


def verdict(*scores: tuple[str, str, float]) -> Verdict:
    candidates = tuple(
        CandidateVerdict.model_validate(
            {"name": n, "verdict": v, "reason": "", "score": Interval(ratio=r, low=r, high=r, blocks=6)}
        )
        for n, v, r in scores
    )
    fields = {"run": "r", "objective": "mix", "profile": "p", "backend": "gloo", "choice": "base", "reason": ""}
    return Verdict.model_validate(
        {**fields, "conclusive": True, "blocks": 6, "floor": 0, "smallest_effect": 0, "candidates": candidates}
    )


def test_the_best_winners_come_first_and_losers_never() -> None:
    assert best_first(verdict(("a", "better", 1.1), ("b", "same", 2.0), ("c", "better", 1.4))) == ["c", "a"]


def test_unified_memory_is_a_gpu_whose_memory_nvml_does_not_know() -> None:
    def gpu(memory: object) -> Gpu:
        fields = dict.fromkeys(("name", "uuid", "pci", "compute_capability"), "x")
        return Gpu.model_validate({"index": 0, **fields, "memory_bytes": memory, "processes": ()})

    plain = node("alpha")
    assert not has_unified_memory(plain)
    assert not has_unified_memory(plain.model_copy(update={"gpus": (gpu(1 << 37),)}))
    assert has_unified_memory(plain.model_copy(update={"gpus": (gpu(Unknown(unknown="not supported")),)}))


def test_run_ids_sort_by_time_and_differ() -> None:
    first, second = new_run_id(), new_run_id()
    assert first != second
    assert first[:15] <= second[:15]
