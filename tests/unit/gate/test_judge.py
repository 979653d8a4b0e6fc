"""The three answers, and that one changed fact is enough for each."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.errors import ExitStatus
from fabricdoc.gate import gate_status
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, FailedNode
from fabricdoc.model.gate import Gate
from fabricdoc.model.preset import Fingerprint, Preset
from tests.unit.gate.judging import judge_gate

pytestmark = pytest.mark.unit

A0, A1, B0, B1 = "alpha/enp1s0f0np0", "alpha/enp1s0f1np1", "beta/enp1s0f0np0", "beta/enp1s0f1np1"
GONE = Unknown(unknown="no such file")


def outcomes(gate: Gate, outcome: str) -> list[tuple[str, str]]:
    return [(check.place, check.id) for check in gate.checks if check.outcome == outcome]


def test_the_fabric_that_was_measured_is_fit(preset: Preset, fabric: Fabric) -> None:
    gate = judge_gate(preset, fabric)
    assert gate.answer == "go"
    assert gate_status(gate) is ExitStatus.FIT
    assert gate.findings == ()
    assert gate.preset == "pair"
    assert {check.outcome for check in gate.checks} == {"ok"}
    ids = {"node", "hostname", "kernel", "torch", "nvidia-driver", "gpus", "port", "carrier", "mac", "mtu", "speed"}
    assert {check.id for check in gate.checks} == ids | {"address", "rdma-device", "peer", "nccl-build"}
    assert gate.reason == f"all {len(gate.checks)} checks hold on 2 nodes"


def test_more_than_what_was_recorded_is_no_harm(preset: Preset, fabric: Fabric, change: Any) -> None:
    netdevs = fabric.nodes[0].netdevs
    assert not isinstance(netdevs, Unknown)
    extra = netdevs[0].addresses[0].model_copy(update={"ip": "192.168.9.9"})
    more = change.port(fabric, A0, addresses=(*netdevs[0].addresses, extra))
    assert judge_gate(preset, more).answer == "go"


@pytest.mark.parametrize("field", ["hostname", "kernel", "nvidia_driver", "torch"])
def test_a_changed_host_fact_is_not_fit(preset: Preset, fabric: Fabric, change: Any, field: str) -> None:
    gate = judge_gate(preset, change.host(fabric, "beta", **{field: "9.9"}))
    assert gate_status(gate) is ExitStatus.NOT_FIT
    assert outcomes(gate, "differs") == [("beta", field.replace("_", "-"))]
    assert len(gate.findings) == 1
    assert "9.9" in gate.reason


@pytest.mark.parametrize("field", ["hostname", "kernel", "nvidia_driver", "torch"])
def test_an_unread_host_fact_is_could_not_tell(preset: Preset, fabric: Fabric, change: Any, field: str) -> None:
    gate = judge_gate(preset, change.host(fabric, "beta", **{field: GONE}))
    assert gate.answer == "could-not-tell"
    assert gate_status(gate) is ExitStatus.INCONCLUSIVE
    assert "no such file" in gate.reason
    assert [finding.severity for finding in gate.findings] == ["warning"]


@pytest.mark.parametrize(
    ("fields", "id"),
    [
        ({"carrier": False}, "carrier"),
        ({"carrier": Unknown(unknown="Invalid argument"), "operstate": "down"}, "carrier"),
        ({"mac": "02:ff:ff:ff:ff:ff"}, "mac"),
        ({"mtu": 1500}, "mtu"),
        ({"speed_mbps": 100000}, "speed"),
        ({"addresses": ()}, "address"),
        ({"name": "enp9s0"}, "port"),
    ],
)
def test_a_changed_port_is_not_fit(preset: Preset, fabric: Fabric, change: Any, fields: Any, id: str) -> None:
    gate = judge_gate(preset, change.port(fabric, A0, **fields))
    assert gate.answer == "no-go"
    assert (A0, id) in outcomes(gate, "differs")
    assert gate.findings[0].severity == "error"
    assert A0 in gate.reason


@pytest.mark.parametrize("field", ["carrier", "mac", "mtu", "speed_mbps"])
def test_an_unread_port_fact_is_could_not_tell(preset: Preset, fabric: Fabric, change: Any, field: str) -> None:
    gate = judge_gate(preset, change.port(fabric, A0, **{field: GONE}))
    assert gate.answer == "could-not-tell"
    assert len(outcomes(gate, "unknown")) == 1


def test_a_difference_beats_an_unknown(preset: Preset, fabric: Fabric, change: Any) -> None:
    both = change.host(change.port(fabric, A0, mtu=1500), "beta", kernel=GONE)
    gate = judge_gate(preset, both)
    assert gate.answer == "no-go"
    assert "MTU" in gate.reason
    assert [finding.severity for finding in gate.findings] == ["error", "warning"]


def test_unknown_then_and_now_for_the_same_reason_holds(preset: Preset, fabric: Fabric, change: Any) -> None:
    then = change.printed(preset, "beta", nvidia_driver=GONE)
    same = judge_gate(then, change.host(fabric, "beta", nvidia_driver=GONE))
    assert same.answer == "go"
    assert ("nvidia-driver", "unknown then and now") in [(check.id, check.note) for check in same.checks]
    other = judge_gate(then, change.host(fabric, "beta", nvidia_driver=Unknown(unknown="time limit")))
    assert other.answer == "could-not-tell"
    known = judge_gate(then, fabric)
    assert known.answer == "could-not-tell"
    assert "was not known when measured" in known.reason


def test_a_failed_node_is_told_with_its_reason_only(preset: Preset, fabric: Fabric) -> None:
    failed = FailedNode(name="beta", target="beta", id="ssh", message="connection refused")
    half = fabric.model_copy(update={"nodes": fabric.nodes[:1], "failed": (failed,), "links": ()})
    gate = judge_gate(preset, half)
    assert gate.answer == "node-failed"
    assert gate_status(gate) is ExitStatus.FAILED
    assert gate.reason == "beta could not be looked at: connection refused"
    assert [finding.id for finding in gate.findings] == ["gate-node-unread"]
    assert [check.found for check in gate.checks if check.id == "peer"] == ["unknown: beta could not be read"] * 2


def test_a_node_that_was_not_asked(preset: Preset, fabric: Fabric) -> None:
    gate = judge_gate(preset, fabric.model_copy(update={"nodes": fabric.nodes[:1]}))
    assert gate.answer == "could-not-tell"
    assert gate.reason == "beta was not asked, but the preset is for all its nodes"
    (finding,) = [one for one in gate.findings if one.id == "gate-node-unread"]
    assert finding.fix == (
        "leave --nodes out, or name every node of the preset:",
        "fabricdoc gate --nodes alpha,beta=user@beta",
    )


def test_a_lab_that_has_ended_is_to_be_started_again(preset: Preset, fabric: Fabric) -> None:
    failed = tuple(
        FailedNode(name=name, target="netns:7", id="netns-gone", message=f"{name}: its namespace netns:7 is gone")
        for name in ("alpha", "beta")
    )
    gate = judge_gate(preset, fabric.model_copy(update={"nodes": (), "failed": failed, "links": ()}))
    assert gate.answer == "node-failed"
    (finding,) = gate.findings
    assert finding.cause == "alpha and beta: their namespaces are gone: the lab that was measured has ended"
    assert finding.fix == ("start it again, then measure again on the nodes it names:", "fabricdoc lab up")


def test_unknown_links_leave_the_peers_unknown(preset: Preset, fabric: Fabric) -> None:
    gate = judge_gate(preset, fabric.model_copy(update={"links": Unknown(unknown="no right to send frames")}))
    assert gate.answer == "could-not-tell"
    assert len(outcomes(gate, "unknown")) == 4
    assert len(gate.findings) == 1
    assert "no right to send frames" in gate.reason


def test_a_preset_without_fingerprint_never_fits(preset: Preset, fabric: Fabric) -> None:
    bare = preset.model_copy(update={"fingerprint": Fingerprint()})
    gate = judge_gate(bare, fabric)
    assert gate.answer == "could-not-tell"
    assert gate.findings[0].id == "gate-no-fingerprint"
    half = preset.model_copy(update={"fingerprint": Fingerprint(nodes=preset.fingerprint.nodes[:1])})
    assert judge_gate(half, fabric).answer == "could-not-tell"
    assert "beta" in judge_gate(half, fabric).reason


def test_the_document_survives_json(preset: Preset, fabric: Fabric, change: Any) -> None:
    gate = judge_gate(preset, change.port(fabric, A0, mtu=1500))
    assert Gate.model_validate_json(gate.model_dump_json()) == gate
