"""Healthy fabrics with something odd about them that has fooled other tools: no check may say error or warning.

Each is a recorded fabric with facts changed; numbers in parentheses are sections of spark_fabric_facts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Address, Fabric, KernelEvent, Node
from tests.fabrics.altering import changed, followed, set_facts
from tests.fabrics.parts import hca_of, netdev_of, plain_netdev
from tests.fabrics.servers import eight_rail_servers, rail
from tests.fabrics.spark import spark_one_cable, spark_straight, spark_switch

NEEDS_ROOT = Unknown(unknown="needs root")


def power_message() -> Fabric:
    """The mlx5 message of a slot with 27 W appears on healthy Sparks too (P30)."""
    said = "mlx5_core 0000:01:00.0: mlx5_pcie_event:301:(pid 9): Detected insufficient power on the PCIe slot (27W)."
    event = KernelEvent(id="mlx5-slot-power", count=4, last=said)
    return changed(spark_one_cable(), "*", "host", kernel_log=(event,))


def uneven_twins() -> Fabric:
    """RDMA bytes split 81 to 19 over the twins (P46)."""
    fabric = spark_one_cable()
    for subject, share in (("rocep1s0f0/1:port", 81), ("roceP2p1s0f0/1:port", 19)):
        grown = {"port_xmit_data": share * 10_000_000, "port_rcv_data": share * 10_000_000}
        fabric = changed(fabric, "*", "counters", subject, values=grown, deltas=grown)
    return changed(fabric, "*", "node", watched_s=10.0)


def binned_clocks() -> Fabric:
    """GPUs of one model clock 2502, 2485 and 2440 MHz at most: binning (P28)."""
    fabric = spark_switch()
    for node, clock in (("spark-b", 2485), ("spark-c", 2440)):
        fabric = changed(fabric, node, "gpu", 0, sm_clock_max_mhz=clock, sm_clock_cap_mhz=clock)
    return fabric


def corrected_bits() -> Fabric:
    """FEC corrects bits all the time, and a link came up twice since boot (8.3)."""
    fabric = spark_straight()
    for netdev in ("enp1s0f0np0", "enP2p1s0f0np0", "enp1s0f1np1", "enP2p1s0f1np1"):
        values = {"rx_corrected_bits_phy": 88_000_000, "link_down_events_phy": 2}
        deltas = {"rx_corrected_bits_phy": 41_000}
        fabric = changed(fabric, "*", "counters", f"{netdev}:ethtool", values=values, deltas=deltas)
        fabric = changed(fabric, "*", "netdev", netdev, carrier_changes=4)
    return changed(fabric, "*", "node", watched_s=10.0)


def working_flow_control() -> Fabric:
    """ECN marks, CNPs and a few pauses on the lossless priority: congestion control at work (8.3)."""
    fabric = eight_rail_servers()
    marks = {"np_ecn_marked_roce_packets": 900, "np_cnp_sent": 850, "rp_cnp_handled": 820}
    pauses = {
        "rx_prio3_pause": 120,
        "tx_prio3_pause": 90,
        "rx_prio3_pause_duration": 700,
        "rx_prio3_packets": 9_000_000,
    }
    for k in range(8):
        one = rail(0, k)
        fabric = changed(fabric, "*", "counters", f"{one.hca}/1:hw", values=marks, deltas=marks)
        fabric = changed(fabric, "*", "counters", f"{one.netdev}:ethtool", values=pauses, deltas=pauses)
    return changed(fabric, "*", "node", watched_s=10.0)


def idle_virtual_functions() -> Fabric:
    """Two VFs that nobody was given are down (P45)."""
    fabric = eight_rail_servers()
    return fabric.model_copy(update={"nodes": tuple(_with_vfs(node, at) for at, node in enumerate(fabric.nodes))})


def _with_vfs(node: Node, number: int) -> Node:
    assert isinstance(node.hcas, tuple) and isinstance(node.netdevs, tuple) and isinstance(node.pcie, tuple)
    owner = rail(number, 0)
    hcas, netdevs, functions = list(node.hcas), list(node.netdevs), list(node.pcie)
    for at in (1, 2):
        own = {"hca": f"mlx5_{7 + at}", "netdev": f"{owner.netdev[:-3]}v{at - 1}", "pci": f"{owner.pci[:-1]}{at}"}
        virtual = replace(owner, guid=owner.guid + at, up=False, ips=(), **own)
        hcas.append(set_facts(hca_of(virtual), {"physical_function": owner.pci}))
        said = {"phys_port_name": Unknown(unknown="the driver gives none"), "altnames": ()}
        netdevs.append(set_facts(netdev_of(virtual, 40 + at), said))
        link = dict.fromkeys(
            ("current_speed_gts", "max_speed_gts", "current_width", "max_width"),
            Unknown(unknown="a virtual function has no link of its own: see its physical function"),
        )
        parent = next(one for one in node.pcie if one.address == owner.pci)
        more = {"address": virtual.pci, "device": "0x101e", "physical_function": owner.pci, **link}
        functions.append(set_facts(parent, more))
    return followed(set_facts(node, {"hcas": tuple(hcas), "netdevs": tuple(netdevs), "pcie": tuple(functions)}), {})


def wifi_beside_cable() -> Fabric:
    """Wi-Fi and the 10GbE port are both in the home network; so are a VPN and more bridges beside the fabric."""
    fabric = spark_one_cable()
    for at, node in enumerate(fabric.nodes):
        home = (Address(ip=f"192.168.1.{70 + at}", prefix=24, family="ipv4"),)
        fabric = changed(fabric, node.name, "netdev", "wlP9s9", carrier=True, operstate="up", addresses=home)
        fabric = changed(fabric, node.name, "netdev", "docker0", carrier=True, operstate="up")
        assert isinstance(node.netdevs, tuple)
        more = (
            plain_netdev("tailscale0", 20, ip=f"100.64.0.{5 + at}", prefix=32, mtu=1280, kind="tun"),
            plain_netdev("br-5a5a5a", 21, mac="02:42:5a:00:00:01", ip="172.18.0.1", prefix=16, kind="bridge"),
            plain_netdev("veth5a5a5", 22, mac="5e:00:00:00:00:22", kind="veth", master="br-5a5a5a", mbps=10_000),
        )
        known = next(one for one in fabric.nodes if one.name == node.name).netdevs
        assert isinstance(known, tuple)
        fabric = changed(fabric, node.name, "node", netdevs=(*known, *more))
    return fabric


def unprivileged() -> Fabric:
    """A scan by a user who may not read what needs root."""
    fabric = changed(spark_straight(), "*", "host", firewall=NEEDS_ROOT, kernel_log=NEEDS_ROOT, bios=NEEDS_ROOT)
    fabric = changed(fabric, "*", "netdev", persistence=NEEDS_ROOT)
    return changed(fabric, "*", "pcie", acs=NEEDS_ROOT)


def little_known() -> Fabric:
    """An old probe or a thin dump: nothing but devices, interfaces and addresses."""
    not_read = Unknown(unknown="not read")
    fabric = spark_straight()
    parts = dict.fromkeys(("pcie", "counters", "rules", "neighbours", "gpus", "routes"), not_read)
    fabric = changed(fabric, "*", "node", **parts)
    facts = dict.fromkeys(("qos", "fec", "lanes", "duplex", "autoneg", "rp_filter", "phys_port_name"), not_read)
    return changed(fabric, "*", "netdev", **facts)


def dead_nics_on_servers() -> Fabric:
    """Servers use six of eight rails; the other two have no cable (Polling) and no address."""
    fabric = eight_rail_servers(3)
    unplugged = {rail(0, k).netdev for k in (6, 7)}
    for k in (6, 7):
        netdev = rail(0, k).netdev
        facts = {"carrier": False, "operstate": "down", "addresses": (), "speed_mbps": Unknown(unknown="no link")}
        fabric = changed(fabric, "*", "netdev", netdev, **facts)
        dead = {"state": "DOWN", "phys_state": "Polling", "rate_gbps": 40.0}
        for node in fabric.nodes:
            assert isinstance(node.hcas, tuple)
            bare = node.hcas[k].ports[0].gids
            assert isinstance(bare, tuple)
            fabric = changed(fabric, node.name, "port", f"mlx5_{k}", gids=bare[:2], **dead)
            for source in (f"mlx5_{k}/1:port", f"mlx5_{k}/1:hw", f"{netdev}:ethtool"):
                fabric = changed(fabric, node.name, "counters", source, values={})
    links = fabric.links
    assert isinstance(links, tuple)
    kept = tuple(link for link in links if link.a.netdev not in unplugged)
    nodes = tuple(
        node.model_copy(update={"neighbours": tuple(n for n in node.neighbours if n.netdev not in unplugged)})
        for node in fabric.nodes
        if isinstance(node.neighbours, tuple)
    )
    return fabric.model_copy(update={"links": kept, "nodes": nodes})


def busy_with_own_traffic() -> Fabric:
    """A pair under load: counters grow, nothing is lost, the GPU is busy at a high clock and power."""
    fabric = spark_one_cable()
    grown = {"port_xmit_data": 27_000_000_000, "port_rcv_data": 27_000_000_000}
    for hca in ("rocep1s0f0", "roceP2p1s0f0"):
        fabric = changed(fabric, "*", "counters", f"{hca}/1:port", values=grown, deltas=grown)
    load = {"sm_clock_mhz": 2405, "power_w": 85.0, "temperature_c": 74, "utilization_percent": 97}
    return changed(changed(fabric, "*", "gpu", 0, **load), "*", "node", watched_s=10.0)


ODDITIES: Mapping[str, Callable[[], Fabric]] = MappingProxyType(
    {
        "power-message": power_message,
        "uneven-twins": uneven_twins,
        "binned-clocks": binned_clocks,
        "corrected-bits": corrected_bits,
        "working-flow-control": working_flow_control,
        "idle-virtual-functions": idle_virtual_functions,
        "wifi-beside-cable": wifi_beside_cable,
        "unprivileged": unprivileged,
        "little-known": little_known,
        "dead-nics-on-servers": dead_nics_on_servers,
        "busy-with-own-traffic": busy_with_own_traffic,
    }
)
