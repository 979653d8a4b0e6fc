"""Findings of the cables job: what could not be proven is said, never guessed."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from fabricdoc.checks import check_fabric, judged
from fabricdoc.errors import ExitStatus, NodeError
from fabricdoc.fabric import cables
from fabricdoc.fabric.failing import with_failed
from fabricdoc.fabric.heard import Heard, Hearing
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric
from fabricdoc.model.findings import Finding
from fabricdoc.report import fabric_status
from fabricdoc.transport import NodeSpec
from tests.fabrics import crossed_pair, link, netdev, node

pytestmark = pytest.mark.unit


A0, B1 = ("alpha", "p0"), ("beta", "p1")


def test_one_node_has_no_cables_and_says_what_to_do() -> None:
    fabric = crossed_pair().model_copy(update={"nodes": (node("alpha", netdevs=[netdev("p0")]),)})
    links = cables.map_cables([NodeSpec("alpha", "local")], fabric, evidence=cables.BEACONS_ALONE).links
    assert isinstance(links, Unknown)
    assert "--nodes" in links.unknown


def test_without_listed_or_rdma_ports_nothing_is_sent() -> None:
    specs = [NodeSpec("alpha", "local"), NodeSpec("beta", "local")]
    links = cables.map_cables(specs, crossed_pair(), evidence=cables.BEACONS_ALONE).links
    assert isinstance(links, Unknown)
    assert "--ports" in links.unknown


def test_no_permission_is_unknown_links_and_a_finding_per_port() -> None:
    fabric = cables.with_links(crossed_pair(), Heard(refused={A0: "Operation not permitted (errno 1)"}))
    assert isinstance(fabric.links, Unknown)
    assert "CAP_NET_RAW" in fabric.links.unknown
    assert [finding.id for finding in fabric.findings] == ["port-not-probed"]


def test_one_way_silent_and_stray_become_findings() -> None:
    heard = Heard(hearings=[Hearing(B1, A0, 3)], macs={A0: "m", B1: "m", ("beta", "p0"): "m"}, stray=2)
    fabric = cables.with_links(crossed_pair(), heard)
    ids = [(finding.id, finding.severity) for finding in fabric.findings]
    assert ids == [("link-one-way", "error"), ("port-without-peer", "warning"), ("stray-beacons", "info")]
    assert "p0" in fabric.findings[1].fix[0]
    assert "beta" in fabric.findings[1].fix[0]


def test_a_proven_pair_has_no_findings() -> None:
    heard = Heard(hearings=[Hearing(B1, A0, 3), Hearing(A0, B1, 3)], macs={A0: "m", B1: "m"})
    assert cables.with_links(crossed_pair(), heard).findings == ()


def test_a_port_that_is_down_is_said_to_be_down_with_the_command() -> None:
    nodes = (node("alpha", netdevs=[netdev("p0", up=False)]), node("beta", netdevs=[netdev("p1")]))
    fabric = crossed_pair().model_copy(update={"nodes": nodes})
    dark, silent = cables.with_links(fabric, Heard(macs={A0: "m", B1: "m"})).findings
    assert dark.cause.startswith("p0 on alpha is down: it is set down, or no signal reaches it")
    assert dark.fix[:2] == ("on alpha:", "sudo ip link set dev p0 up")
    assert silent.cause.startswith("p1 on beta is up, but nothing named here is at its other end")


def test_one_of_two_nodes_that_failed_is_not_called_unnamed() -> None:
    fabric = crossed_pair().model_copy(update={"nodes": crossed_pair().nodes[:1]})
    links = cables.map_cables(
        [NodeSpec("alpha", "local"), NodeSpec("beta", "local")], fabric, evidence=cables.BEACONS_ALONE
    ).links
    assert isinstance(links, Unknown)
    assert links.unknown == "cables join at least two nodes: 1 of 2 could be read"


def test_the_checks_judge_again_what_the_links_tell_and_beacons_findings_stay() -> None:
    """Addresses of beta on each other's port: only the links show it; the scan's own findings are not told twice."""
    fabric = crossed_pair()
    straight = (link((A0[0], A0[1], None), ("beta", "p0", None)), link(("alpha", "p1", None), ("beta", "p1", None)))
    stray = Finding(id="stray-beacons", severity="info", subject="fabric", cause="Another tool.")
    before = (*check_fabric(fabric), stray)
    again = judged(fabric.model_copy(update={"links": straight, "findings": before}))
    ids = [finding.id for finding in again.findings]
    assert ids[0] == "addresses-swapped-between-rails"
    assert ids[-1] == "stray-beacons"
    assert len(ids) == len(set(ids))


def test_each_step_of_evidence_sees_what_the_one_before_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps follow the beacons, get the nodes that were read, and their findings outlive the judgement at the end."""
    asked: list[list[str]] = []

    def step(specs: Sequence[NodeSpec], fabric: Fabric, _progress: cables.Progress) -> Fabric:
        asked.append([spec.name for spec in specs])
        stray = Finding(id="stray-beacons", severity="info", subject="fabric", cause="Another tool.")
        return fabric.model_copy(update={"findings": (*fabric.findings, stray)})

    monkeypatch.setattr(cables, "candidate_ports", lambda *_words: ("p0",))
    met = Heard(hearings=[Hearing(B1, A0, 3), Hearing(A0, B1, 3)], macs={A0: "m", B1: "m"})
    monkeypatch.setattr(cables, "exchange", lambda *_words: met)
    specs = [NodeSpec(name, "local") for name in ("alpha", "beta", "gone")]
    fabric = cables.map_cables(specs, crossed_pair(), evidence=cables.Evidence((step,), (step,), (step,)))
    assert asked == [["alpha", "beta"]] * 3
    assert [one.id for one in fabric.findings if one.id == "stray-beacons"] == ["stray-beacons"] * 3


