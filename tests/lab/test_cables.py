"""Beacons on real interfaces: crossed and straight wiring, refusals, and no traffic outside the listed ports."""

from __future__ import annotations

import pytest

from fabricdoc.fabric import map_cables, scan
from fabricdoc.lab import Lab, LabSpec, open_lab
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric
from fabricdoc.transport import NodeSpec
from tests.lab.conftest import Inside

pytestmark = pytest.mark.lab


def mapped(lab: Lab, ports: tuple[str, ...] | None = None) -> Fabric:
    specs = [NodeSpec(name=n.name, target=n.target, ports=ports or n.ports) for n in lab.nodes]
    return map_cables(specs, scan(specs, deadline_s=10))


def pairs(fabric: Fabric) -> list[tuple[str, str]]:
    assert not isinstance(fabric.links, Unknown), fabric.links
    assert {link.kind for link in fabric.links} <= {"cable"}
    return [(link.a.netdev, link.b.netdev) for link in fabric.links]


def test_crossed_wiring_is_proven_both_ways(lab: Lab) -> None:
    fabric = mapped(lab)
    assert pairs(fabric) == [("enp1s0f0np0", "enp1s0f1np1"), ("enp1s0f1np1", "enp1s0f0np0")]
    assert not isinstance(fabric.links, Unknown)
    for link in fabric.links:
        assert link.proof.frames_a_to_b >= 3
        assert link.proof.frames_b_to_a >= 3
        assert link.a.ip is not None
    assert [f for f in fabric.findings if f.severity != "info"] == []


def test_straight_wiring_is_told_from_crossed() -> None:
    with open_lab(LabSpec(cabling="straight")) as lab:
        assert pairs(mapped(lab)) == [("enp1s0f0np0", "enp1s0f0np0"), ("enp1s0f1np1", "enp1s0f1np1")]


def test_only_listed_ports_send_and_a_silent_one_is_named(lab: Lab) -> None:
    specs = [NodeSpec(name=n.name, target=n.target, ports=("enp1s0f0np0",)) for n in lab.nodes]
    fabric = map_cables(specs, scan(specs, deadline_s=10))
    assert fabric.links == ()
    assert sorted((f.id, f.subject) for f in fabric.findings if f.id == "port-without-peer") == [
        ("port-without-peer", "alpha/enp1s0f0np0"),
        ("port-without-peer", "beta/enp1s0f0np0"),
    ]


def test_a_port_pattern_that_matches_nothing_sends_nothing(lab: Lab) -> None:
    links = mapped(lab, ("eth*",)).links
    assert isinstance(links, Unknown)
    assert links.unknown == "eth* matches no port; alpha and beta have enp1s0f0np0, enp1s0f1np1"


def test_without_ports_the_option_to_paste_works(lab: Lab) -> None:
    specs = [NodeSpec(name=n.name, target=n.target) for n in lab.nodes]
    links = map_cables(specs, scan(specs, deadline_s=10)).links
    assert isinstance(links, Unknown)
    assert links.unknown.endswith("`--ports enp1s0f0np0,enp1s0f1np1`")
    assert len(pairs(mapped(lab, ("enp1s0f0np0", "enp1s0f1np1")))) == 2


def test_a_port_set_down_is_said_to_be_down(lab: Lab, inside: Inside) -> None:
    code = (
        "import sys, pyroute2; ip = pyroute2.IPRoute();"
        "ip.link('set', index=ip.link_lookup(ifname='enp1s0f0np0')[0], state=sys.argv[1])"
    )
    assert inside(lab.nodes[0].pid, code, "down").returncode == 0
    try:
        found = {one.subject: one for one in mapped(lab).findings}["alpha/enp1s0f0np0"]
    finally:
        assert inside(lab.nodes[0].pid, code, "up").returncode == 0
    assert found.cause.startswith("enp1s0f0np0 on alpha is down: ")
    assert found.fix[:2] == ("on alpha:", "sudo ip link set dev enp1s0f0np0 up")
