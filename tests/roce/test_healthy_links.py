"""The healthy pair asked by every kind of evidence at once: beacons, RDMA over the GIDs NCCL takes, datagrams, TCP."""

from __future__ import annotations

import re
from typing import NamedTuple

import pytest

from fabricdoc.fabric import rails_of
from fabricdoc.fabric.cables import EVERY_KIND
from fabricdoc.model.fabric import Fabric
from tests.labs.lab import RoceLab
from tests.labs.seed import ALPHA, BETA, HCAS, PORTS
from tests.roce.seeing import found, ids, links, proven, told

pytestmark = [pytest.mark.roce, pytest.mark.timeout(1500)]

F0, F1 = PORTS
MOST_CPU_S = 25.0  # of a guest under software emulation, half of it loading python and pyverbs


class Asked(NamedTuple):
    """What came of it, what verbs objects each guest had before and after, and the processor seconds each took."""

    fabric: Fabric
    before: list[str]
    after: list[str]
    spent_s: list[float]


@pytest.fixture(scope="module")
def asked(scene: RoceLab, healthy: Fabric) -> Asked:
    before, begun = objects(scene), [vm.cpu_s() for vm in scene.vms.values()]
    fabric = scene.cables(healthy, EVERY_KIND)
    spent = [vm.cpu_s() - start for vm, start in zip(scene.vms.values(), begun, strict=True)]
    return Asked(fabric, before, objects(scene), spent)


def objects(lab: RoceLab) -> list[str]:
    """How many queue pairs, completion queues and so on each guest has."""
    return [one.ask("rdma resource show") for one in lab.guests]


@pytest.fixture(scope="module")
def fabric(asked: Asked) -> Fabric:
    return asked.fabric


def test_beacons_prove_the_crossed_cabling(scene: RoceLab) -> None:
    mapped = scene.linked()
    ends = [(link.kind, link.a.netdev, link.b.netdev, link.a.ip, link.b.ip) for link in proven(mapped)]
    assert ends == [
        ("cable", PORTS[0], PORTS[1], ALPHA.addresses[0], BETA.addresses[1]),
        ("cable", PORTS[1], PORTS[0], ALPHA.addresses[1], BETA.addresses[0]),
    ]
    assert [(link.a.hca, link.b.hca) for link in proven(mapped)] == [HCAS, HCAS[::-1]]
    for link in proven(mapped):
        assert link.proof.method == "beacon"
        assert min(link.proof.frames_a_to_b, link.proof.frames_b_to_a) >= 3
    assert told(mapped) == []
    assert found(mapped, "rails-crossed", "alpha", HCAS[0]).severity == "info"


def test_rdma_proves_it_both_ways_over_the_gids_that_nccl_takes(fabric: Fabric) -> None:
    assert links(fabric) == [("cable", f"alpha/{F0}", f"beta/{F1}"), ("cable", f"alpha/{F1}", f"beta/{F0}")]
    for one in proven(fabric):
        assert (one.rdma, one.proof.method, one.more_proofs[0].method) == (True, "rdma-ping", "beacon")
        assert one.proof.frames_a_to_b == one.proof.frames_b_to_a == 12
        assert re.search(
            r"8 to 8192 bytes both ways, path MTU 4096, round trip \d+ us, "
            r"of 8192 bytes \d+ us, of 20480 bytes \d+ us, GID 1 ::ffff:",
            one.proof.detail,
        )
    assert len(rails_of(fabric)) == 2


def test_nothing_of_rdma_stays(asked: Asked) -> None:
    assert asked.after == asked.before


def test_all_of_it_costs_little_processor_time(asked: Asked) -> None:
    assert 0 < max(asked.spent_s) < MOST_CPU_S


def test_it_pings_and_dials_both_ways(fabric: Fabric) -> None:
    for one in proven(fabric):
        proof = next(proof for proof in one.more_proofs if proof.method == "ping")
        assert (proof.frames_a_to_b, proof.frames_b_to_a) == (2, 2)
        assert "8972 bytes arrived" in proof.detail
    assert not ids(fabric) & {"mtu-black-hole", "bootstrap-port-blocked", "rendezvous-port-taken", "reach-not-tried"}


def test_nothing_is_found(fabric: Fabric) -> None:
    assert told(fabric) == []
