"""What recorded nodes are put together from: RoCE functions with their netdev, HCA, PCIe function, counters and links.

A `RoceFunction` is one PCIe function of a NIC and everything that hangs on it. Values come from the caller; what this
module adds is how the kernel spells them (sysfs text of GIDs and GUIDs, the GID table's order, the RDMA MTU).
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations

from fabricdoc.model.documents import NOT_READ, Unknown
from fabricdoc.model.fabric import (
    Address,
    Counters,
    Endpoint,
    Fabric,
    Gid,
    GidChoice,
    Hca,
    Link,
    LinkProof,
    Neighbour,
    Netdev,
    Node,
    PcieFunction,
    Port,
    Qos,
    Rule,
)

PROVEN_AT = "2026-03-01T12:00:00Z"
GID_SLOTS = 256
FIRST_V2 = "first IPv4 RoCE v2 GID"
NO_IPV4 = "no IPv4: index 0 stays, RoCE v1 link-local"
TYPES = ("IB/RoCE v1", "RoCE v2")
VIRTUAL = Unknown(unknown="no device behind it (virtual)")
NO_PORT_NAME = Unknown(unknown="the driver gives none")
NO_SPEED = Unknown(unknown="the kernel reports -1: not known, or no link")
NO_DUPLEX = Unknown(unknown="the kernel reports 255: not known, or no link")
NO_FEC = Unknown(unknown="its driver names no active encoding (no link, or none in use)")
NO_LANES = Unknown(unknown="neither kernel nor driver tells")
NO_ADDRESS = Unknown(unknown="it has no address that could get lost")


@dataclass(frozen=True)
class RoceFunction:
    """One PCIe function of a RoCE NIC: `chip` and `guid` are 64-bit GUIDs, `upstream` the bridges above it."""

    hca: str
    netdev: str
    pci: str
    chip: int
    guid: int
    connector: str
    upstream: tuple[str, ...]
    gbps: int
    width: int
    mtu: int
    numa: int = 0
    up: bool = True
    ips: tuple[str, ...] = ()
    dead_gbps: int = 40  # a port without a cable: spark_fabric_facts 1.7
    device: str = "0x1021"  # ConnectX-7: 1.1
    part: str = "MT4129"  # 1.1
    firmware: str = "28.45.4028"  # 1.1
    board: str = "NVD0000000000"  # 9.1, invented there
    lanes: int = 2
    qos: Qos | Unknown = NOT_READ
    altnames: tuple[str, ...] = ()
    persistence: str = "/etc/netplan/40-cx7.yaml"  # 4.1

    @property
    def mac(self) -> str:
        """mlx5 makes a node GUID from the MAC by putting 03:00 in its middle."""
        return mac_of(self.guid)


def guid_text(guid: int) -> str:
    """A GUID as sysfs prints it: fc4c:ea03:00f9:4230."""
    text = f"{guid:016x}"
    return ":".join(text[at : at + 4] for at in range(0, 16, 4))


def mac_of(guid: int) -> str:
    """The MAC a mlx5 node GUID was made from: fc4c:ea03:00f9:4230 is fc:4c:ea:f9:42:30."""
    text = f"{guid:016x}"
    return ":".join((text[0:2], text[2:4], text[4:6], text[10:12], text[12:14], text[14:16]))


def gid_text(address: str) -> str:
    """An IPv4 or IPv6 address as sysfs prints a GID: eight full groups."""
    found = ipaddress.ip_address(address)
    mapped = ipaddress.IPv6Address(f"::ffff:{address}") if found.version == 4 else found
    return mapped.exploded


def link_local(mac: str) -> str:
    """The fe80 address of a MAC (EUI-64), which the first two GIDs of a RoCE port hold."""
    octets = bytes.fromhex(mac.replace(":", ""))
    eui = bytes((octets[0] ^ 2,)) + octets[1:3] + b"\xff\xfe" + octets[3:]
    return str(ipaddress.IPv6Address(bytes.fromhex("fe80000000000000") + eui))


def gid_table(mac: str, netdev: str, ips: Iterable[str]) -> tuple[Gid, ...]:
    """0 v1 fe80, 1 v2 fe80, then v1 and v2 of each IPv4 address: facts 7 P3."""
    texts = [(gid_text(link_local(mac)), None), *((gid_text(ip), ip) for ip in ips)]
    both = [(text, ip, kind) for text, ip in texts for kind in TYPES]
    return tuple(
        Gid(index=index, gid=text, type=kind, netdev=netdev, ipv4=ip, link_local=ip is None)
        for index, (text, ip, kind) in enumerate(both)
    )


def rdma_mtu(mtu: int) -> int:
    """The RDMA path MTU the kernel picks for a netdev's: 1500 gives 1024, about 4200 and more gives 4096 (4.8)."""
    return next((rdma for rdma, needed in ((4096, 4200), (2048, 2200), (1024, 1150)) if mtu >= needed), 512)


