"""HCAs that are gone or keep an MTU of old, and what processes of a node may not do: all at once, one scan and cables.

Rail 0 ends in a port without an HCA; rail 1 is proven all the same, by multicast, since alpha allows no raw frames.
"""

from __future__ import annotations

import pytest

from fabricdoc.model.fabric import Fabric
from tests.labs.lab import RoceLab
from tests.labs.seed import HCAS, PORTS
from tests.roce.seeing import found, hcas, links, node, proven, wrong

pytestmark = [pytest.mark.roce, pytest.mark.timeout(1500)]

F0, F1 = PORTS
BOND_AND_BACK = f"""ip link add bond7 type bond mode active-backup
ip link set {F1} down
ip link set {F1} master bond7
ip link set bond7 up
ip link del bond7
ip link set {F1} up
[ $(cat /sys/class/net/{F1}/mtu) = 9000 ]
"""
NO_RIGHTS = 'ulimit -l 64\nexec setpriv --bounding-set=-ipc_lock,-net_raw python3 "$@"'
NO_FILES = 'exec unshare --mount sh -c \'mount -t tmpfs tmpfs /dev/infiniband && exec python3 "$@"\' sh "$@"'


@pytest.fixture(scope="module")
def fabric(scene: RoceLab) -> Fabric:
    scene.alpha.do(BOND_AND_BACK)
    scene.alpha.run_python_through(NO_RIGHTS)
    scene.beta.do(f"rdma link delete {HCAS[1]}")
    scene.beta.run_python_through(NO_FILES)
    return scene.cables()


def test_an_hca_that_is_gone(fabric: Fabric) -> None:
    assert set(hcas(fabric, "beta")) == {HCAS[0]}
    found(fabric, "hca-sets-differ-between-nodes", "beta")
    assert links(fabric) == [("cable", f"alpha/{F1}", f"beta/{F0}")]
    found(fabric, "port-without-peer", "alpha", F0)


def test_an_rdma_mtu_that_did_not_follow(fabric: Fabric) -> None:
    """Leaving a bond gives a port its MTU back without telling anybody: rxe stays at the bond's."""
    assert hcas(fabric, "alpha")[HCAS[1]].ports[0].active_mtu == 1024
    assert "expected active_mtu 4096" in found(fabric, "active-mtu-low", "alpha", HCAS[1]).evidence[0].text


def test_device_files_missing_in_a_mount_namespace(fabric: Fabric) -> None:
    assert node(fabric, "beta").host.infiniband_devices == ()
    # the guests' root is an overlay, so the probe rightly can't tell them from a container: likely, not certain
    finding = found(fabric, "container-rdma-device-missing", "beta", HCAS[0])
    assert (finding.severity, finding.confidence) == ("error", "likely")


def test_little_memory_to_lock(fabric: Fabric) -> None:
    assert node(fabric, "alpha").host.memlock == 65536
    assert "65536 bytes" in found(fabric, "memlock-limit-too-low", "alpha").cause


def test_a_process_that_may_not_send_beacons(fabric: Fabric) -> None:
    """Nor is there a sudo in the guests: multicast finds the same cable."""
    assert found(fabric, "beacons-by-multicast", "alpha", F0).severity == "info"
    (link,) = proven(fabric)
    methods = {link.proof.method, *(one.method for one in link.more_proofs)}
    assert "multicast" in methods and "beacon" not in methods


def test_nothing_else_is_found(fabric: Fabric) -> None:
    assert wrong(fabric) == {
        ("active-mtu-low", f"alpha/{HCAS[1]}"),
        ("container-rdma-device-missing", "beta"),
        ("hca-sets-differ-between-nodes", "alpha, beta"),
        ("memlock-limit-too-low", "alpha"),
        ("port-without-peer", f"alpha/{F0}"),
    }
