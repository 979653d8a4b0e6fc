"""What makes two machines look alike, and settings of a machine that decide where packets go: all at once, one scan.

Beside them, on rail 1, neither end has an IPv4 address: both agree on their link-local GIDs, which is no fault.
"""

from __future__ import annotations

import pytest

from fabricdoc.model.fabric import Fabric
from tests.labs.lab import RoceLab
from tests.labs.seed import ALPHA, BETA, HCAS, PORTS
from tests.roce.seeing import found, ids, ipv4, netdev, node, proven, wrong

pytestmark = [pytest.mark.roce, pytest.mark.timeout(1500)]

F0, F1 = PORTS
ON_ALPHA = f"""ip address del {ALPHA.addresses[1]}/24 dev {F1}
cd /proc/sys/net/ipv4/conf
echo 1 > all/arp_ignore
echo 2 > all/arp_announce
echo 2 > {F0}/rp_filter
echo 1 > all/forwarding
date -s @$(($(date +%s) - 90))
"""
ON_BETA = f"""ip address del {BETA.addresses[0]}/24 dev {F0}
ip address flush dev {F1} scope global
ip address add {ALPHA.addresses[0]}/24 dev {F1}
echo 1 > /proc/sys/net/ipv4/conf/{F1}/rp_filter
echo alpha > /proc/sys/kernel/hostname
echo {1:032x} > /etc/machine-id
date -s @$(($(date +%s) + 90))
"""


@pytest.fixture(scope="module")
def fabric(scene: RoceLab) -> Fabric:
    for guest in scene.guests:
        guest.run_with(NCCL_HOSTID="one")
    scene.alpha.do(ON_ALPHA)
    scene.beta.do(ON_BETA)
    return scene.cables()


def test_a_machine_cloned_with_its_name_and_machine_id(fabric: Fabric) -> None:
    assert found(fabric, "hostname-shared", "beta").subject == "alpha, beta"
    assert found(fabric, "machine-id-shared", "beta").subject == "alpha, beta"


def test_one_host_id_for_two_machines(fabric: Fabric) -> None:
    assert node(fabric, "alpha").host.environment == {"NCCL_HOSTID": "one"}
    found(fabric, "host-identity-collision", "beta")


def test_one_address_on_both_nodes(fabric: Fabric) -> None:
    finding = found(fabric, "duplicate-address", "beta", F1)
    assert (finding.severity, finding.subject) == ("error", ALPHA.addresses[0])
    assert {(one.file, one.text.split()[0]) for one in finding.evidence} == {("alpha", F0), ("beta", F1)}


def test_settings_that_decide_where_packets_go(fabric: Fabric) -> None:
    port = netdev(fabric, "alpha", F0)
    assert (port.rp_filter, port.arp_ignore, port.arp_announce) == (2, 1, 2)
    assert (netdev(fabric, "alpha", F1).rp_filter, netdev(fabric, "beta", F1).rp_filter) == (0, 1)
    assert (node(fabric, "alpha").host.ip_forward, node(fabric, "beta").host.ip_forward) == (True, False)


def test_clocks_that_differ(fabric: Fabric) -> None:
    """Both are put off: a scan that takes seconds, as here, tells a clock only where it is off for sure."""
    offsets = [float(str(node(fabric, name).clock_offset_s)) for name in ("alpha", "beta")]
    assert -120 < offsets[0] < -60 and 60 < offsets[1] < 120
    assert found(fabric, "clock-skew", "beta").severity == "warning"


def test_a_rail_without_an_ipv4_address_on_both_nodes(fabric: Fabric) -> None:
    """Both ends agree on their link-local GIDs, so RDMA works, and NCCL takes them."""
    for name, hca in (("alpha", HCAS[1]), ("beta", HCAS[0])):
        assert ipv4(fabric, name, hca) == set()
        assert found(fabric, "gid-auto-selected-link-local", name, hca).subject == f"{name}/{hca}"
    assert "gid-missing-at-one-end" not in ids(fabric)
    assert [one.kind for one in proven(fabric)] == ["cable", "cable"]


def test_nothing_else_is_found(fabric: Fabric) -> None:
    assert wrong(fabric) == {
        ("duplicate-address", ALPHA.addresses[0]),
        ("address-not-persistent", "beta"),
        ("clock-skew", "alpha, beta"),
        ("gid-auto-selected-link-local", f"alpha/{HCAS[1]}"),
        ("gid-auto-selected-link-local", f"beta/{HCAS[0]}"),
    }