def hca_of(one: RoceFunction) -> Hca:
    """The HCA of a function. A dead port is DOWN/Disabled and still reports a rate: 1.7."""
    port = Port(
        number=1,
        state="ACTIVE" if one.up else "DOWN",
        phys_state="LinkUp" if one.up else "Disabled",
        rate_gbps=float(one.gbps if one.up else one.dead_gbps),
        link_layer="Ethernet",
        active_mtu=rdma_mtu(one.mtu),
        max_mtu=4096,
        netdev=one.netdev,
        gids=gid_table(one.mac, one.netdev, one.ips),
        gid_slots=GID_SLOTS,
    )
    return Hca(
        name=one.hca,
        driver="mlx5_core",
        firmware=one.firmware,
        node_guid=guid_text(one.guid),
        sys_image_guid=guid_text(one.chip),
        board_id=one.board,
        pci=one.pci,
        ports=(port,),
        hca_type=one.part,
    )


def netdev_of(one: RoceFunction, ifindex: int) -> Netdev:
    """The netdev of a function; `carrier_changes` 2 is one plug since boot."""
    return Netdev(
        name=one.netdev,
        ifindex=ifindex,
        mac=one.mac,
        mtu=one.mtu,
        carrier=one.up,
        operstate="up" if one.up else "down",
        speed_mbps=one.gbps * 1000 if one.up else NO_SPEED,
        carrier_changes=2 if one.up else 1,
        driver="mlx5_core",
        pci=one.pci,
        phys_port_name=one.connector,
        altnames=one.altnames,
        addresses=tuple(Address(ip=ip, prefix=24, family="ipv4") for ip in one.ips),
        duplex="full" if one.up else NO_DUPLEX,
        autoneg=True,
        fec="RS" if one.up else NO_FEC,
        lanes=one.lanes if one.up else NO_LANES,
        rp_filter=2,
        arp_ignore=0,
        arp_announce=0,
        persistence=one.persistence if one.ips else NO_ADDRESS,
        qos=one.qos,
    )


def plain_netdev(
    name: str,
    ifindex: int,
    *,
    mac: str = "02:42:00:00:00:01",
    ip: str | None = None,
    up: bool = True,
    mtu: int = 1500,
    mbps: int | None = None,
    driver: str | None = None,
    pci: str | None = None,
    kind: str | None = None,
    master: str | None = None,
    prefix: int = 24,
) -> Netdev:
    """A netdev that has nothing to do with RDMA: management, Wi-Fi, loopback, docker0."""
    loopback = name == "lo"
    scope = "host" if loopback else "global"
    return Netdev(
        name=name,
        ifindex=ifindex,
        mac="00:00:00:00:00:00" if loopback else mac,
        mtu=65536 if loopback else mtu,
        carrier=up,
        operstate="unknown" if loopback else "up" if up else "down",
        speed_mbps=mbps if mbps else NO_SPEED,
        carrier_changes=0 if loopback else 2 if up else 1,
        driver=driver or VIRTUAL,
        pci=pci or VIRTUAL,
        phys_port_name=NO_PORT_NAME,
        kind=kind,
        master=master,
        addresses=(Address(ip=ip, prefix=prefix, family="ipv4", scope=scope),) if ip else (),
        rp_filter=2,
        arp_ignore=0,
        arp_announce=0,
    )


def loopback() -> Netdev:
    return plain_netdev("lo", 1, ip="127.0.0.1", prefix=8)


def pcie_of(one: RoceFunction, *, gts: float = 32.0, max_width: int | None = None) -> PcieFunction:
    """The PCIe function itself, Gen5 at its full width unless told otherwise."""
    return PcieFunction(
        address=one.pci,
        vendor="0x15b3",
        device=one.device,
        pci_class="0x020000",
        driver="mlx5_core",
        current_speed_gts=gts,
        max_speed_gts=32.0,
        current_width=one.width,
        max_width=max_width or one.width,
        numa_node=one.numa,
        upstream=one.upstream,
    )


def bridge(address: str, upstream: tuple[str, ...], width: int, *, numa: int = 0, max_width: int = 0) -> PcieFunction:
    """A root port or switch port; class 0x060400, ACS not redirecting."""
    return PcieFunction(
        address=address,
        vendor="0x10de" if not upstream else "0x1000",
        device="0x22ce" if not upstream else "0xc030",
        pci_class="0x060400",
        driver="pcieport",
        current_speed_gts=32.0,
        max_speed_gts=32.0,
        current_width=width,
        max_width=max_width or width,
        numa_node=numa,
        upstream=upstream,
        acs=False,
    )


