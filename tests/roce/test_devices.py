"""HCAs and ports that are down, gone, bonded, or out of a process's reach: what the scan finds of them."""

from __future__ import annotations

import pytest

from tests.labs.lab import RoceLab
from tests.labs.seed import HCAS, PORTS
from tests.roce.seeing import found, hcas, ids, links, netdev, node, proven

pytestmark = [pytest.mark.roce, pytest.mark.timeout(1500)]

F0, F1 = PORTS


def test_a_port_set_down(lab: RoceLab) -> None:
    lab.beta.do(f"ip link set dev {F0} down")
    fabric = lab.cables()
    port = hcas(fabric, "beta")[HCAS[0]].ports[0]
    assert (port.state, port.phys_state) == ("DOWN", "Disabled")
    assert netdev(fabric, "beta", F0).operstate == "down"
    found(fabric, "port-without-peer", "beta", F0)
    assert links(fabric) == [("cable", f"alpha/{F0}", f"beta/{F1}")]


def test_a_node_with_no_port_up(lab: RoceLab) -> None:
    lab.beta.do(f"ip link set dev {F0} down\nip link set dev {F1} down")
    assert found(lab.scan(), "no-active-port", "beta", HCAS[1]).severity == "warning"


def test_an_hca_that_is_gone(lab: RoceLab) -> None:
    lab.beta.do(f"rdma link delete {HCAS[1]}")
    fabric = lab.cables()
    assert set(hcas(fabric, "beta")) == {HCAS[0]}
    found(fabric, "hca-sets-differ-between-nodes", "beta")
    assert links(fabric) == [("cable", f"alpha/{F1}", f"beta/{F0}")]
    found(fabric, "port-without-peer", "alpha", F0)


def test_a_list_of_hcas_that_fits_one_node_only(lab: RoceLab) -> None:
    lab.beta.do(f"rdma dev set {HCAS[1]} name mlx5_1")
    for guest in lab.guests:
        guest.run_with(NCCL_IB_HCA=f"={HCAS[1]}")
    fabric = lab.scan()
    assert found(fabric, "ib-hca-names-differ-between-nodes", "beta", HCAS[1]).severity == "error"
    assert set(hcas(fabric, "beta")) == {HCAS[0], "mlx5_1"}
    assert hcas(fabric, "beta")["mlx5_1"].ports[0].netdev == F1


def test_a_port_in_a_bond_and_one_in_a_bridge(lab: RoceLab) -> None:
    lab.alpha.do(
        f"ip link add bond7 type bond mode active-backup\nip link set {F1} down\nip link set {F1} master bond7\n"
        f"ip link set bond7 up\nip link set {F1} up\nip address add 192.168.12.1/24 dev bond7\n"
    )
    lab.beta.do(f"ip link add br7 type bridge\nip link set {F1} master br7\nip link set br7 up")
    fabric = lab.scan()
    bond, bridge = netdev(fabric, "alpha", "bond7"), netdev(fabric, "beta", "br7")
    assert (netdev(fabric, "alpha", F1).master, bond.kind, bond.bond_mode) == ("bond7", "bond", "active-backup")
    assert (netdev(fabric, "beta", F1).master, bridge.kind) == ("br7", "bridge")
    assert "gid-auto-selected-link-local" not in ids(fabric)


def test_an_rdma_mtu_that_did_not_follow(lab: RoceLab) -> None:
    """Leaving a bond gives a port its MTU back without telling anybody: rxe stays at the bond's."""
    lab.alpha.do(
        f"ip link add bond7 type bond mode active-backup\nip link set {F1} down\nip link set {F1} master bond7\n"
        f"ip link set bond7 up\nip link del bond7\nip link set {F1} up\n"
        f"[ $(cat /sys/class/net/{F1}/mtu) = 9000 ]\n"
    )
    fabric = lab.scan()
    assert hcas(fabric, "alpha")[HCAS[1]].ports[0].active_mtu == 1024
    assert "expected active_mtu 4096" in found(fabric, "active-mtu-low", "alpha", HCAS[1]).evidence[0].text


def test_device_files_missing_in_a_mount_namespace_and_little_memory_to_lock_elsewhere(lab: RoceLab) -> None:
    lab.beta.run_python_through(
        'exec unshare --mount sh -c \'mount -t tmpfs tmpfs /dev/infiniband && exec python3 "$@"\' sh "$@"'
    )
    lab.alpha.run_python_through('ulimit -l 64\nexec setpriv --bounding-set=-ipc_lock python3 "$@"')
    fabric = lab.scan()
    assert node(fabric, "beta").host.infiniband_devices == ()
    # the guests' root is an overlay, so the probe rightly can't tell them from a container: likely, not certain
    finding = found(fabric, "container-rdma-device-missing", "beta", HCAS[0])
    assert (finding.severity, finding.confidence) == ("error", "likely")
    assert node(fabric, "alpha").host.memlock == 65536
    assert "65536 bytes" in found(fabric, "memlock-limit-too-low", "alpha").cause


def test_a_process_that_may_not_send_beacons(lab: RoceLab) -> None:
    """Nor is there a sudo in the guests: multicast finds the same cables."""
    lab.alpha.run_python_through('exec setpriv --bounding-set=-net_raw python3 "$@"')
    fabric = lab.cables()
    assert found(fabric, "beacons-by-multicast", "alpha", F0).severity == "info"
    assert links(fabric) == [("cable", f"alpha/{F0}", f"beta/{F1}"), ("cable", f"alpha/{F1}", f"beta/{F0}")]
    for link in proven(fabric):
        methods = {link.proof.method, *(one.method for one in link.more_proofs)}
        assert "multicast" in methods and "beacon" not in methods
