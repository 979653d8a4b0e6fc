"""Faults of addresses, routes and variables that don't touch one another: made at once, one scan, a test for each."""

from __future__ import annotations

import pytest

from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric
from tests.labs.lab import RoceLab
from tests.labs.seed import ALPHA, BETA, HCAS, PORTS
from tests.roce.seeing import found, hcas, ipv4, netdev, node, wrong

pytestmark = [pytest.mark.roce, pytest.mark.timeout(1500)]

F0, F1 = PORTS
PINS = {"alpha": "77", "beta": "2000"}
ON_ALPHA = f"""ip link add link {F0} name {F0}.7 type vlan id 7
ip link set {F0}.7 up
ip address add 192.168.17.1/24 dev {F0}.7
ip address add 192.168.21.1/24 dev {F0}
ip address flush dev {F1} scope global
ip address add 169.254.7.1/16 dev {F1}
ip route add default via 10.0.2.2 dev mgmt0
ip route add default via {BETA.addresses[0]} dev {F1} metric 50 onlink
ip route add 192.168.99.0/24 via {BETA.addresses[1]} dev {F0} onlink
ping -c 1 -W 1 192.168.11.9 || sleep 3
ip route del 192.168.11.0/24
ip rule add from {ALPHA.addresses[0]} table 77 priority 100
"""


@pytest.fixture(scope="module")
def fabric(scene: RoceLab) -> Fabric:
    for guest in scene.guests:
        guest.run_with(NCCL_IB_GID_INDEX=PINS[guest.name])
    scene.beta.do(f"ip address flush dev {F0} scope global\nip address add 192.168.11.3/24 dev {F0}")
    scene.alpha.do(ON_ALPHA, undo="ip rule del priority 100")
    return scene.scan()


def test_a_vlan_and_a_second_address_bring_gids_of_their_own(fabric: Fabric) -> None:
    port = hcas(fabric, "alpha")[HCAS[0]].ports[0]
    assert not isinstance(port.gids, Unknown)
    assert {one.ipv4: one.netdev for one in port.gids if one.ipv4} == {
        ALPHA.addresses[0]: F0,
        "192.168.17.1": f"{F0}.7",
        "192.168.21.1": F0,
    }
    vlan = netdev(fabric, "alpha", f"{F0}.7")
    assert (vlan.kind, vlan.vlan_id, vlan.lower, port.netdev) == ("vlan", 7, F0, F0)


def test_both_rails_of_a_node_in_one_subnet(fabric: Fabric) -> None:
    finding = found(fabric, "nics-share-subnet", "beta", F0)
    assert finding.subject == "beta: 192.168.11.0/24"
    assert {one.text.partition(", ")[0] for one in finding.evidence} == {
        f"{F0} 192.168.11.3/24",
        f"{F1} 192.168.11.2/24",
    }
    assert all(", arp_ignore 0" in one.text for one in finding.evidence)
    # three networks on one rail of alpha are none shared
    assert [one.subject for one in fabric.findings if one.id == finding.id] == [finding.subject]


def test_a_rail_with_a_link_local_address_only(fabric: Fabric) -> None:
    assert ipv4(fabric, "alpha", HCAS[1]) == {"169.254.7.1"}
    assert [one.ip for one in netdev(fabric, "alpha", F1).addresses if one.family == "ipv4"] == ["169.254.7.1"]


def test_a_rail_without_its_route_and_a_rule_that_sends_it_elsewhere(fabric: Fabric) -> None:
    alpha = node(fabric, "alpha")
    assert not isinstance(alpha.routes, Unknown) and not isinstance(alpha.rules, Unknown)
    rails = {one.destination for one in alpha.routes if one.netdev == F0 and one.family == "ipv4"}
    assert rails == {"192.168.21.0/24", "192.168.99.0/24"}
    ours = [(one.table, one.selector) for one in alpha.rules if one.priority == 100]
    assert ours == [(77, f"from {ALPHA.addresses[0]}/32")]


def test_a_default_route_over_a_rail(fabric: Fabric) -> None:
    found(fabric, "default-route-on-fabric", "alpha", F1)


def test_a_network_behind_a_node_that_does_not_forward(fabric: Fabric) -> None:
    found(fabric, "ring-forwarding-off", "beta", F1)


def test_an_address_that_nobody_answers_for(fabric: Fabric) -> None:
    assert "192.168.11.9" in found(fabric, "neighbour-silent", "alpha", F0).evidence[0].text


@pytest.mark.parametrize("name", PINS)
@pytest.mark.parametrize("hca", HCAS)
def test_a_pinned_gid_index_that_leads_to_an_empty_slot_or_behind_the_table(
    fabric: Fabric, name: str, hca: str
) -> None:
    finding = found(fabric, "gid-index-drifted", name, hca)
    assert (finding.severity, finding.subject) == ("error", f"{name}/{hca}")
    assert f"slot {PINS[name]} is empty" in finding.cause


def test_nothing_else_is_found(fabric: Fabric) -> None:
    assert wrong(fabric) == {
        ("nics-share-subnet", "beta: 192.168.11.0/24"),
        ("default-route-on-fabric", f"alpha/{F1}"),
        ("ring-forwarding-off", "beta"),
        *(("gid-index-drifted", f"{name}/{hca}") for name in PINS for hca in HCAS),
        *(("address-not-persistent", name) for name in PINS),
    }
