"""Decisions before the first launch: backend, rails, candidates, shapes, rendezvous, notes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fabricdoc.errors import InconclusiveError, NodeError, UsageError
from fabricdoc.files import own_folder
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import FailedNode, Gpu
from fabricdoc.transport import NodeSpec
from fabricdoc.workflow import planning
from fabricdoc.workflow.measuring import opened_agents
from fabricdoc.workflow.planning import Prepared, choose_backend, has_unified_memory, new_run_id, prepare
from fabricdoc.workflow.requests import Request
from tests.fabrics import crossed_pair, node
from tests.fabrics.altering import changed
from tests.fabrics.spark import spark_pair

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
    left = {one.name: one.reason for one in done.run.plan.not_offered}
    assert left["inline"] == "needs an HCA (RDMA device) on every rail"
    assert any(note.startswith("other sets for this fabric (--candidates): socket (6)") for note in done.notes)


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


def spark_hello(version: str = "2.30.7") -> Any:
    agents = Answered(nccl=version)
    agents.hello = {"spark-a": agents.hello["alpha"], "spark-b": agents.hello["beta"]}
    return agents


SPARKS = [NodeSpec("spark-a", "a"), NodeSpec("spark-b", "b")]


def test_gb10_is_offered_its_own_set_and_no_gpudirect_with_the_reason() -> None:
    request = Request(SPARKS, backend="nccl", candidates=("gb10", "gdr", "roce"), seed=1)
    plan = prepare(request, spark_pair("straight"), spark_hello()).run.plan
    assert {"gb10-ctas-16", "cumem-off", "ll128-c2c-off"} <= {c.name for c in plan.candidates}
    left = {one.name: one for one in plan.not_offered}
    assert left["gdr-sys"].reason.startswith("needs GPUDirect RDMA: GB10 has none by design")
    assert left["gdr-sys"].set_name == "gdr"
    assert left["subnet-aware"].reason == "needs 3 nodes, there are 2"


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


def test_the_engine_is_the_users_or_the_profiles() -> None:
    base = prepared(Request(SPECS, backend="nccl", engine="sglang", seed=1)).run.plan.candidates[0]
    assert base.variables["NCCL_NVLS_ENABLE"] == "0"
    assert prepared(Request(SPECS, backend="nccl", seed=1)).run.plan.candidates[0].variables == {}


def test_the_profiles_engine_counts_where_the_user_names_none(tmp_path: Path) -> None:
    text = own_folder("presets").joinpath("profiles", "dense-small-tp2.toml").read_text()
    (tmp_path / "profiles").mkdir()
    (tmp_path / "profiles" / "mine.toml").write_text(
        text.replace('name = "dense-small-tp2"', 'name = "mine"\nengine = "sglang"')
    )
    request = Request(SPECS, backend="nccl", profile="mine", presets=(tmp_path,), seed=1)
    assert prepared(request).run.plan.candidates[0].variables["NCCL_CUMEM_ENABLE"] == "0"


def test_ops_dtype_and_place_are_those_asked_for() -> None:
    request = Request(
        SPECS,
        backend="gloo",
        sizes=(4096,),
        ops=("all_gather", "broadcast"),
        dtype="float16",
        out_of_place=True,
        seed=1,
    )
    shapes = prepared(request).run.plan.shapes
    assert not any(shape.in_place for shape in shapes)
    grid = [(shape.op, shape.size, shape.dtype) for shape in shapes if shape.phase == "grid"]
    assert grid == [("all_gather", 4096, "float16"), ("broadcast", 4096, "float16")]
    assert {shape.dtype for shape in shapes if shape.phase == "decode"} == {"bfloat16"}


def test_search_and_budget_are_in_the_plan() -> None:
    plan = prepared(Request(SPECS, backend="gloo", search="adaptive", budget_s=36000.0, seed=1)).run.plan
    assert (plan.search, plan.budget_s) == ("adaptive", 36000.0)


def test_a_budget_that_is_too_small_is_refused_before_anything_starts() -> None:
    with pytest.raises(UsageError) as caught:
        prepared(Request(SPECS, backend="nccl", budget_s=5.0))
    assert caught.value.id == "budget-too-small"


def test_both_nics_by_its_sets_name_is_the_same() -> None:
    plan = prepared(Request(SPECS, backend="nccl", candidates=("both-nics", "decode:simple"), seed=1)).run.plan
    assert [c.name for c in plan.candidates] == ["base", "default", "both-nics", "rail-1", "simple"]


def test_the_better_rail_is_the_single_one() -> None:
    fabric = changed(crossed_pair(), "alpha", "netdev", "p0", mtu=1500)
    plan = prepare(Request(SPECS, backend="nccl", both_nics=True, seed=1), fabric, Answered()).run.plan  # type: ignore[arg-type]
    assert plan.candidates[0].node_variables["alpha"]["NCCL_SOCKET_IFNAME"] == "=p1"
    assert plan.candidates[3].node_variables["alpha"]["NCCL_SOCKET_IFNAME"] == "=p0"


def test_a_second_port_without_a_peer_is_named_with_what_it_lacks() -> None:
    request = Request(SPARKS, backend="nccl", both_nics=True)
    fabric = spark_pair("one")
    assert not isinstance(fabric.links, Unknown)
    first = [link for link in fabric.links if {link.a.netdev, link.b.netdev} == {"enp1s0f0np0"}]
    only = fabric.model_copy(update={"links": tuple(first[:1])})
    with pytest.raises(InconclusiveError) as caught:
        prepare(request, only, spark_hello())
    assert caught.value.id == "one-rail"
    assert "spark-a/enp1s0f1np1 (rocep1s0f1): no cable" in caught.value.message
    notes = prepare(request, fabric, spark_hello()).notes
    assert any(note.startswith("on no rail: spark-a/enp1s0f1np1 (rocep1s0f1): no cable") for note in notes)


def reading(monkeypatch: pytest.MonkeyPatch, **nodes: dict[str, str]) -> None:
    monkeypatch.setattr(planning, "read_on_nodes", lambda source, specs: nodes)


def test_current_is_a_candidate_with_each_nodes_values(monkeypatch: pytest.MonkeyPatch) -> None:
    reading(monkeypatch, alpha={"NCCL_IB_HCA": "=a", "NCCL_DEBUG": "INFO"}, beta={"NCCL_IB_HCA": "=b", "NCCL_FOO": "1"})
    done = prepared(Request(SPECS, backend="nccl", current="pid:7", seed=1))
    current = next(c for c in done.run.plan.candidates if c.role == "current")
    assert current.node_variables["alpha"] == {"NCCL_IB_HCA": "=a"}
    assert "current: NCCL_DEBUG is not taken over: the bench sets it itself" in done.notes
    assert any("NCCL_FOO is no variable NCCL knows" in note for note in done.notes)


def test_current_that_would_hang_is_not_run_and_the_rest_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    reading(monkeypatch, alpha={"NCCL_PROTO": "LL"}, beta={"NCCL_PROTO": "Simple"})
    plan = prepared(Request(SPECS, backend="nccl", current="pid:7", seed=1)).run.plan
    assert "current" not in [c.name for c in plan.candidates]
    assert plan.not_offered[0].name == "current"
    assert "LL on alpha, Simple on beta" in plan.not_offered[0].reason


def test_a_users_own_file_with_what_this_nccl_does_not_read_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(
        'backend = "nccl"\n[[candidate]]\nname = "ring"\n[candidate.variables]\nNCCL_IB_SUBNET_AWARE_ROUTING = 1\n'
    )
    with pytest.raises(UsageError, match=r"mine\.toml line 2, candidate 1 \('ring'\): NCCL 2\.28\.9 does not read"):
        prepared(Request(SPECS, backend="nccl", candidates=(str(file),), seed=1))


def test_arms_and_deadlines_are_in_the_plan_and_a_difference_raises_the_blocks() -> None:
    request = Request(SPECS, backend="nccl", seed=1, candidates=("decode:simple",), effect=0.05, skew=True,
                      path="both", gemm=(8, 64, 64), deadlines_s={"measure": 90.0})  # fmt: skip
    done = prepared(request)
    plan = done.run.plan
    assert (plan.path, plan.skew, plan.gemm, plan.deadlines_s) == ("both", True, (8, 64, 64), {"measure": 90.0})
    assert plan.launch_deadline_s == 100.0
    assert plan.blocks > 6
    assert any(note.startswith("to see 5.0% of one candidate") for note in done.notes)


@pytest.mark.parametrize("path", ["direct", "both"])
def test_nccls_own_calls_need_nccl(path: Any) -> None:
    for request, hello in ((Request(SPECS, backend="gloo", path=path), {}), (Request(SPECS, path=path), {"gpus": 0})):
        with pytest.raises(UsageError) as caught:
            prepared(request, **hello)
        assert caught.value.id == "path-without-nccl"
