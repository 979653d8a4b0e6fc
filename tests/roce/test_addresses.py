"""An address, an MTU, a network and a neighbour made wrong on two rails at once: one scan, then cables and RDMA.

Rail 1 lacks alpha's IPv4 address; rail 0 has two MTUs, a third machine's address, and another interface of alpha in
its subnet.
"""

from __future__ import annotations

import pytest

from fabricdoc.model.fabric import Fabric
from tests.labs.lab import BY_RDMA, RoceLab
from tests.labs.seed import ALPHA, HCAS, PORTS
from tests.roce.seeing import between, found, hcas, ipv4, node, wrong

pytestmark = [pytest.mark.roce, pytest.mark.timeout(1500)]

F0, F1 = PORTS
LINK_0, LINK_1 = f"alpha/{F0} - beta/{F1}", f"alpha/{F1} - beta/{F0}"
ON_ALPHA = f"""ip address del {ALPHA.addresses[1]}/24 dev {F1}
ip link add v7 type veth peer name w7
ip link set v7 up
ip link set w7 up
ip address add 192.168.11.200/24 dev v7
"""
STRANGER = "02fe00000009"


@pytest.fixture(scope="module")
def fabric(scene: RoceLab) -> Fabric:
    scene.beta.do(f"ip link set dev {F1} mtu 1500")
    scene.alpha.do(ON_ALPHA)
    scene.panel.inject("alpha-f0", question("192.168.11.77", ALPHA.addresses[0]))
    return scene.cables(evidence=BY_RDMA)


def question(sender: str, target: str) -> bytes:
    """An ARP request of a port that belongs to no guest."""
    mac = bytes.fromhex(STRANGER)
    ours, theirs = (bytes(int(part) for part in ip.split(".")) for ip in (sender, target))
    return b"\xff" * 6 + mac + b"\x08\x06" + bytes.fromhex("0001080006040001") + mac + ours + bytes(6) + theirs


def test_ends_of_one_rail_with_different_mtu(fabric: Fabric) -> None:
    finding = found(fabric, "mtu-mismatch", "beta", F1)
    assert (finding.severity, finding.subject) == ("warning", "192.168.11.0/24")
    assert finding.fix[:2] == ("on beta:", f"sudo ip link set dev {F1} mtu 9000")
    assert hcas(fabric, "beta")[HCAS[1]].ports[0].active_mtu == 1024
    found(fabric, "roce-mtu-small", "beta", F1)


def test_rdma_passes_between_different_mtus_in_packets_of_the_smaller_one(fabric: Fabric) -> None:
    one = between(fabric, LINK_0)
    assert one.rdma is True
    assert "path MTU 1024" in one.proof.detail


def test_a_rail_without_an_ipv4_address(fabric: Fabric) -> None:
    assert ipv4(fabric, "alpha", HCAS[1]) == set()
    assert found(fabric, "gid-missing-at-one-end", "alpha", F1).severity == "error"
    assert found(fabric, "gid-auto-selected-link-local", "alpha", F1).subject == f"alpha/{HCAS[1]}"


def test_rdma_connects_no_gids_of_different_kinds(fabric: Fabric) -> None:
    assert between(fabric, LINK_1).rdma is False
    finding = found(fabric, "rdma-connect-failed", "alpha", F1)
    assert finding.subject == LINK_1
    assert any("EINVAL (22)" in one.text for one in finding.evidence)
    assert "GIDs of different kinds" in finding.cause


def test_a_network_that_another_interface_has_too(fabric: Fabric) -> None:
    assert found(fabric, "fabric-network-overlaps", "alpha", F0).subject == f"alpha/{F0}"


def test_a_foreign_port_shows_in_the_neighbour_table(fabric: Fabric) -> None:
    neighbours = node(fabric, "alpha").neighbours
    assert isinstance(neighbours, tuple), neighbours
    mac = ":".join(STRANGER[at : at + 2] for at in range(0, 12, 2))
    assert [(one.netdev, one.mac) for one in neighbours if one.ip == "192.168.11.77"] == [(F0, mac)]


def test_nothing_else_is_found(fabric: Fabric) -> None:
    assert wrong(fabric) == {
        ("mtu-mismatch", "192.168.11.0/24"),
        ("gid-missing-at-one-end", f"alpha/{HCAS[1]}"),
        ("gid-auto-selected-link-local", f"alpha/{HCAS[1]}"),
        ("rdma-connect-failed", LINK_1),
        ("fabric-network-overlaps", f"alpha/{F0}"),
    }
