"""Settings, software and GPUs that drifted, and facts that can't be read."""

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


def test_an_mtu_change_on_several_ports_is_one_finding_with_each_command(
    preset: Preset, fabric: Fabric, change: Any
) -> None:
    small = change.port(change.port(fabric, A0, mtu=1500), B1, mtu=1500)
    gate = judge_gate(preset, small)
    assert [finding.id for finding in gate.findings] == ["gate-mtu-changed"]
    assert gate.findings[0].fix == (
        "on alpha:",
        "sudo ip link set dev enp1s0f0np0 mtu 9000",
        "on beta:",
        "sudo ip link set dev enp1s0f1np1 mtu 9000",
    )


def test_a_lost_address_is_put_back_with_its_prefix(preset: Preset, fabric: Fabric, change: Any) -> None:
    gate = judge_gate(preset, change.port(fabric, A0, addresses=()))
    assert gate.findings[0].fix == ("on alpha:", "sudo ip address add 10.77.0.1/24 dev enp1s0f0np0")


def test_a_renamed_rdma_device(preset: Preset, fabric: Fabric, change: Any) -> None:
    hcas = fabric.nodes[0].hcas
    assert not isinstance(hcas, Unknown)
    gate = judge_gate(
        preset, change.node(fabric, "alpha", hcas=(hcas[0].model_copy(update={"name": "mlx5_0"}), hcas[1]))
    )
    assert [finding.id for finding in gate.findings] == ["gate-rdma-device-changed"]
    assert "rocep1s0f0" in gate.reason
    assert "mlx5_0" in gate.reason


def test_software_of_both_nodes_is_one_finding(preset: Preset, fabric: Fabric, change: Any) -> None:
    new = change.host(change.host(fabric, "alpha", kernel="6.14"), "beta", kernel="6.14", torch="2.14.0")
    gate = judge_gate(preset, new)
    assert [finding.id for finding in gate.findings] == ["gate-software-changed"]
    assert gate.findings[0].fix[-1] == BENCH
    assert len(gate.findings[0].evidence) == 3


def test_gpus_gone(preset: Preset, fabric: Fabric, change: Any) -> None:
    gate = judge_gate(preset, change.node(fabric, "alpha", gpus=()))
    assert [finding.id for finding in gate.findings] == ["gate-gpus-changed"]
    assert "alpha had 1 x NVIDIA GB10 when measured and has none" in gate.reason


def test_unread_facts_are_grouped_by_reason(preset: Preset, fabric: Fabric, change: Any) -> None:
    deaf = Unknown(unknown="time limit")
    gate = judge_gate(preset, change.host(fabric, "beta", kernel=deaf, torch=deaf))
    assert len(gate.findings) == 1
    assert gate.findings[0].cause == "beta kernel, beta torch: can't be read now: time limit"
    assert gate.findings[0].fix[-1] == "fabricdoc scan --nodes beta"


def test_gpus_that_were_never_recorded(preset: Preset, fabric: Fabric, change: Any) -> None:
    gate = judge_gate(change.printed(preset, "alpha", gpus=()), fabric)
    assert gate.answer == "could-not-tell"
    assert "none were recorded when measured: now 1 x NVIDIA GB10" in gate.reason
    assert gate.findings[0].fix[-1] == BENCH


def test_many_ports_are_counted_and_a_node_is_named_once(preset: Preset, fabric: Fabric, change: Any) -> None:
    small = fabric
    for place in (A0, A1, B0, B1):
        small = change.port(small, place, mtu=1500)
    only = judge_gate(preset, small).findings[0]
    assert only.cause == "the MTU of 4 ports is not the one measured"
    assert len(only.evidence) == 4
    assert only.fix[:4] == (
        "on alpha:",
        "sudo ip link set dev enp1s0f0np0 mtu 9000",
        "sudo ip link set dev enp1s0f1np1 mtu 9000",
        "on beta:",
    )


def test_a_dark_port_is_not_told_to_be_slow_too(preset: Preset, fabric: Fabric, change: Any) -> None:
    dark = change.port(fabric, A0, carrier=False, speed_mbps=10)
    gate = judge_gate(preset, dark.model_copy(update={"links": (change.link(A1, B0),)}))
    assert [finding.id for finding in gate.findings] == ["gate-port-no-carrier"]
    slow = judge_gate(preset, change.port(fabric, A0, speed_mbps=100000))
    assert [finding.id for finding in slow.findings] == ["gate-speed-changed"]
    assert "had 200000 Mbit/s, has 100000 Mbit/s" in slow.reason
