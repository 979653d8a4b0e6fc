"""Cables made wrong at the patch panel, or pulled: what beacons prove, and what a scan sees of it."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.labs.lab import CROSSED, STRAIGHT, RoceLab
from tests.labs.panel import Panel, cable, one_way, switch
from tests.labs.seed import ALPHA, BETA, HCAS, PORTS
from tests.roce.seeing import found, hcas, ids, links, netdev, node, proven

pytestmark = [pytest.mark.roce, pytest.mark.timeout(1500)]

F0, F1 = PORTS
RAIL_1 = ("cable", f"alpha/{F1}", f"beta/{F0}")


def test_a_pulled_cable_is_down_at_that_end_only(lab: RoceLab) -> None:
    lab.pull("alpha", F0)
    fabric = lab.cables()
    assert netdev(fabric, "alpha", F0).carrier is False
    port = hcas(fabric, "alpha")[HCAS[0]].ports[0]
    assert (port.state, port.phys_state) == ("DOWN", "Polling")
    assert netdev(fabric, "beta", F1).carrier is True
    assert links(fabric) == [RAIL_1]
    assert "is down" in found(fabric, "port-without-peer", "alpha", F0).cause
    assert "is up" in found(fabric, "port-without-peer", "beta", F1).cause


def test_cables_straight_instead_of_crossed(lab: RoceLab) -> None:
    lab.panel.wire(*STRAIGHT)
    for guest in lab.guests:
        guest.ask("ip neighbour flush all")
    # the addresses stayed: each cable joins two subnets, while a ping still succeeds (until the map's own messages
    # teach the ports whom they really meet)
    assert "1 received" in lab.alpha.ask(ping(56))
    fabric = lab.cables()
    assert links(fabric) == [("cable", f"alpha/{F0}", f"beta/{F0}"), ("cable", f"alpha/{F1}", f"beta/{F1}")]
    assert found(fabric, "addresses-swapped-between-rails", "beta", F0).severity == "error"
    assert [(one.a.ip, one.b.ip) for one in proven(fabric)] == [*zip(ALPHA.addresses, BETA.addresses, strict=True)]


def test_a_cable_that_leads_elsewhere(lab: RoceLab) -> None:
    lab.panel.wire(CROSSED[1])
    fabric = lab.cables()
    assert links(fabric) == [RAIL_1]
    for name, port in (("alpha", F0), ("beta", F1)):
        assert netdev(fabric, name, port).carrier is True
        assert "nothing named here is at its other end" in found(fabric, "port-without-peer", name, port).cause


def test_a_cable_that_carries_one_way(lab: RoceLab) -> None:
    lab.panel.wire(one_way("alpha-f0", "beta-f1"), CROSSED[1])
    fabric = lab.cables()
    assert links(fabric) == [("one-way", f"alpha/{F0}", f"beta/{F1}"), RAIL_1]
    finding = found(fabric, "link-one-way", "alpha", F0)
    assert finding.subject == f"alpha/{F0} - beta/{F1}"
    assert re.fullmatch(r"frames to beta: [1-9]\d*, back: 0", finding.evidence[0].text)


def test_everything_on_one_switch_without_vlans(lab: RoceLab) -> None:
    lab.panel.wire(switch("alpha-f0", "alpha-f1", "beta-f0", "beta-f1"))
    kinds = [kind for kind, _a, _b in links(lab.cables())]
    assert sorted(kinds) == ["loop", "loop", "segment", "segment", "segment", "segment"]


def test_a_cable_between_two_ports_of_one_node(lab: RoceLab) -> None:
    lab.panel.wire(cable("alpha-f0", "alpha-f1"))
    fabric = lab.cables()
    assert links(fabric) == [("loop", f"alpha/{F0}", f"alpha/{F1}")]
    for port in PORTS:
        found(fabric, "port-without-peer", "beta", port)


def ping(size: int) -> str:
    return f"ping -c 1 -W 5 -M do -s {size} {BETA.addresses[1]} || true\n"


def test_a_foreign_port_shows_in_the_neighbour_table(lab: RoceLab) -> None:
    foreign = bytes.fromhex("02fe00000009")
    asked = bytes.fromhex("0001080006040001") + foreign + bytes([192, 168, 11, 77]) + bytes(6)
    frame = b"\xff" * 6 + foreign + b"\x08\x06" + asked + bytes([192, 168, 11, 1])
    lab.alpha.do("true", undo=f"ip neigh flush dev {F0}")
    lab.panel.inject("alpha-f0", frame)
    neighbours = node(lab.scan(), "alpha").neighbours
    assert isinstance(neighbours, tuple), neighbours
    assert [(one.netdev, one.mac) for one in neighbours if one.ip == "192.168.11.77"] == [(F0, "02:fe:00:00:00:09")]


def test_beacons_of_another_run_are_ignored_and_told(lab: RoceLab) -> None:
    if not lab.panel.beacons:
        lab.cables()
    with replaying(lab.panel, "beta-f0"):
        mapped = lab.cables()
    assert "stray-beacons" in ids(mapped)
    assert [kind for kind, _a, _b in links(mapped)] == ["cable", "cable"]


@contextmanager
def replaying(panel: Panel, target: str) -> Iterator[None]:
    """The frame of an earlier exchange, again and again, at one port."""
    frame, over = panel.beacons[0], threading.Event()

    def send() -> None:
        while not over.wait(0.1):
            panel.inject(target, frame)

    thread = threading.Thread(target=send, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(5)
