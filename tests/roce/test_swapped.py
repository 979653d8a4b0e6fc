"""Addresses swapped between the rails of a node, while a ping succeeds: what a scan, beacons and RDMA say of it."""

from __future__ import annotations

import pytest

from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric
from tests.labs.lab import RoceLab
from tests.labs.seed import ALPHA, BETA, PORTS
from tests.roce.seeing import found, proven, wrong

pytestmark = [pytest.mark.roce, pytest.mark.timeout(1500)]

F0, F1 = PORTS
SWAP = f"""ip address flush dev {F0} scope global
ip address flush dev {F1} scope global
ip address add {BETA.addresses[1]}/24 dev {F0}
ip address add {BETA.addresses[0]}/24 dev {F1}
"""


@pytest.fixture(scope="module")
def swapped(scene: RoceLab) -> RoceLab:
    scene.beta.do(SWAP)
    assert "1 received" in scene.alpha.ask(f"ping -c 1 -W 5 {BETA.addresses[1]}")
    return scene


@pytest.fixture(scope="module")
def scanned(swapped: RoceLab) -> Fabric:
    return swapped.scan()


@pytest.fixture(scope="module")
def tried(swapped: RoceLab, scanned: Fabric) -> Fabric:
    return swapped.by_subnet(scanned)


@pytest.fixture(scope="module")
def fabric(swapped: RoceLab, scanned: Fabric, tried: Fabric) -> Fabric:
    """By beacons, after RDMA was tried: that needs what the ping taught the ports."""
    return swapped.cables(scanned)


def test_addresses_swapped_between_the_rails_of_a_node(fabric: Fabric) -> None:
    pairs = [(one.a.ip, one.b.ip) for one in proven(fabric)]
    assert pairs == [(ALPHA.addresses[0], BETA.addresses[0]), (ALPHA.addresses[1], BETA.addresses[1])]
    assert found(fabric, "addresses-swapped-between-rails", "beta", F0).severity == "error"


def test_addresses_swapped_on_a_node_while_a_ping_succeeds(tried: Fabric) -> None:
    assert isinstance(tried.links, Unknown)
    assert found(tried, "rdma-path-broken", "alpha", F0).subject == f"alpha/{F0} - beta/{F0}"
    assert found(tried, "rdma-path-broken", "beta", F1).subject == f"alpha/{F1} - beta/{F1}"


def test_nothing_else_is_found(fabric: Fabric) -> None:
    assert wrong(fabric) == {
        ("addresses-swapped-between-rails", f"beta: {F0}, {F1}"),
        ("address-not-persistent", "beta"),
    }
