"""Addresses, MTU and routes changed in the guests: what the scan finds, on which node and port."""

from __future__ import annotations

import pytest

from fabricdoc.model.documents import Unknown
from tests.labs.lab import RoceLab
from tests.labs.seed import ALPHA, BETA, HCAS, PORTS
from tests.roce.seeing import found, hcas, ids, ipv4, proven, told

pytestmark = [pytest.mark.roce, pytest.mark.timeout(1500)]

F0, F1 = PORTS


def test_ends_of_one_rail_with_different_mtu(lab: RoceLab) -> None:
    lab.beta.do(f"ip link set dev {F1} mtu 1500")
    fabric = lab.scan()
    finding = found(fabric, "mtu-mismatch", "beta", F1)
    assert (finding.severity, finding.subject) == ("warning", "192.168.11.0/24")
    assert finding.fix[:2] == ("on beta:", f"sudo ip link set dev {F1} mtu 9000")
    assert hcas(fabric, "beta")[HCAS[1]].ports[0].active_mtu == 1024
    found(fabric, "roce-mtu-small", "beta", F1)


def test_a_rail_without_an_ipv4_address(lab: RoceLab) -> None:
    lab.alpha.do(f"ip address del {ALPHA.addresses[1]}/24 dev {F1}")
    fabric = lab.cables()
    assert ipv4(fabric, "alpha", HCAS[1]) == set()
    assert found(fabric, "gid-missing-at-one-end", "alpha", F1).severity == "error"
    assert found(fabric, "gid-auto-selected-link-local", "alpha", F1).subject == f"alpha/{HCAS[1]}"


def test_a_rail_without_an_ipv4_address_on_both_nodes(lab: RoceLab) -> None:
    """Both ends agree on their link-local GIDs, so RDMA works, and NCCL takes them."""
    lab.alpha.do(f"ip address del {ALPHA.addresses[1]}/24 dev {F1}")
    lab.beta.do(f"ip address del {BETA.addresses[0]}/24 dev {F0}")
    fabric = lab.cables()
    for name, hca in (("alpha", HCAS[1]), ("beta", HCAS[0])):
        assert found(fabric, "gid-auto-selected-link-local", name, hca).subject == f"{name}/{hca}"
    assert "gid-missing-at-one-end" not in ids(fabric)
    assert [one.kind for one in proven(fabric)] == ["cable", "cable"]


def test_addresses_swapped_between_the_rails_of_a_node(lab: RoceLab) -> None:
    lab.beta.do(
        f"ip address flush dev {F0} scope global\nip address flush dev {F1} scope global\n"
        f"ip address add {BETA.addresses[1]}/24 dev {F0}\nip address add {BETA.addresses[0]}/24 dev {F1}\n"
    )
    assert "1 received" in lab.alpha.ask(f"ping -c 1 -W 5 {BETA.addresses[1]}")
    fabric = lab.cables()
    pairs = [(one.a.ip, one.b.ip) for one in proven(fabric)]
    assert pairs == [(ALPHA.addresses[0], BETA.addresses[0]), (ALPHA.addresses[1], BETA.addresses[1])]


def test_one_address_on_both_nodes(lab: RoceLab) -> None:
    lab.beta.do(f"ip address flush dev {F1} scope global\nip address add {ALPHA.addresses[0]}/24 dev {F1}")
    finding = found(lab.scan(), "duplicate-address", "beta", F1)
    assert (finding.severity, finding.subject) == ("error", ALPHA.addresses[0])
    assert {(one.file, one.text.split()[0]) for one in finding.evidence} == {("alpha", F0), ("beta", F1)}


def test_a_pinned_gid_index_that_does_not_fit_every_port(lab: RoceLab) -> None:
    lab.alpha.do(f"ip address add 192.168.21.1/24 dev {F0}\nip address del {ALPHA.addresses[0]}/24 dev {F0}")
    for guest in lab.guests:
        guest.run_with(NCCL_IB_GID_INDEX="1")
    fabric = lab.scan()
    gids = hcas(fabric, "alpha")[HCAS[0]].ports[0].gids
    assert not isinstance(gids, Unknown)
    assert [one.index for one in gids if one.ipv4] == [2]
    assert found(fabric, "gid-index-differs-between-nodes", "alpha", HCAS[0]).severity == "error"
    # nobody else is in its new subnet
    found(fabric, "ib-hca-includes-port-cabled-elsewhere", "alpha", HCAS[0])


def test_a_network_that_another_interface_has_too(lab: RoceLab) -> None:
    lab.alpha.do(
        "ip link add v7 type veth peer name w7\nip link set v7 up\nip link set w7 up\n"
        "ip address add 192.168.11.200/24 dev v7\n"
    )
    assert found(lab.scan(), "fabric-network-overlaps", "alpha", F0).subject == f"alpha/{F0}"


def test_addresses_that_no_file_brings_back(lab: RoceLab) -> None:
    lab.beta.do("rm /etc/network/interfaces")
    fabric = lab.scan()
    assert told(fabric) == [("warning", "address-not-persistent", "beta")]
    assert len(found(fabric, "address-not-persistent", "beta", F0).evidence) == 2
