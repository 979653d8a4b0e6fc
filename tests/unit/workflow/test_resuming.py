"""A run that ended early is taken up on its own nodes, with its own plan."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fabricdoc.errors import UsageError
from fabricdoc.model.run import Launch, Run
from fabricdoc.transport import NodeSpec
from fabricdoc.workflow.planning import prepare
from fabricdoc.workflow.requests import Request
from fabricdoc.workflow.resuming import nodes_of, prepare_again, resumed_request
from tests.fabrics import crossed_pair
from tests.fabrics.spark import spark_pair
from tests.unit.workflow.asked import SPARKS, SPECS, Answered, spark_hello

pytestmark = pytest.mark.unit


def stored(**request: Any) -> Run:
    """A run that was planned and begun, and killed after its first launch."""
    fields = {"backend": "gloo", "seed": 7, "both_nics": True, **request}
    run = prepare(Request(SPECS, **fields), crossed_pair(), Answered()).run
    first = Launch.model_validate(
        {
            "number": 1,
            "round": "proof",
            "block": 0,
            "position": 0,
            "candidate": "base",
            "status": "ok",
            "seconds": 1.0,
            "started": "t",
        }
    )
    return run.model_copy(update={"status": "interrupted", "launches": (first,)})


def test_its_nodes_are_named_as_they_were() -> None:
    assert [(spec.name, spec.target) for spec in nodes_of(stored())] == [("alpha", "local"), ("beta", "local")]


def test_its_nodes_are_reached_as_the_file_tells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fabric.toml").write_text('[[node]]\nname = "beta"\ntarget = "local"\nenv = { LD_LIBRARY_PATH = "/n" }')
    assert [dict(spec.env) for spec in nodes_of(stored())] == [{}, {"LD_LIBRARY_PATH": "/n"}]
    assert [spec.ports for spec in nodes_of(stored(), ("p9",))] == [("p9",), ("p9",)]


def test_its_plan_is_the_request_again() -> None:
    asked = {"skew": True, "gemm": (8, 16, 16), "deadlines_s": {"init": 9.0}}
    run = stored(search="adaptive", budget_s=36000.0, objective="decode", **asked)
    request = resumed_request(run, [NodeSpec("alpha", "netns:11"), NodeSpec("beta", "netns:12")])
    assert (request.seed, request.search, request.budget_s, request.objective) == (7, "adaptive", 36000.0, "decode")
    assert {name: getattr(request, name) for name in asked} == asked
    assert request.weighs_rails
    assert request.backend == "gloo"
    assert not resumed_request(stored(both_nics=False), SPECS).weighs_rails


def test_pythons_and_ports_are_those_of_the_run_unless_named_anew() -> None:
    run = stored()
    context = run.nodes[0].model_copy(update={"python": "/opt/venv/bin/python"})
    run = run.model_copy(update={"nodes": (context, run.nodes[1])})
    alpha, beta = resumed_request(run, [NodeSpec("alpha", "x"), NodeSpec("beta", "y", ports=("p9",))]).specs
    assert alpha.python == "/opt/venv/bin/python"
    assert alpha.ports == ("p0", "p1"), "beacons leave only from ports that are named, where no HCA is"
    assert beta.ports == ("p9",)


def test_ports_with_hcas_need_no_naming() -> None:
    run = prepare(Request(SPARKS, backend="nccl", seed=1), spark_pair("straight"), spark_hello()).run
    assert [spec.ports for spec in resumed_request(run, SPARKS).specs] == [(), ()]


def test_the_stored_run_goes_on_where_nothing_changed() -> None:
    run = stored()
    request = resumed_request(run, SPECS)
    again = prepare_again(request, crossed_pair(), Answered(), run)
    assert again.resumes
    assert again.run.id == run.id
    assert again.run.plan == run.plan
    assert again.master == "10.77.0.1"
    assert again.notes == (f"going on with run {run.id}: 1 launch of it is there",)


def test_another_nccl_is_another_run() -> None:
    run = stored()
    with pytest.raises(UsageError) as caught:
        prepare_again(resumed_request(run, SPECS), crossed_pair(), Answered(nccl="2.30.7"), run)
    assert caught.value.id == "resume-differs"


def test_a_complete_run_has_nothing_left() -> None:
    run = stored().model_copy(update={"status": "complete"})
    with pytest.raises(UsageError) as caught:
        resumed_request(run, SPECS)
    assert caught.value.id == "resume-complete"
    cut = run.model_copy(update={"reason": "the time budget of 60 s left no room for block 3 (search)"})
    assert resumed_request(cut, SPECS).seed == 7, "a run that its budget cut short can go on"
