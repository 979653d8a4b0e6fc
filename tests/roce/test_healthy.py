"""The healthy pair, read by the real scan over the real ssh transport: devices, GIDs by value; no finding."""

from __future__ import annotations

import pytest

from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Netdev, Node, Port
from tests.labs.lab import RoceLab
from tests.labs.seed import HCAS, MACHINES, PORTS
from tests.roce.seeing import told

pytestmark = [pytest.mark.roce, pytest.mark.timeout(1500)]


def ports(node: Node) -> dict[str, Port]:
    assert not isinstance(node.hcas, Unknown)
    return {hca.name: hca.ports[0] for hca in node.hcas}


def netdevs(node: Node) -> dict[str, Netdev]:
    assert not isinstance(node.netdevs, Unknown)
    return {netdev.name: netdev for netdev in node.netdevs}


def test_both_nodes_answer_with_debians_own_python(healthy: Fabric) -> None:
    assert healthy.failed == ()
    assert [node.name for node in healthy.nodes] == ["alpha", "beta"]
    for node in healthy.nodes:
        assert str(node.host.python).startswith("3.11.")
        assert str(node.host.os) == "Debian GNU/Linux 12 (bookworm)"
        assert node.host.hostname == node.name
    assert len({str(node.host.machine_id) for node in healthy.nodes}) == 2


def test_soft_roce_devices_are_active_with_their_mtus(healthy: Fabric) -> None:
    for node in healthy.nodes:
        assert not isinstance(node.hcas, Unknown)
        assert [(hca.name, hca.driver) for hca in node.hcas] == [(name, "rdma_rxe") for name in HCAS]
        for port, netdev in zip(ports(node).values(), PORTS, strict=True):
            assert (port.state, port.link_layer, port.netdev) == ("ACTIVE", "Ethernet", netdev)
            assert (port.active_mtu, port.rate_gbps) == (4096, 25.0)


def test_gids_are_found_by_value(healthy: Fabric) -> None:
    for node, machine in zip(healthy.nodes, MACHINES, strict=True):
        for port, address, netdev in zip(ports(node).values(), machine.addresses, PORTS, strict=True):
            assert not isinstance(port.gids, Unknown)
            assert {gid.type for gid in port.gids} == {"RoCE v2"}
            (mapped,) = [gid for gid in port.gids if gid.ipv4 == address]
            assert (mapped.netdev, mapped.link_local) == (netdev, False)
            (local,) = [gid for gid in port.gids if gid.ipv4 is None]
            assert local.link_local


def test_netdevs_have_their_subnets_mtu_and_names(healthy: Fabric) -> None:
    for node, machine in zip(healthy.nodes, MACHINES, strict=True):
        for name, address in zip(PORTS, machine.addresses, strict=True):
            netdev = netdevs(node)[name]
            assert (netdev.mtu, netdev.carrier, netdev.operstate, netdev.speed_mbps) == (9000, True, "up", 25000)
            assert netdev.driver == "virtio_net"
            assert [one.ip for one in netdev.addresses if one.family == "ipv4"] == [address]
            assert netdev.altnames == (name.replace("enp1s0", "ens1"),)


def test_verbs_can_be_used_from_here(healthy: Fabric) -> None:
    for node in healthy.nodes:
        assert not isinstance(node.host.infiniband_devices, Unknown)
        assert {"uverbs0", "uverbs1", "rdma_cm"} <= set(node.host.infiniband_devices)
        assert str(node.host.libibverbs).rpartition("/")[2].startswith("libibverbs.so.1")
        assert node.host.memlock == -1


def test_nothing_is_wrong_with_a_healthy_pair(healthy: Fabric) -> None:
    assert told(healthy) == []


def test_verbs_of_the_guests_distribution_work(lab: RoceLab) -> None:
    said = lab.alpha.ask("python3 - <<'END'\n" + VERBS + "\nEND\n")
    assert said.split() == ["rocep1s0f0", "4096", "2", "rocep1s0f1", "4096", "2"]


VERBS = """import pyverbs.device as d
for name in sorted(one.name.decode() for one in d.get_device_list()):
    context = d.Context(name=name)
    print(name, 128 << context.query_port(1).active_mtu, len(context.query_gid_table(64)))
"""
