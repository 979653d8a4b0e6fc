"""Findings of the cables job: what could not be proven is said, never guessed."""

from __future__ import annotations

import pytest

from fabricdoc.fabric import cables
from fabricdoc.fabric.cabling import Heard, Hearing
from fabricdoc.model.documents import Unknown
from fabricdoc.transport import NodeSpec
from tests.fabrics import crossed_pair, netdev, node

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
