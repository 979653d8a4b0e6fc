"""Addresses, MTU and routes changed in the guests: what the scan finds, on which node and port."""

from __future__ import annotations

import pytest

from fabricdoc.model.documents import Unknown
from tests.labs.lab import RoceLab
from tests.labs.seed import ALPHA, BETA, HCAS, PORTS
from tests.roce.seeing import found, hcas, ids, ipv4, netdev, node, proven, told

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


def test_a_rail_with_a_link_local_address_only(lab: RoceLab) -> None:
    lab.alpha.do(f"ip address flush dev {F1} scope global\nip address add 169.254.7.1/16 dev {F1}")
    fabric = lab.scan()
    assert ipv4(fabric, "alpha", HCAS[1]) == {"169.254.7.1"}
    assert [one.ip for one in netdev(fabric, "alpha", F1).addresses if one.family == "ipv4"] == ["169.254.7.1"]


def test_both_rails_of_a_node_in_one_subnet(lab: RoceLab) -> None:
    lab.beta.do(f"ip address flush dev {F0} scope global\nip address add 192.168.11.3/24 dev {F0}")
    fabric = lab.scan()
    finding = found(fabric, "nics-share-subnet", "beta", F0)
    assert finding.subject == "beta: 192.168.11.0/24"
    assert {one.text.partition(", ")[0] for one in finding.evidence} == {
        f"{F0} 192.168.11.3/24",
        f"{F1} 192.168.11.2/24",
    }
    assert all(", arp_ignore 0" in one.text for one in finding.evidence)


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


def test_a_vlan_and_a_second_address_bring_gids_of_their_own(lab: RoceLab) -> None:
    lab.alpha.do(
        f"ip link add link {F0} name {F0}.7 type vlan id 7\nip link set {F0}.7 up\n"
        f"ip address add 192.168.17.1/24 dev {F0}.7\nip address add 192.168.21.1/24 dev {F0}\n"
    )
    fabric = lab.scan()
    port = hcas(fabric, "alpha")[HCAS[0]].ports[0]
    assert not isinstance(port.gids, Unknown)
    assert {one.ipv4: one.netdev for one in port.gids if one.ipv4} == {
        ALPHA.addresses[0]: F0,
        "192.168.17.1": f"{F0}.7",
        "192.168.21.1": F0,
    }
    vlan = netdev(fabric, "alpha", f"{F0}.7")
    assert (vlan.kind, vlan.vlan_id, vlan.lower, port.netdev) == ("vlan", 7, F0, F0)
    assert "nics-share-subnet" not in ids(fabric)


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


def test_a_rail_without_its_route_and_a_rule_that_sends_it_elsewhere(lab: RoceLab) -> None:
    lab.alpha.do(
        f"ip route del 192.168.11.0/24\nip rule add from {ALPHA.addresses[0]} table 77 priority 100\n",
        undo="ip rule del priority 100",
    )
    alpha = node(lab.scan(), "alpha")
    assert not isinstance(alpha.routes, Unknown) and not isinstance(alpha.rules, Unknown)
    rails = {one.destination for one in alpha.routes if one.netdev in PORTS and one.family == "ipv4"}
    assert rails == {"192.168.12.0/24"}
    ours = [(one.table, one.selector) for one in alpha.rules if one.priority == 100]
    assert ours == [(77, f"from {ALPHA.addresses[0]}/32")]


def test_a_network_that_another_interface_has_too(lab: RoceLab) -> None:
    lab.alpha.do(
        "ip link add v7 type veth peer name w7\nip link set v7 up\nip link set w7 up\n"
        "ip address add 192.168.11.200/24 dev v7\n"
    )
    assert found(lab.scan(), "fabric-network-overlaps", "alpha", F0).subject == f"alpha/{F0}"


def test_routes_that_lead_over_the_rails(lab: RoceLab) -> None:
    """A default route over a rail of alpha; a network behind beta, which does not forward; an address nobody has."""
    lab.alpha.do(
        "ip route add default via 10.0.2.2 dev mgmt0\n"
        f"ip route add default via {BETA.addresses[0]} dev {F1} metric 50\n"
        f"ip route add 192.168.99.0/24 via {BETA.addresses[1]} dev {F0}\n"
        "ping -c 1 -W 1 192.168.11.9 || sleep 3\n"
    )
    fabric = lab.scan()
    found(fabric, "default-route-on-fabric", "alpha", F1)
    found(fabric, "ring-forwarding-off", "beta", F1)
    assert "192.168.11.9" in found(fabric, "neighbour-silent", "alpha", F0).evidence[0].text


def test_addresses_that_no_file_brings_back(lab: RoceLab) -> None:
    lab.beta.do("rm /etc/network/interfaces")
    fabric = lab.scan()
    assert told(fabric) == [("warning", "address-not-persistent", "beta")]
    assert len(found(fabric, "address-not-persistent", "beta", F0).evidence) == 2
