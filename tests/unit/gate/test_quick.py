"""The quick level put together: every part is asked, ports and deadlines judged, with and without a preset."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from fabricdoc.gate import Looked, Terms, conclude, judge_quick
from fabricdoc.model.delivery import Delivered, Delivery, UnseenNode, WorkerDelivery
from fabricdoc.model.fabric import Fabric, FailedNode
from fabricdoc.model.findings import Evidence, Finding
from fabricdoc.model.gate import Gate
from fabricdoc.model.preset import Preset

pytestmark = pytest.mark.unit


def taken(subject: str, text: str) -> Finding:
    evidence = (Evidence(file=subject.split()[0], text=text),)
    return Finding(id="rendezvous-port-taken", severity="info", subject=subject, evidence=evidence, fix=("end it",))


@pytest.fixture
def looked(preset: Preset, fabric: Fabric) -> Looked:
    return Looked(fabric=fabric, preset=preset, now=datetime(2026, 1, 1, tzinfo=UTC), head="alpha", ports=(29500,))


def gated(looked: Looked, **terms: Any) -> Gate:
    checks, findings = judge_quick(looked)
    name = looked.preset.name if looked.preset else ""
    nodes = [node.name for node in looked.fabric.nodes]
    return conclude(Terms(preset=name, **terms), nodes, checks, findings)


def bad(gate: Gate) -> list[tuple[str, str, str]]:
    return [(one.id, one.place, one.outcome) for one in gate.checks if one.outcome not in ("ok", "noted")]


def test_every_part_answers(looked: Looked) -> None:
    ids = {one.id for one in gated(looked).checks}
    assert {"time", "preset-expired", "node", "peer", "hca-active", "gpu-idle", "ports-free", "clock"} <= ids


def test_what_the_deadline_cut_off_is_a_failure_that_says_so(looked: Looked) -> None:
    gate = gated(replace(looked, late=("cables and ports",)))
    (only,) = [one for one in gate.checks if one.id == "time"]
    assert (only.outcome, only.found) == ("failed", "not looked at: cables and ports")
    assert any("--deadline" in line for line in only.fix)
    assert gate.findings[0].id == "gate-out-of-time"


def test_a_port_that_somebody_holds_on_the_head(looked: Looked, fabric: Fabric) -> None:
    held = taken("alpha 10.77.0.1:29500", "tcp port 29500 is in use by python (pid 4711)")
    other = taken("beta 10.77.0.2:29500", "tcp port 29500 is in use by python (pid 12)")
    gate = gated(replace(looked, fabric=fabric.model_copy(update={"findings": (held, other)})))
    (only,) = [one for one in gate.checks if one.id == "ports-free"]
    assert (only.node, only.outcome, only.found) == ("alpha", "differs", "in use by python (pid 4711)")
    assert only.fix == ("end it",)


def test_the_ports_of_the_server_that_is_judged_are_its_own(looked: Looked, fabric: Fabric) -> None:
    held = taken("alpha 10.77.0.1:29500", "tcp port 29500 is in use by python (pid 4711)")
    fabric = fabric.model_copy(update={"findings": (held,)})
    for pid, outcome in ((4711, "ok"), (4712, "differs")):
        gate = gated(replace(looked, fabric=fabric, serving={"alpha": frozenset({pid})}))
        assert [one.outcome for one in gate.checks if one.id == "ports-free"] == [outcome]


def test_ports_of_a_head_that_is_not_there_are_not_judged(looked: Looked) -> None:
    for head in ("", "gamma"):
        assert "ports-free" not in {one.id for one in gated(replace(looked, head=head)).checks}


def worker(node: str, outcome: str, **more: Any) -> WorkerDelivery:
    variable = Delivered.model_validate({"name": "NCCL_NET", "wanted": "IB", "outcome": outcome, "seen": None})
    return WorkerDelivery(
        node=node, pid=7, name="vllm", source="/proc/7/environ", library=None, variables=(variable,), **more
    )


def delivery(*workers: WorkerDelivery, **more: Any) -> Delivery:
    fields = {"preset": "pair", "answer": "delivered", "reason": "", "workers": workers, **more}
    return Delivery.model_validate(fields)


def test_a_line_left_out_by_choice_is_no_reason_to_refuse(looked: Looked) -> None:
    gate = gated(replace(looked, delivery=delivery(worker("alpha", "left-out"), worker("beta", "delivered"))))
    told = [(one.node, one.outcome, one.found) for one in gate.checks if one.id == "delivery"]
    assert told == [
        ("alpha", "ok", "all as the preset has them in /proc/7/environ, but for NCCL_NET, left out (--no-strict)"),
        ("beta", "ok", "all as the preset has them in /proc/7/environ"),
    ]


def test_delivery_is_judged_once_and_told_per_place(looked: Looked) -> None:
    fix = Finding(id="env-not-delivered", severity="error", subject="beta", cause="NCCL_NET", fix=("write them",))
    said = delivery(
        worker("alpha", "delivered", extra={"NCCL_ALGO": "Ring"}),
        worker("beta", "missing"),
        worker("beta", "unknown"),
        findings=(fix,),
        unseen=(UnseenNode(node="gamma", reason="no process has NCCL loaded"),),
    )
    gate = gated(replace(looked, delivery=said))
    told = [(one.node, one.outcome, one.found) for one in gate.checks if one.id == "delivery"]
    assert told == [
        ("alpha", "noted", "all as the preset has them in /proc/7/environ"),
        ("beta", "differs", "NCCL_NET missing"),
        ("beta", "unknown", "unknown: nothing tells of NCCL_NET"),
        ("gamma", "unknown", "unknown: no process has NCCL loaded"),
    ]
    (missing,) = [one for one in gate.checks if one.id == "delivery" and one.outcome == "differs"]
    assert missing.fix == ("write them",)
    assert fix in gate.findings


def test_one_nodes_own_part_asks_nothing_of_the_other(looked: Looked, fabric: Fabric) -> None:
    alone = fabric.model_copy(update={"nodes": fabric.nodes[:1], "links": ()})
    gate = gated(replace(looked, fabric=alone, only="alpha"), local=True)
    assert {one.node for one in gate.checks} == {"", "alpha"}
    assert "peer" not in {one.id for one in gate.checks}


def test_without_a_preset_nodes_must_answer_and_nothing_is_compared(looked: Looked, fabric: Fabric) -> None:
    lost = FailedNode(name="gamma", target="gamma", id="ssh", message="no route", fix="ssh gamma")
    seen = fabric.model_copy(update={"failed": (lost,)})
    gate = gated(replace(looked, preset=None, fabric=seen))
    assert gate.answer == "no-go"
    assert "nothing measured stands behind it" in gate.reason
    (failed,) = [one for one in gate.checks if one.outcome == "failed"]
    assert (failed.id, failed.node, failed.found, failed.fix) == ("node", "gamma", "no route", ("ssh gamma",))
    assert not {"mtu", "hostname", "preset-expired", "profile"} & {one.id for one in gate.checks}


def test_a_node_that_failed_at_the_cables_still_answered(looked: Looked, fabric: Fabric) -> None:
    lost = FailedNode(name="beta", target="beta", id="node-timeout", message="late")
    gate = gated(replace(looked, preset=None, fabric=fabric.model_copy(update={"failed": (lost,)})))
    assert [one.outcome for one in gate.checks if one.id == "node"] == ["ok", "ok"]
