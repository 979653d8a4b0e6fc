"""One finding per cause, the cause before its consequences, the fix ready to paste."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric
from fabricdoc.model.preset import Preset
from tests.unit.gate.judging import judge_gate

pytestmark = pytest.mark.unit

A0, A1, B0, B1 = "alpha/enp1s0f0np0", "alpha/enp1s0f1np1", "beta/enp1s0f0np0", "beta/enp1s0f1np1"
BENCH = "fabricdoc bench --nodes alpha,beta --profile tiny"


def test_a_pulled_cable_is_one_finding_for_both_ends(preset: Preset, fabric: Fabric, change: Any) -> None:
    no_speed = Unknown(unknown="Invalid argument")
    dark = change.port(fabric, A0, carrier=False, speed_mbps=no_speed)
    dark = change.port(dark, B1, carrier=False, speed_mbps=no_speed)
    dark = dark.model_copy(update={"links": (change.link(A1, B0),)})
    gate = judge_gate(preset, dark)
    assert [finding.id for finding in gate.findings] == ["gate-port-no-carrier"]
    only = gate.findings[0]
    assert only.subject == f"{A0}, {B1}"
    assert gate.reason == f"{A0} and {B1} lost their carrier: no signal, or a port set down"
    assert f"check the cable between {A0} and {B1}" in only.fix[0]
    assert only.fix[1:] == (
        "on alpha:",
        "sudo ip link set dev enp1s0f0np0 up",
        "on beta:",
        "sudo ip link set dev enp1s0f1np1 up",
    )
    assert len([check for check in gate.checks if check.outcome != "ok"]) == 6


def test_a_one_sided_loss_of_carrier(preset: Preset, fabric: Fabric, change: Any) -> None:
    gate = judge_gate(
        preset, change.port(fabric, A0, carrier=False).model_copy(update={"links": (change.link(A1, B0),)})
    )
    assert [finding.id for finding in gate.findings] == ["gate-port-no-carrier"]
    assert gate.reason.startswith(f"{A0} lost its carrier")


def test_straight_cables_instead_of_crossed_are_one_finding(preset: Preset, fabric: Fabric, change: Any) -> None:
    straight = fabric.model_copy(update={"links": (change.link(A0, B0), change.link(A1, B1))})
    gate = judge_gate(preset, straight)
    assert [finding.id for finding in gate.findings] == ["gate-cabling-changed"]
    only = gate.findings[0]
    assert only.cause == f"{A0} now meets {B0}, was {B1}; {A1} now meets {B1}, was {B0}"
    assert len(only.evidence) == 4
    assert only.fix == (
        f"either put the cable back: {A0} to {B1}",
        f"either put the cable back: {A1} to {B0}",
        "or measure this cabling:",
        BENCH,
    )


def test_a_moved_cable_explains_the_port_left_alone(preset: Preset, fabric: Fabric, change: Any) -> None:
    moved = fabric.model_copy(update={"links": (change.link(A0, "gamma/eth7"), change.link(A1, B0))})
    gate = judge_gate(preset, moved)
    assert [finding.id for finding in gate.findings] == ["gate-cabling-changed"]
    assert f"{A0} now meets gamma/eth7, was {B1}" in gate.reason


def test_silence_with_carrier_is_one_finding_for_the_link(preset: Preset, fabric: Fabric, change: Any) -> None:
    gate = judge_gate(preset, fabric.model_copy(update={"links": (change.link(A0, B1),)}))
    assert [finding.id for finding in gate.findings] == ["gate-link-silent"]
    assert gate.reason == f"no frame crosses between {A1} and {B0} although both have carrier"
    assert gate.findings[0].fix[-1] == "fabricdoc cables --nodes alpha,beta"


def test_a_one_way_link_is_said(preset: Preset, fabric: Fabric, change: Any) -> None:
    one_way = fabric.model_copy(update={"links": (change.link(A0, B1, "one-way"), change.link(A1, B0))})
    gate = judge_gate(preset, one_way)
    assert [finding.id for finding in gate.findings] == ["gate-link-silent"]
    assert "one way only" in gate.reason


def test_a_segment_that_still_holds_the_peer_is_fit(preset: Preset, fabric: Fabric, change: Any) -> None:
    links = (change.link(A0, B1, "segment"), change.link(A0, "gamma/x", "segment"), change.link(A1, B0))
    assert judge_gate(preset, fabric.model_copy(update={"links": links})).answer == "go"


def test_another_machine_explains_its_macs(preset: Preset, fabric: Fabric, change: Any) -> None:
    other = change.host(fabric, "beta", hostname="spark-9")
    for place in (B0, B1):
        other = change.port(other, place, mac=f"02:aa:00:00:00:0{place[-1]}")
    gate = judge_gate(preset, other)
    assert [finding.id for finding in gate.findings] == ["gate-node-changed"]
    assert "is another machine" in gate.reason
    assert "spark-9" in gate.reason
    named = judge_gate(preset, change.host(fabric, "beta", hostname="spark-9"))
    assert "has another hostname" in named.reason


def test_a_missing_port_says_where_its_mac_went(preset: Preset, fabric: Fabric, change: Any) -> None:
    gate = judge_gate(preset, change.port(fabric, A0, name="enp9s0").model_copy(update={"links": ()}))
    first = gate.findings[0]
    assert first.id == "gate-port-missing"
    assert "its MAC is now on enp9s0" in first.cause
    assert first.fix[-1] == BENCH
    told = [check.id for check in gate.checks if check.place == A0]
    assert told == ["port"]


def test_the_cause_comes_before_what_only_differs(preset: Preset, fabric: Fabric, change: Any) -> None:
    many = change.host(fabric, "alpha", kernel="6.14")
    many = change.port(change.port(many, A0, carrier=False), A1, mtu=1500)
    many = many.model_copy(update={"links": (change.link(A1, B0),)})
    gate = judge_gate(preset, many)
    ids = [finding.id for finding in gate.findings]
    assert ids == ["gate-port-no-carrier", "gate-mtu-changed", "gate-software-changed"]
    assert gate.reason.endswith("(and 2 more)")
