"""Cables made wrong at the patch panel: what beacons prove. No guest knows of its wiring, so one scan serves all.

One-way and straight cables are in test_rdma_ping, where RDMA is asked as well.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from fabricdoc.model.fabric import Fabric
from tests.labs.lab import CROSSED, RoceLab
from tests.labs.panel import Panel, cable, switch
from tests.labs.seed import PORTS
from tests.roce.seeing import found, ids, links, netdev

pytestmark = [pytest.mark.roce, pytest.mark.timeout(1500)]

F0, F1 = PORTS


@pytest.fixture(scope="module")
def elsewhere(scene: RoceLab) -> Iterator[Fabric]:
    """Rail 0 leads elsewhere; meanwhile somebody repeats an earlier exchange at one end of rail 1."""
    healthy = scene.linked()
    scene.panel.wire(CROSSED[1])
    with replaying(scene.panel, "beta-f0"):
        mapped = scene.cables(healthy)
    yield mapped


@contextmanager
def replaying(panel: Panel, target: str) -> Iterator[None]:
    """The frame of an earlier exchange, again and again, at one port."""
    frame, over = panel.beacons[0], threading.Event()

    def send() -> None:
        while not over.wait(0.005):  # an exchange may be over in a tenth of a second
            panel.inject(target, frame)

    thread = threading.Thread(target=send, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(5)


def test_a_cable_that_leads_elsewhere(elsewhere: Fabric) -> None:
    assert links(elsewhere) == [("cable", f"alpha/{F1}", f"beta/{F0}")]
    for name, port in (("alpha", F0), ("beta", F1)):
        assert netdev(elsewhere, name, port).carrier is True
        assert "nothing named here is at its other end" in found(elsewhere, "port-without-peer", name, port).cause


def test_beacons_of_another_run_are_ignored_and_told(elsewhere: Fabric) -> None:
    assert found(elsewhere, "stray-beacons", "beta", F0)
    assert [kind for kind, _a, _b in links(elsewhere)] == ["cable"]


def test_everything_on_one_switch_without_vlans(lab: RoceLab, healthy: Fabric) -> None:
    lab.panel.wire(switch("alpha-f0", "alpha-f1", "beta-f0", "beta-f1"))
    mapped = lab.cables(healthy)
    kinds = [kind for kind, _a, _b in links(mapped)]
    assert sorted(kinds) == ["loop", "loop", "segment", "segment", "segment", "segment"]
    assert "stray-beacons" not in ids(mapped)


def test_a_cable_between_two_ports_of_one_node(lab: RoceLab, healthy: Fabric) -> None:
    lab.panel.wire(cable("alpha-f0", "alpha-f1"))
    fabric = lab.cables(healthy)
    assert links(fabric) == [("loop", f"alpha/{F0}", f"alpha/{F1}")]
    for port in PORTS:
        found(fabric, "port-without-peer", "beta", port)
