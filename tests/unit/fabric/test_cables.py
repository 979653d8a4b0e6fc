"""Findings of the cables job: what could not be proven is said, never guessed."""

from __future__ import annotations

import pytest

from fabricdoc.checks import check_fabric
from fabricdoc.fabric import cables
from fabricdoc.fabric.cabling import Heard, Hearing
from fabricdoc.model.documents import Unknown
from fabricdoc.model.findings import Finding
from fabricdoc.transport import NodeSpec
from tests.fabrics import crossed_pair, link, netdev, node

pytestmark = pytest.mark.unit

A0, B1 = ("alpha", "p0"), ("beta", "p1")


def test_one_node_has_no_cables_and_says_what_to_do() -> None:
    fabric = crossed_pair().model_copy(update={"nodes": (node("alpha", netdevs=[netdev("p0")]),)})
    links = cables.map_cables([NodeSpec("alpha", "local")], fabric).links
    assert isinstance(links, Unknown)
    assert "--nodes" in links.unknown


def test_without_listed_or_rdma_ports_nothing_is_sent() -> None:
    specs = [NodeSpec("alpha", "local"), NodeSpec("beta", "local")]
    links = cables.map_cables(specs, crossed_pair()).links
    assert isinstance(links, Unknown)
    assert "--ports" in links.unknown


def test_no_permission_is_unknown_links_and_a_finding_per_port() -> None:
    fabric = cables._with_links(crossed_pair(), Heard(refused={A0: "Operation not permitted (errno 1)"}))
    assert isinstance(fabric.links, Unknown)
    assert "CAP_NET_RAW" in fabric.links.unknown
    assert [finding.id for finding in fabric.findings] == ["port-not-probed"]


def test_one_way_silent_and_stray_become_findings() -> None:
    heard = Heard(hearings=[Hearing(B1, A0, 3)], macs={A0: "m", B1: "m", ("beta", "p0"): "m"}, stray=2)
    fabric = cables._with_links(crossed_pair(), heard)
    ids = [(finding.id, finding.severity) for finding in fabric.findings]
    assert ids == [("link-one-way", "error"), ("port-without-peer", "warning"), ("stray-beacons", "info")]
    assert "p0" in fabric.findings[1].fix[0]
    assert "beta" in fabric.findings[1].fix[0]


def test_a_proven_pair_has_no_findings() -> None:
    heard = Heard(hearings=[Hearing(B1, A0, 3), Hearing(A0, B1, 3)], macs={A0: "m", B1: "m"})
    assert cables._with_links(crossed_pair(), heard).findings == ()


def test_a_port_that_is_down_is_said_to_be_down_with_the_command() -> None:
    nodes = (node("alpha", netdevs=[netdev("p0", up=False)]), node("beta", netdevs=[netdev("p1")]))
    fabric = crossed_pair().model_copy(update={"nodes": nodes})
    dark, silent = cables._with_links(fabric, Heard(macs={A0: "m", B1: "m"})).findings
    assert dark.cause.startswith("p0 on alpha is down: it is set down, or no signal reaches it")
    assert dark.fix[:2] == ("on alpha:", "sudo ip link set dev p0 up")
    assert silent.cause.startswith("p1 on beta is up, but nothing named here is at its other end")


def test_a_carrier_that_is_not_told_of_a_port_set_down_is_down() -> None:
    refused = netdev("p0").model_copy(update={"carrier": Unknown(unknown="Invalid argument"), "operstate": "down"})
    assert cables.down_ports([node("alpha", netdevs=[refused, netdev("p1")])]) == {A0}
    lying = netdev("p0").model_copy(update={"carrier": True, "operstate": "down"})
    assert cables.down_ports([node("alpha", netdevs=[lying, netdev("p1")])]) == {A0}, "virtio says so"


def test_one_of_two_nodes_that_failed_is_not_called_unnamed() -> None:
    fabric = crossed_pair().model_copy(update={"nodes": crossed_pair().nodes[:1]})
    links = cables.map_cables([NodeSpec("alpha", "local"), NodeSpec("beta", "local")], fabric).links
    assert isinstance(links, Unknown)
    assert links.unknown == "cables join at least two nodes: 1 of 2 could be read"


def test_the_checks_judge_again_what_the_links_tell_and_beacons_findings_stay() -> None:
    """Addresses of beta on each other's port: only the links show it; the scan's own findings are not told twice."""
    fabric = crossed_pair()
    straight = (link((A0[0], A0[1], None), ("beta", "p0", None)), link(("alpha", "p1", None), ("beta", "p1", None)))
    stray = Finding(id="stray-beacons", severity="info", subject="fabric", cause="Another tool.")
    before = (*check_fabric(fabric), stray)
    judged = cables.judged_again(fabric.model_copy(update={"links": straight, "findings": before}))
    ids = [finding.id for finding in judged.findings]
    assert ids[0] == "addresses-swapped-between-rails"
    assert ids[-1] == "stray-beacons"
    assert len(ids) == len(set(ids))


def test_without_links_the_findings_stay_as_they_were() -> None:
    fabric = crossed_pair().model_copy(update={"links": Unknown(unknown="no"), "findings": ()})
    assert cables.judged_again(fabric) is fabric
