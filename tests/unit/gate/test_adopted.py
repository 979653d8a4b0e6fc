"""Findings of the checks as answers of the gate: which refuse, for which node and port."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.gate.adopted import BY_FINDINGS, adopted, deciding, found_text, netdevs_of, places
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Counters, Fabric
from fabricdoc.model.findings import Evidence, Finding, Severity

pytestmark = pytest.mark.unit

PORTS = {"alpha": frozenset({"p0"}), "beta": frozenset({"p1"})}


def finding(id: str, subject: str, severity: Severity = "error", **more: Any) -> Finding:
    return Finding(id=id, severity=severity, subject=subject, cause=f"cause of {id}", fix=("mend it",), **more)


def with_findings(fabric: Fabric, *findings: Finding) -> Fabric:
    return fabric.model_copy(update={"findings": findings})


@pytest.fixture
def fabric(fabric: Fabric, change: Any) -> Fabric:
    """The healthy pair, its kernel's log and clocks read."""
    for name in ("alpha", "beta"):
        fabric = change.node(change.host(fabric, name, kernel_log=()), name, clock_offset_s=0.0)
    return fabric


def test_what_can_not_be_read_is_noted_and_not_taken_for_good(fabric: Fabric, change: Any) -> None:
    blind = change.host(fabric, "beta", kernel_log=Unknown(unknown="/dev/kmsg: EPERM"))
    blind = change.node(blind, "alpha", clock_offset_s=Unknown(unknown="too slow"))
    told = [(one.id, one.node, one.outcome, one.found) for one in adopted(blind) if one.outcome != "ok"]
    assert told == [
        ("clock", "alpha", "noted", "unknown: too slow"),
        ("kernel-log", "beta", "noted", "unknown: /dev/kmsg: EPERM"),
    ]


def test_a_healthy_node_holds_every_row(fabric: Fabric) -> None:
    checks = adopted(fabric)
    assert [(one.id, one.node) for one in checks] == [(id, node) for id in BY_FINDINGS for node in ("alpha", "beta")]
    assert {one.outcome for one in checks} == {"ok"}


def test_counters_that_were_not_seen_before_are_not_said_to_stand_still(fabric: Fabric, change: Any) -> None:
    counters = (Counters(subject="mlx5_0/1", source="port", values={"symbol_error": 5}),)
    first = change.node(change.node(fabric, "alpha", counters=counters), "beta", counters=counters, watched_s=60.0)
    told = {one.node: (one.outcome, one.found) for one in adopted(first) if one.id == "counters"}
    assert told == {"alpha": ("ok", "no gate of this boot before"), "beta": ("ok", "so it is")}


def test_a_finding_is_a_no_for_its_node_with_its_fix(fabric: Fabric) -> None:
    told = finding("gpu-xid", "beta: kernel log", evidence=(Evidence(file="beta", text="1 x since boot: Xid 79"),))
    bad = [one for one in adopted(with_findings(fabric, told)) if one.outcome != "ok"]
    (only,) = bad
    assert (only.id, only.node, only.outcome, only.note) == ("kernel-log", "beta", "differs", "gpu-xid")
    assert (only.found, only.fix) == ("1 x since boot: Xid 79", ("mend it",))
    assert deciding(with_findings(fabric, told)) == [told]


def test_below_its_severity_it_is_noted(fabric: Fabric) -> None:
    told = finding("gpu-xid", "beta: kernel log", "warning")
    (only,) = [one for one in adopted(with_findings(fabric, told)) if one.outcome != "ok"]
    assert only.outcome == "noted"
    assert deciding(with_findings(fabric, told)) == []


def test_what_no_row_names_is_scans_to_tell(fabric: Fabric) -> None:
    told = finding("address-not-persistent", "beta")
    assert {one.outcome for one in adopted(with_findings(fabric, told))} == {"ok"}
    assert deciding(with_findings(fabric, told)) == []


@pytest.mark.parametrize(
    ("subject", "wanted"),
    [
        ("alpha", {"alpha": ""}),
        ("alpha/p0", {"alpha": "p0"}),
        ("alpha: kernel log", {"alpha": ""}),
        ("alpha and beta", {"alpha": "", "beta": ""}),
        ("alpha/p0 - beta/p1", {"alpha": "p0", "beta": "p1"}),
        ("alpha -> beta 10.0.0.2", {"alpha": "", "beta": ""}),
        ("beta 10.0.0.2:29500", {"beta": ""}),
        ("alpha/GPU 0", {"alpha": "GPU"}),
        ("gamma", {}),
        ("", {}),
    ],
)
def test_subjects_name_nodes_and_ports(subject: str, wanted: dict[str, str]) -> None:
    assert places(finding("clock-skew", subject), PORTS) == wanted


def test_where_the_subject_names_no_node_the_evidence_does() -> None:
    evidence = (Evidence(file="alpha", text="p0: MTU 9000"), Evidence(file="beta", text="p9: MTU 1500"))
    told = finding("mtu-mismatch", "10.0.0.0/24", evidence=(*evidence, Evidence(file="gamma", text="p0")))
    assert places(told, PORTS) == {"alpha": "p0", "beta": ""}
    assert places(finding("mtu-mismatch", "x", evidence=(Evidence(file="alpha", text=""),)), PORTS) == {"alpha": ""}


def test_what_was_seen_is_one_bounded_line() -> None:
    told = finding("gpu-xid", "beta", evidence=(Evidence(file="beta", text="a\n" + "b" * 900),))
    assert found_text(told, "beta").startswith("a b")
    assert len(found_text(told, "beta")) == 200
    assert found_text(told, "alpha") == "cause of gpu-xid"


def test_interfaces_that_are_unknown_are_none(fabric: Fabric, change: Any) -> None:
    assert netdevs_of(fabric.nodes[0]) == {"enp1s0f0np0", "enp1s0f1np1"}
    blind = change.node(fabric, "alpha", netdevs=Unknown(unknown="no netlink"))
    assert netdevs_of(blind.nodes[0]) == frozenset()
