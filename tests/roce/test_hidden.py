"""What a node keeps from its own processes: sysfs, device files, shared memory; and a bridge that redirects.

All of it is done at once, one scan looks, and each test tells one fault's finding or facts.
"""

from __future__ import annotations

import pytest

from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Hca, Port
from tests.labs.lab import RoceLab
from tests.labs.seed import HCAS, PORTS
from tests.roce.seeing import found, hcas, netdev, node, wrong

pytestmark = [pytest.mark.roce, pytest.mark.timeout(1500)]

F0, F1 = PORTS
REDIRECT = "setpci -s $(basename $(dirname $(readlink -f /sys/class/net/{port}/device/..))) ECAP_ACS+6.w={value}"


@pytest.fixture(scope="module")
def fabric(scene: RoceLab) -> Fabric:
    hide = "mount -t tmpfs tmpfs {0}"
    scene.alpha.do(hide.format("/sys/class/infiniband"), undo="umount /sys/class/infiniband")
    scene.beta.do(hide.format("/dev/infiniband") + "\ntouch /dev/infiniband/rdma_cm", undo="umount /dev/infiniband")
    scene.beta.do("mount -o remount,size=64m /dev/shm", undo="mount -o remount,size=50% /dev/shm")
    redirect = {value: REDIRECT.format(port=F0, value=value) for value in ("c", "0")}
    scene.beta.do(redirect["c"], undo=redirect["0"])
    return scene.scan()


def test_hcas_that_sysfs_hides_are_told_by_rdma_netlink(fabric: Fabric) -> None:
    found_ones = hcas(fabric, "alpha")
    assert list(found_ones) == list(HCAS)
    for number, (hca, port) in enumerate(zip(found_ones.values(), PORTS, strict=True), start=1):
        (only,) = hca.ports
        assert (only.number, only.state, only.phys_state, only.link_layer) == (1, "ACTIVE", "LinkUp", "Ethernet")
        assert (only.netdev, hca.node_guid) == (port, f"5054:00ff:fe00:01{number:02}")
        # libibverbs goes by /sys/class/infiniband_verbs
        assert (only.active_mtu, only.max_mtu) == (4096, 4096)


def test_what_rdma_netlink_does_not_tell_says_why(fabric: Fabric) -> None:
    hca = hcas(fabric, "alpha")[HCAS[0]]
    assert unknown(hca) == {
        "driver": "sysfs does not show this device, and RDMA netlink does not say",
        "board_id": "sysfs does not show this device, and RDMA netlink does not say",
        "pci": "sysfs does not show this device, and RDMA netlink does not say",
        "hca_type": "sysfs does not show this device, and RDMA netlink does not say",
        "firmware": "the kernel's RDMA netlink does not say",
    }
    assert set(unknown(hca.ports[0])) == {"rate_gbps", "gids", "gid_slots"}
    alpha = node(fabric, "alpha")
    for hidden in (alpha.counters, alpha.pcie):
        assert isinstance(hidden, Unknown)
        assert hidden.unknown.startswith("sysfs hides the HCAs")


def unknown(one: Hca | Port) -> dict[str, str]:
    """The facts of it that are unknown, and why."""
    values = {name: getattr(one, name) for name in type(one).model_fields}
    return {name: value.unknown for name, value in values.items() if isinstance(value, Unknown)}


def test_no_uverbs_device_file(fabric: Fabric) -> None:
    """Process 1 has the guest's overlay as its root too, so the probe knows that it is in no container."""
    beta = node(fabric, "beta")
    assert (beta.container.kind, beta.host.infiniband_devices) == ("none", ("rdma_cm",))
    finding = found(fabric, "uverbs-missing", "beta", HCAS[0])
    assert (finding.severity, finding.subject, finding.confidence) == ("error", "beta", "certain")
    assert finding.evidence[1].text == "/dev/infiniband: rdma_cm"


def test_a_small_dev_shm(fabric: Fabric) -> None:
    finding = found(fabric, "dev-shm-too-small", "beta")
    assert (finding.severity, finding.subject) == ("warning", "beta")
    assert finding.evidence[0].text == "/dev/shm 64 MiB, wanted 128 MiB"
    assert finding.fix[1] == "sudo mount -o remount,size=8G /dev/shm"
    assert node(fabric, "beta").host.shm_bytes == 64 << 20


def test_a_bridge_that_redirects_what_its_port_sends(fabric: Fabric) -> None:
    """By config space; ACS costs GPUDirect alone, so without a GPU it is a fact and no finding."""
    pcie = node(fabric, "beta").pcie
    assert not isinstance(pcie, Unknown)
    functions = {one.address: one for one in pcie}
    redirects = {
        port: [functions[bridge].acs for bridge in functions[str(netdev(fabric, "beta", port).pci)].upstream]
        for port in PORTS
    }
    assert redirects == {F0: [True], F1: [False]}


def test_nothing_else_is_found(fabric: Fabric) -> None:
    assert wrong(fabric) == {
        ("uverbs-missing", "beta"),
        ("dev-shm-too-small", "beta"),
    }