def test_without_links_what_follows_from_them_is_not_asked_and_the_fabric_is_judged() -> None:
    specs = [NodeSpec("alpha", "local"), NodeSpec("beta", "local")]
    following = cables.BEACONS_ALONE._replace(following=(lambda *_words: pytest.fail("asked"),))
    fabric = cables.map_cables(specs, crossed_pair(), evidence=following)
    assert isinstance(fabric.links, Unknown)
    assert fabric.findings == check_fabric(fabric)


def test_a_node_that_fails_in_a_step_is_in_no_later_one_and_the_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []

    def step(specs: Sequence[NodeSpec], fabric: Fabric, _progress: cables.Progress) -> Fabric:
        asked.append([spec.name for spec in specs])
        return with_failed(fabric, {specs[-1].name: NodeError(f"{specs[-1].name}: it fell", fix="look")})

    nodes = (*crossed_pair().nodes, node("delta"), node("gamma"))
    fabric = crossed_pair().model_copy(update={"nodes": nodes})
    met = Heard(
        hearings=[Hearing(B1, A0, 3), Hearing(A0, B1, 3)],
        macs={A0: "m", B1: "m"},
        failed={"delta": NodeError("delta: hung", id="node-timeout", fix="look")},
    )
    monkeypatch.setattr(cables, "candidate_ports", lambda *_words: ("p0",))
    monkeypatch.setattr(cables, "exchange", lambda *_words: met)
    specs = [NodeSpec(one.name, "local") for one in nodes]
    found = cables.map_cables(specs, fabric, evidence=cables.Evidence((step, step, step), (), (step,)))
    assert asked == [["alpha", "beta", "gamma"], ["alpha", "beta"]], "one node alone is asked nothing more"
    assert [one.name for one in found.failed] == ["delta", "gamma", "beta"]
    assert isinstance(found.links, tuple)
    assert [one.ends for one in found.links] == [(A0, B1)]
    assert fabric_status(found) is ExitStatus.FAILED


def test_nodes_that_all_fail_leave_links_unknown_with_the_first_reason() -> None:
    errors = {name: NodeError(f"{name}: no ssh connection", fix="look") for name in ("alpha", "beta")}
    fabric = cables.with_links(crossed_pair(), Heard(failed=errors))
    assert fabric.links == Unknown(unknown="alpha: no ssh connection")
    assert [one.name for one in fabric.failed] == ["alpha", "beta"]
    assert [(one.id, one.subject) for one in fabric.findings] == [
        ("port-not-probed", "alpha"),
        ("port-not-probed", "beta"),
    ]
