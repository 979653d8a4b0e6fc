"""Names that do not fit: an HCA called otherwise under a list of HCAs, a port in a bond, one in a bridge. One scan."""

from __future__ import annotations

import pytest

from fabricdoc.model.fabric import Fabric
from tests.labs.lab import RoceLab
from tests.labs.seed import ALPHA, HCAS, PORTS
from tests.roce.seeing import found, hcas, ids, netdev, wrong

pytestmark = [pytest.mark.roce, pytest.mark.timeout(1500)]

F0, F1 = PORTS
BOND = f"""ip link add bond7 type bond mode active-backup
ip address flush dev {F1} scope global
ip link set {F1} down
ip link set {F1} master bond7
ip link set bond7 mtu 9000
ip link set bond7 up
ip link set {F1} up
ip address add {ALPHA.addresses[1]}/24 dev bond7
"""
BRIDGE = f"""ip link add br7 type bridge
ip link set {F1} master br7
ip link set br7 up
rdma dev set {HCAS[0]} name mlx5_0
"""


@pytest.fixture(scope="module")
def fabric(scene: RoceLab) -> Fabric:
    scene.alpha.do(BOND)
    scene.beta.do(BRIDGE)
    for guest in scene.guests:
        guest.run_with(NCCL_IB_HCA=f"={HCAS[0]}")
    return scene.scan()


def test_a_list_of_hcas_that_fits_one_node_only(fabric: Fabric) -> None:
    assert found(fabric, "ib-hca-names-differ-between-nodes", "beta", HCAS[0]).severity == "error"
    assert set(hcas(fabric, "beta")) == {HCAS[1], "mlx5_0"}
    assert hcas(fabric, "beta")["mlx5_0"].ports[0].netdev == F0


def test_a_port_in_a_bond(fabric: Fabric) -> None:
    bond = netdev(fabric, "alpha", "bond7")
    assert (netdev(fabric, "alpha", F1).master, bond.kind, bond.bond_mode) == ("bond7", "bond", "active-backup")
    assert "gid-auto-selected-link-local" not in ids(fabric)


def test_a_port_in_a_bridge(fabric: Fabric) -> None:
    assert (netdev(fabric, "beta", F1).master, netdev(fabric, "beta", "br7").kind) == ("br7", "bridge")


def test_nothing_else_is_found(fabric: Fabric) -> None:
    assert wrong(fabric) == {
        ("ib-hca-names-differ-between-nodes", "beta"),
        ("ib-hca-matches-nothing", "beta"),
        ("hca-sets-differ-between-nodes", "alpha, beta"),
        ("address-not-persistent", "alpha"),
    }