def counters_of(one: RoceFunction) -> tuple[Counters, ...]:
    """Counters of a healthy port that has carried traffic (invented sizes): no loss, one link-up, FEC at work."""
    if not one.up:
        return ()
    subject = f"{one.hca}/1"
    data = {"port_xmit_data": 18_250_000_000, "port_rcv_data": 18_190_000_000}
    packets = {"port_xmit_packets": 19_400_000, "port_rcv_packets": 19_350_000}
    requests = {"rx_write_requests": 4_100_000, "lifespan": 10}
    phy = {"rx_bytes_phy": 73_900_000_000, "tx_bytes_phy": 74_100_000_000, "rx_corrected_bits_phy": 5210}
    return (
        Counters(subject=subject, source="port", values={**data, **packets}, names=21),
        Counters(subject=subject, source="hw", values=requests, names=27),
        Counters(subject=one.netdev, source="ethtool", values={**phy, "link_down_events_phy": 1}, names=640),
    )


def choice_of(one: RoceFunction) -> GidChoice:
    """NCCL's choice on a port with this module's GID table: index 3 with an IPv4 address, 0 without."""
    table = gid_table(one.mac, one.netdev, one.ips)
    index, why = (3, FIRST_V2) if one.ips else (0, NO_IPV4)
    return GidChoice(hca=one.hca, port=1, index=index, gid=table[index].gid, why=why)


@cache
def lossless(priority: int = 3) -> Qos:
    """The pre-flight trio of 8.1: trust dscp, PFC on one priority, ECN on it; CNPs with DSCP 48."""
    only = tuple(number == priority for number in range(8))
    return Qos(
        trust="dscp",
        dscp_priority=tuple(dscp >> 3 for dscp in range(64)),
        pfc=only,
        priority_tc=tuple(range(8)),
        tc_algorithm=("ets",) * 6 + ("strict", "ets"),
        tc_percent=(10, 10, 10, 50, 10, 10, 0, 0),
        ecn_np=only,
        ecn_rp=only,
        cnp_dscp=48,
        pause_rx=False,
        pause_tx=False,
        source="dcb, sysfs",
    )


@cache
def factory_qos() -> Qos:
    """A ConnectX as it comes: trust pcp, no PFC, global pause on; what back-to-back cables need (7 P36)."""
    return Qos(
        trust="pcp",
        pfc=(False,) * 8,
        priority_tc=(1, 0, 2, 3, 4, 5, 6, 7),
        tc_algorithm=("vendor",) * 8,
        ecn_np=(True,) * 8,
        ecn_rp=(True,) * 8,
        cnp_dscp=48,
        pause_rx=True,
        pause_tx=True,
        source="dcb, sysfs",
    )


def usual_rules() -> tuple[Rule, ...]:
    """The policy rules of a node that nobody gave any: local, main, default."""
    four = tuple(Rule(priority=priority, table=table) for priority, table in ((0, 255), (32766, 254), (32767, 253)))
    six = tuple(Rule(priority=priority, table=table, family="ipv6") for priority, table in ((0, 255), (32766, 254)))
    return four + six


def met(fabric: Fabric) -> Fabric:
    """The fabric after every port has spoken to those on its wire: neighbours beyond proven links, by subnet."""
    found: dict[str, list[Neighbour]] = {node.name: list(_known(node)) for node in fabric.nodes}
    for link in () if isinstance(fabric.links, Unknown) else fabric.links:
        for near, far in ((link.a, link.b), (link.b, link.a)):
            if near.node != far.node and near.ip and far.ip and _same_net(near.ip, far.ip):
                found[near.node].append(Neighbour(ip=far.ip, netdev=near.netdev, mac=far.mac, state="reachable"))
    nodes = (node.model_copy(update={"neighbours": tuple(found[node.name])}) for node in fabric.nodes)
    return fabric.model_copy(update={"nodes": tuple(nodes)})


def _known(node: Node) -> tuple[Neighbour, ...]:
    return () if isinstance(node.neighbours, Unknown) else node.neighbours


def _same_net(one: str, other: str) -> bool:
    return one.rpartition(".")[0] == other.rpartition(".")[0]


def by_address(functions: Iterable[PcieFunction]) -> tuple[PcieFunction, ...]:
    """PCIe functions in the order in which a scan lists them."""
    return tuple(sorted(functions, key=lambda one: one.address))


Member = tuple[str, RoceFunction]  # node name, function


def segment_links(members: Sequence[Member]) -> tuple[Link, ...]:
    """Links of ports that all hear one another: cables where there are two, else segments; twins of a node loop."""
    alone = len(members) == 2
    return tuple(
        proven(a, b, "loop" if a[0] == b[0] else "cable" if alone else "segment")
        for a, b in combinations(sorted(members, key=lambda one: (one[0], one[1].netdev)), 2)
    )


def proven(a: Member, b: Member, kind: str, *, there: int = 3, back: int = 3) -> Link:
    """A link with the beacons that proved it."""
    proof = LinkProof(method="beacon", at=PROVEN_AT, frames_a_to_b=there, frames_b_to_a=back)
    return Link.model_validate({"a": endpoint(a), "b": endpoint(b), "kind": kind, "proof": proof})


def endpoint(end: Member) -> Endpoint:
    node, one = end
    return Endpoint(node=node, netdev=one.netdev, mac=one.mac, hca=one.hca, ip=one.ips[0] if one.ips else None)
