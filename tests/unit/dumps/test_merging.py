"""Facts become the node a probe would have reported; what nobody told is unknown."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricdoc.dumps import read_text
from fabricdoc.dumps.merging import above, merged
from fabricdoc.dumps.sources import Facts
from fabricdoc.dumps.told import Told
from fabricdoc.errors import NodeError
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Counters, GpuPath, Node
from tests.unit.dumps.texts import FIXTURES, fixture

pytestmark = pytest.mark.unit

NOT_TOLD = Unknown(unknown="not in the dump")


def node_of(*names: str) -> Node:
    facts = Facts()
    for name in names:
        facts.add(name, read_text(name, fixture(name)).told)
    return merged("spark-a", "dump", facts)


def test_nothing_told_is_all_unknown() -> None:
    empty = merged("n", "t", Facts())
    assert empty.hcas == empty.netdevs == empty.routes == empty.gpus == empty.pcie == empty.counters == NOT_TOLD
    assert empty.host.memlock == empty.host.hostname == empty.container.kind == NOT_TOLD
    assert empty.host.environment == {}


def test_hcas() -> None:
    node = node_of("ibv_devinfo-v.txt", "rdma-link.json", "show_gids.txt")
    assert not isinstance(node.hcas, Unknown)
    assert [hca.name for hca in node.hcas] == ["rocep1s0f0", "rocep1s0f1", "mlx5_9"]
    first = node.hcas[0]
    assert (first.firmware, first.driver, first.pci) == ("28.45.4028", NOT_TOLD, NOT_TOLD)
    port = first.ports[0]
    assert (port.state, port.rate_gbps, port.active_mtu, port.netdev) == ("ACTIVE", 200.0, 1024, "enp1s0f0np0")
    assert not isinstance(port.gids, Unknown)
    assert [(gid.index, gid.ipv4, gid.netdev) for gid in port.gids] == [
        (0, None, "enp1s0f0np0"), (1, None, NOT_TOLD), (2, "10.77.0.1", NOT_TOLD), (3, "10.77.0.1", "enp1s0f0np0"),
    ]  # fmt: skip
    assert node.hcas[1].ports[0].gids == NOT_TOLD


def test_netdevs() -> None:
    node = node_of("ip-d-addr.txt", "sysctl.txt", "session.txt")
    assert not isinstance(node.netdevs, Unknown)
    by_name = {one.name: one for one in node.netdevs}
    port = by_name["enp1s0f0np0"]
    assert (port.ifindex, port.mtu, port.carrier, port.speed_mbps, port.fec) == (3, 9000, True, 200000, "RS")
    assert (port.pci, port.driver, port.phys_port_name, port.altnames) == (
        "0000:01:00.0", "mlx5_core", "p0", ("cage-left",),
    )  # fmt: skip
    assert [(one.ip, one.prefix, one.family, one.scope) for one in port.addresses] == [
        ("10.77.0.1", 24, "ipv4", "global"), ("fe80::a0b:cff:fe03:1110", 64, "ipv6", "link"),
    ]  # fmt: skip
    assert (port.arp_ignore, port.rp_filter, port.arp_announce) == (1, 2, NOT_TOLD)
    assert (by_name["bond7"].bond_mode, by_name["enp1s0f0np0.40"].vlan_id) == ("802.3ad", 40)
    assert not isinstance(port.qos, Unknown)
    assert (port.qos.trust, port.qos.source, port.qos.tc_percent) == ("dscp", "mlnx_qos", NOT_TOLD)


def test_interfaces_without_an_index_come_last() -> None:
    node = node_of("ibdev2netdev-v.txt", "ip-addr.json")
    assert not isinstance(node.netdevs, Unknown)
    assert [(one.name, one.ifindex) for one in node.netdevs] == [
        ("enp1s0f0np0", 3), ("enp1s0f0np0.40", 5), ("enp1s0f1np1", 0),
    ]  # fmt: skip


def test_pcie_with_the_bridges_above() -> None:
    node = node_of("lspci-vvv.txt")
    assert not isinstance(node.pcie, Unknown)
    by_address = {one.address: one for one in node.pcie}
    assert by_address["0000:01:00.0"].upstream == ("0000:00:00.0",)
    assert (by_address["0000:01:00.0"].current_width, by_address["0000:01:00.0"].max_width) == (2, 4)
    assert by_address["0000:00:00.0"].acs is True
    assert by_address["000f:01:00.0"].gone is True


def test_bridges_from_the_root_down() -> None:
    bridges = {"0000:00:01.0": (1, 9), "0000:01:00.0": (2, 5), "0000:06:00.0": (7, 9), "0001:00:01.0": (1, 9)}
    assert above("0000:03:00.0", bridges) == ["0000:00:01.0", "0000:01:00.0"]
    assert above("0000:01:00.0", bridges) == ["0000:00:01.0"]
    assert above("0001:03:00.0", bridges) == ["0001:00:01.0"]


def test_counters_leave_zeros_out_but_count_them() -> None:
    node = node_of("rdma.txt")
    assert not isinstance(node.counters, Unknown)
    (one,) = node.counters
    assert one == Counters(
        subject="rocep1s0f0/1", source="hw", values={"rx_write_requests": 12, "out_of_sequence": 5}, names=3
    )


def test_gpus_paths_and_host() -> None:
    node = node_of("nvidia-smi.txt", "topo.txt", "ulimit-a.txt", "lsmod.txt")
    assert not isinstance(node.gpus, Unknown)
    assert [(gpu.index, gpu.name, gpu.uuid) for gpu in node.gpus] == [
        (0, "NVIDIA GB10", NOT_TOLD), (1, "NVIDIA H200", NOT_TOLD),
    ]  # fmt: skip
    assert isinstance(node.gpus[0].memory_bytes, Unknown)
    assert node.gpus[0].processes == (4100, 4242)
    assert GpuPath(gpu=0, hca="rocep1s0f0", path="NODE") in node.gpu_paths
    assert (node.host.memlock, node.host.nvidia_driver) == (8192 * 1024, "580.95.05")
    assert node.host.modules == ("ib_uverbs", "mlx5_ib", "nvidia_peermem")


def test_routes_rules_and_neighbours() -> None:
    node = node_of("ip-route.txt")
    sizes = [len(found) for found in (node.routes, node.rules, node.neighbours) if not isinstance(found, Unknown)]
    assert sizes == [3, 2, 2]


def test_lldp_neighbours_that_name_themselves() -> None:
    (beta, own) = node_of("lldp.json").lldp  # type: ignore[misc]
    assert (beta.netdev, beta.chassis, beta.port) == ("enp1s0f0np0", "0a:0b:0c:03:22:10", "0a:0b:0c:03:22:11")
    assert (beta.system, beta.port_description, beta.bridge) == ("spark-b", "enp1s0f1np1", False)
    assert (own.chassis, own.port) == ("0a:0b:0c:03:11:10", "self")
    assert node_of("topo.txt").lldp == NOT_TOLD
    facts = Facts()
    facts.add("x", [Told(("lldp", "p0", 0, "chassis"), "a", 1), Told(("lldp", "p0", 0, "bridge"), True, 1)])
    assert merged("n", "t", facts).lldp == NOT_TOLD


def test_facts_that_are_no_report_are_refused() -> None:
    facts = Facts()
    facts.add("f", [Told(("address", "e0", "10.0.0.1/99"), "global", 1)])
    with pytest.raises(NodeError):
        merged("n", "t", facts)


ALL: list[Any] = [
    one for path in sorted(FIXTURES.glob("*.*")) for one in read_text(path.name, path.read_text()).told
]  # fmt: skip


@pytest.mark.long
@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(ALL), max_size=60))
def test_any_part_of_the_facts_makes_a_node(told: list[Told]) -> None:
    facts = Facts()
    facts.add("f", told)
    assert merged("n", "t", facts).name == "n"
