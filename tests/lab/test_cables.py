"""Beacons on real interfaces: crossed and straight wiring, refusals, and no traffic outside the listed ports."""

from __future__ import annotations

import time

import pytest

from fabricdoc.fabric import map_cables, scan
from fabricdoc.fabric.beacons import exchange
from fabricdoc.lab import Lab, LabSpec, open_lab
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric
from fabricdoc.transport import NodeSpec, open_channels
from tests.lab.cabling import F0
from tests.lab.conftest import Inside, StartInside

pytestmark = pytest.mark.lab

# ends with 1 if any frame of the beacons' EtherType arrived on a port before a line came on stdin
LISTEN = """
import select, socket, sys
raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x88B5))
raw.bind((sys.argv[1], 0x88B5))
print("ready", flush=True)
sys.exit(1 if raw in select.select([raw, sys.stdin], [], [])[0] else 0)
"""


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


def test_a_port_beside_the_listed_ones_hears_nothing(lab: Lab, start_inside: StartInside) -> None:
    """Only beta's first port listens for us on the second rail, outside the exchange: no frame may come there."""
    listener = start_inside(lab.nodes[1].pid, LISTEN, F0)
    assert listener.stdout is not None
    assert listener.stdout.readline() == "ready\n"
    mapped(lab, (F0,))
    listener.communicate("enough\n")
    assert listener.returncode == 0, "alpha's second port, which was not listed, has sent"


def test_the_exchange_takes_less_than_a_second_beyond_the_start_of_its_processes(lab: Lab) -> None:
    specs = [NodeSpec(name=n.name, target=n.target, ports=n.ports) for n in lab.nodes]
    with open_channels(specs, "beacon"):
        pass  # the processes alone, to know what the machine takes for them now
    beyond = []
    while len(beyond) < 5 and min(beyond, default=2.0) >= 1.0:  # somebody else may have had the processor
        began = time.monotonic()
        with open_channels(specs, "beacon"):
            start = time.monotonic() - began
        began = time.monotonic()
        heard = exchange(specs, {node.name: node.ports for node in lab.nodes})
        beyond.append(time.monotonic() - began - start)
        assert len(heard.hearings) == 4
    assert min(beyond) < 1.0


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
