"""Which candidates are tried, which are left out and why, what the user runs today."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabricdoc.errors import InconclusiveError, UsageError
from fabricdoc.files import own_folder
from fabricdoc.model.documents import Unknown
from fabricdoc.workflow import choosing
from fabricdoc.workflow.planning import prepare
from fabricdoc.workflow.requests import Request
from tests.fabrics import crossed_pair
from tests.fabrics.altering import changed
from tests.fabrics.spark import spark_pair
from tests.unit.workflow.asked import SPARKS, SPECS, Answered, prepared, spark_hello

pytestmark = pytest.mark.unit


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


def test_both_nics_with_one_rail_is_inconclusive_and_says_so() -> None:
    fabric = crossed_pair()
    one = fabric.model_copy(update={"links": fabric.links[:1]})  # type: ignore[index]
    with pytest.raises(InconclusiveError) as caught:
        prepare(Request(SPECS, backend="gloo", both_nics=True), one, Answered())  # type: ignore[arg-type]
    assert "cables" in caught.value.fix


def test_gb10_is_offered_its_own_set_and_no_gpudirect_with_the_reason() -> None:
    request = Request(SPARKS, backend="nccl", candidates=("gb10", "gdr", "roce"), seed=1)
    plan = prepare(request, spark_pair("straight"), spark_hello()).run.plan
    assert {"gb10-ctas-16", "cumem-off", "ll128-c2c-off"} <= {c.name for c in plan.candidates}
    left = {one.name: one for one in plan.not_offered}
    assert left["gdr-sys"].reason.startswith("needs GPUDirect RDMA: GB10 has none by design")
    assert left["gdr-sys"].set_name == "gdr"
    assert left["subnet-aware"].reason == "needs 3 nodes, there are 2"


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
    monkeypatch.setattr(choosing, "read_on_nodes", lambda source, specs: nodes)


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
