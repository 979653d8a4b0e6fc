"""Either rail down at one end, by a cable pulled at alpha and a port set down at beta: one scan, beacons, RDMA."""

from __future__ import annotations

import pytest

from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric
from tests.labs.lab import RoceLab
from tests.labs.seed import HCAS, PORTS
from tests.roce.seeing import found, hcas, links, netdev, wrong

pytestmark = [pytest.mark.roce, pytest.mark.timeout(1500)]

F0, F1 = PORTS
LINK_0, LINK_1 = f"alpha/{F0} - beta/{F1}", f"alpha/{F1} - beta/{F0}"


@pytest.fixture(scope="module")
def down(scene: RoceLab) -> RoceLab:
    scene.healthy()
    scene.pull("alpha", F0)
    scene.beta.do(f"ip link set dev {F0} down")
    return scene


@pytest.fixture(scope="module")
def fabric(down: RoceLab) -> Fabric:
    return down.cables()


@pytest.fixture(scope="module")
def tried(down: RoceLab, healthy: Fabric) -> Fabric:
    """RDMA tried where the last scan saw all ports up."""
    return down.by_subnet(healthy)


def test_a_pulled_cable_is_down_at_that_end_only(fabric: Fabric) -> None:
    assert netdev(fabric, "alpha", F0).carrier is False
    port = hcas(fabric, "alpha")[HCAS[0]].ports[0]
    assert (port.state, port.phys_state) == ("DOWN", "Polling")
    assert netdev(fabric, "beta", F1).carrier is True
    assert "is down" in found(fabric, "port-without-peer", "alpha", F0).cause
    assert "is up" in found(fabric, "port-without-peer", "beta", F1).cause


def test_a_port_set_down(fabric: Fabric) -> None:
    port = hcas(fabric, "beta")[HCAS[0]].ports[0]
    assert (port.state, port.phys_state) == ("DOWN", "Disabled")
    assert netdev(fabric, "beta", F0).operstate == "down"
    assert "is down" in found(fabric, "port-without-peer", "beta", F0).cause


def test_nothing_is_joined_and_nothing_else_is_found(fabric: Fabric) -> None:
    assert links(fabric) == []
    assert wrong(fabric) == {("port-without-peer", f"{name}/{port}") for name in ("alpha", "beta") for port in PORTS}


def test_rdma_to_a_pulled_cable(tried: Fabric) -> None:
    finding = next(one for one in tried.findings if one.subject == LINK_0)
    assert finding.id in ("rdma-connect-failed", "rdma-path-broken") and finding.severity == "error"
    assert any(one.file == "alpha" and F0 in one.text for one in finding.evidence)


def test_rdma_to_a_port_set_down(tried: Fabric) -> None:
    finding = next(one for one in tried.findings if one.subject == LINK_1)
    assert (finding.id, finding.severity) == ("rdma-connect-failed", "error")
    assert any("ibv_modify_qp to RTR failed, ENETUNREACH (101)" in one.text for one in finding.evidence)


def test_rdma_makes_no_link_of_them(tried: Fabric) -> None:
    assert isinstance(tried.links, Unknown)
