"""DGX Spark fabrics: pairs in every cabling and with every fault of the list, a ring of three, four on a switch.

Numbers in parentheses are sections of spark_fabric_facts (the project's collected facts about these nodes). Names,
GUIDs, addresses of nodes and counters' sizes are invented; nothing here was measured by this project.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Cage, Container, Fabric, Gpu, GpuPath, Host, Library, Neighbour, Netdev, Node, Route
from fabricdoc.model.pcie import PcieFunction
from tests.fabrics.parts import (
    RoceFunction,
    bridge,
    by_address,
    choice_of,
    counters_of,
    factory_qos,
    hca_of,
    loopback,
    lossless,
    met,
    netdev_of,
    pcie_of,
    plain_netdev,
    segment_links,
    usual_rules,
)

End = tuple[int, int]  # node number, cage
Wire = tuple[End, ...]  # the cages that one cable or switch joins
Addressing = Literal["own-subnets", "twins-share", "one-twin-bare"]

CABLES: dict[str, tuple[Wire, ...]] = {
    "straight": (((0, 0), (1, 0)), ((0, 1), (1, 1))),
    "crossed": (((0, 0), (1, 1)), ((0, 1), (1, 0))),
    "one": (((0, 0), (1, 0)),),
    "one-crossed": (((0, 0), (1, 1)),),
}
RING: tuple[Wire, ...] = (((0, 0), (1, 1)), ((1, 0), (2, 1)), ((2, 0), (0, 1)))
BASES = (0xFC4CEA0300F94230, 0x4CBB470300125660, 0x4CBB47030012A1D0, 0xFC4CEA0300F97F10)  # first: 1.6; rest invented
CAGE_EVIDENCE = "sys_image_guid and phys_port_name"
# (domain, function): node_guid offset (1.6), mlx5_N where images rename (1.4)
FUNCTIONS = {(0, 0): (0, 0), (0, 1): (1, 1), (2, 0): (4, 2), (2, 1): (5, 3)}
GIB = 1 << 30


def spark_pair(
    cabling: str | tuple[Wire, ...] = "straight",
    *,
    mtu: int = 9000,
    addressing: Addressing = "own-subnets",
    heard: Literal["twins", "pairs"] = "twins",
    narrow: int | None = None,
    renamed: bool = False,
    foreign: bool = False,
) -> Fabric:
    """Two Sparks, spark-a and spark-b; `cabling` is straight, crossed, one or one-crossed (CABLES), or wires.

    `addressing`: each link and twin its own /24 (4.1); both twins of a cable in one /24 (P1); or the second twin of
    spark-b's first cage without an IPv4 address (3.11, P4). `heard`: a frame reaches both twins of a cage and the
    sender's own twin (1.9, 1.15), or (the tidy world) only its like. `narrow`: node whose second PCIe controller is
    Gen5 x2 (1.12). `renamed`: mlx5_0..3 (1.4). `foreign`: cage 1 of spark-a leads to somebody else's network.
    """
    wires = CABLES[cabling] if isinstance(cabling, str) else cabling
    nodes = [bare_spark(number, mtu=mtu, renamed=renamed) for number in (0, 1)]
    nodes = addressed(nodes, wires, addressing)
    if foreign:
        nodes[0] = [replace(one, up=True, ips=FOREIGN_IPS[one.pci]) if cage(one) == 1 else one for one in nodes[0]]
    return fabric_of(nodes, wires, heard=heard, narrow=narrow)


FOREIGN_IPS = {"0000:01:00.1": ("10.20.30.40",), "0002:01:00.1": ("10.20.31.40",)}


def spark_straight() -> Fabric:
    return spark_pair("straight")


def spark_crossed() -> Fabric:
    """Cage 0 meets cage 1 both ways: one env file for both nodes names the wrong HCAs (P7, P42)."""
    return spark_pair("crossed")


def spark_one_cable() -> Fabric:
    """Healthy: one cable suffices (4.1); the two dead ports of each node are Down/Disabled at 40 Gbit/s (1.7)."""
    return spark_pair("one")


def spark_one_crossed() -> Fabric:
    """One cable from cage 0 to cage 1: as good as any, but the HCA names differ per node (P7)."""
    return spark_pair("one-crossed")


def spark_foreign() -> Fabric:
    """One cable between the two, and cage 1 of spark-a ACTIVE on a network where nobody of this fabric is."""
    return spark_pair("one", foreign=True)


def spark_x2() -> Fabric:
    """spark-b has the early BIOS: PCIe domain 0002 at Gen5 x2 (1.12)."""
    return spark_pair("straight", narrow=1)


def spark_twins_one_subnet() -> Fabric:
    return spark_pair("one", addressing="twins-share")


def spark_twin_bare() -> Fabric:
    """No IPv4 on one twin: its GIDs are fe80 only and NCCL stays on index 0 (3.11)."""
    return spark_pair("one", addressing="one-twin-bare")


def spark_ring(wires: tuple[Wire, ...] = RING) -> Fabric:
    """Three Sparks, every cable from a cage 0 to a cage 1, each with subnets of its own (4.9); other `wires` for P8."""
    nodes = addressed([bare_spark(number) for number in range(3)], wires, "own-subnets")
    return fabric_of(nodes, wires)


def spark_switch(*, mtu: int = 9000) -> Fabric:
    """Four Sparks, cage 0 of each on one switch, twins in subnets of their own (4.2), PFC on priority 3 (8.1)."""
    wires: tuple[Wire, ...] = (tuple((number, 0) for number in range(4)),)
    nodes = addressed([bare_spark(number, mtu=mtu) for number in range(4)], wires, "own-subnets")
    return fabric_of([[replace(one, qos=lossless()) for one in node] for node in nodes], wires)


def bare_spark(number: int, *, mtu: int = 9000, renamed: bool = False) -> list[RoceFunction]:
    """The four functions of a Spark's ConnectX-7 (1.1-1.6) with nothing plugged in."""
    base = BASES[number]
    return [
        RoceFunction(
            hca=f"mlx5_{order}" if renamed else f"roce{segment}p1s0f{function}",
            netdev=f"en{segment}p1s0f{function}np{function}",
            pci=f"{domain:04x}:01:00.{function}",
            chip=base,
            guid=base + offset,
            connector=f"p{function}",
            upstream=(f"{domain:04x}:00:00.0",),
            gbps=200,
            width=4,
            mtu=mtu,
            up=False,
            qos=factory_qos(),
        )
        for (domain, function), (offset, order) in FUNCTIONS.items()
        for segment in (f"P{domain}" if domain else "",)
    ]


def cage(one: RoceFunction) -> int:
    return int(one.connector[1:])


def domain(one: RoceFunction) -> int:
    return int(one.pci[:4], 16)


def addressed(
    nodes: Sequence[list[RoceFunction]], wires: Sequence[Wire], addressing: Addressing
) -> list[list[RoceFunction]]:
    """The nodes with their cabled ports up and addressed: 192.168.100+.x by wire and twin (4.1), .10 + node number."""
    found = [list(node) for node in nodes]
    for wire_number, wire in enumerate(wires):
        for node_number, wired in wire:
            for at, one in enumerate(found[node_number]):
                if cage(one) == wired:
                    twin = 1 if domain(one) else 0
                    ip = _ip(wire_number, twin, node_number, addressing)
                    found[node_number][at] = replace(one, up=True, ips=(ip,) if ip else ())
    return found


def _ip(wire: int, twin: int, node: int, addressing: Addressing) -> str | None:
    if addressing == "one-twin-bare" and (wire, twin, node) == (0, 1, 1):
        return None
    if addressing == "twins-share":
        return f"192.168.{100 + 2 * wire}.{10 + node + 100 * twin}"
    return f"192.168.{100 + 2 * wire + twin}.{10 + node}"


def fabric_of(
    nodes: Sequence[list[RoceFunction]],
    wires: Sequence[Wire],
    *,
    heard: Literal["twins", "pairs"] = "twins",
    narrow: int | None = None,
) -> Fabric:
    """The fabric document of these nodes with their links."""
    names = [f"spark-{letter}" for letter in "abcd"]
    links = []
    for wire in wires:
        members = [(names[number], one) for number, wired in wire for one in nodes[number] if cage(one) == wired]
        domains = ((0, 2),) if heard == "twins" else ((0,), (2,))
        for among in domains:
            links += segment_links([member for member in members if domain(member[1]) in among])
    built = [
        spark_node(names[number], number, node, second_width=2 if narrow == number else 4)
        for number, node in enumerate(nodes)
    ]
    return met(Fabric(nodes=tuple(built), links=tuple(links), created="2026-03-01T12:00:05Z"))


def spark_node(name: str, number: int, functions: Sequence[RoceFunction], *, second_width: int = 4) -> Node:
    """One Spark with everything around its NIC."""
    wide = [replace(one, width=second_width if domain(one) else 4) for one in functions]
    ordered = sorted(wide, key=lambda one: one.hca)
    active = [one for one in ordered if one.up]
    return Node(
        name=name,
        target=f"{name}.lan",
        hcas=tuple(hca_of(one) for one in ordered),
        netdevs=_netdevs(number, wide),
        routes=_routes(number, active),
        gpus=(spark_gpu(number),),
        host=spark_host(name, number),
        container=Container(kind="none"),
        rules=usual_rules(),
        neighbours=(Neighbour(ip="192.168.1.1", netdev="enP7s7", mac="b0:19:21:00:00:01", state="reachable"),),
        pcie=by_address((*_bridges(second_width), *(pcie_of(one, max_width=4) for one in wide))),
        counters=tuple(counter for one in ordered for counter in counters_of(one)),
        cages=_cages(ordered),
        nccl_gids=tuple(choice_of(one) for one in active),
        gpu_paths=tuple(GpuPath(gpu=0, hca=one.hca, path="NODE") for one in ordered),  # 1.10
        clock_offset_s=0.0004 * number,
    )


def _cages(functions: Sequence[RoceFunction]) -> tuple[Cage, ...]:
    """Twins are the two HCAs of one function number across the domains (1.3), by (sys_image_guid, phys_port_name)."""
    chip = f"{functions[0].chip:016x}"
    id = ":".join(chip[at : at + 4] for at in range(0, 16, 4))
    return tuple(
        Cage(
            id=f"{id}/p{connector}",
            hcas=tuple(one.hca for one in functions if cage(one) == connector),
            by=CAGE_EVIDENCE,
        )
        for connector in (0, 1)
    )


def _netdevs(number: int, functions: Sequence[RoceFunction]) -> tuple[Netdev, ...]:
    """The four ConnectX ports between loopback and the rest: Realtek 10GbE, Wi-Fi (1.11), docker0."""
    realtek = plain_netdev(
        "enP7s7",
        2,
        mac=f"4c:bb:47:7e:10:{number:02x}",
        ip=f"192.168.1.{50 + number}",
        mbps=10_000,
        driver="r8127",
        pci="0007:01:00.0",
    )
    wifi = plain_netdev("wlP9s9", 7, mac=f"f8:3d:c6:22:00:{number:02x}", up=False, driver="mt7925e", pci="0009:01:00.0")
    docker = plain_netdev("docker0", 8, mac="02:42:5e:00:00:01", ip="172.17.0.1", prefix=16, up=False, kind="bridge")
    ports = (netdev_of(one, index) for index, one in enumerate(functions, start=3))
    return (loopback(), realtek, *ports, wifi, docker)


def _routes(number: int, active: Sequence[RoceFunction]) -> tuple[Route, ...]:
    home = (
        Route(destination="default", netdev="enP7s7", gateway="192.168.1.1", source=f"192.168.1.{50 + number}"),
        Route(destination="192.168.1.0/24", netdev="enP7s7", source=f"192.168.1.{50 + number}"),
        Route(destination="172.17.0.0/16", netdev="docker0", source="172.17.0.1"),
    )
    rails = (
        Route(destination=f"{ip.rsplit('.', 1)[0]}.0/24", netdev=one.netdev, source=ip)
        for one in active
        for ip in one.ips
    )
    return (*home, *rails)


def _bridges(second_width: int) -> tuple[PcieFunction, ...]:
    """Root ports of the two ConnectX links (P32 names them) and of the GPU (1.11)."""
    return (
        bridge("0000:00:00.0", (), 4),
        bridge("0002:00:00.0", (), second_width, max_width=4),
        replace_speed(bridge("000f:00:00.0", (), 1, max_width=16)),
        PcieFunction(
            address="000f:01:00.0",
            vendor="0x10de",
            device="0x2e12",  # 1.11
            pci_class="0x030000",
            driver="nvidia",
            current_speed_gts=2.5,  # the GB10 shows Gen1, x1 of x16, and is well: it does not sit on PCIe
            max_speed_gts=2.5,
            current_width=1,
            max_width=16,
            numa_node=0,
            upstream=("000f:00:00.0",),
        ),
    )


def replace_speed(function: PcieFunction) -> PcieFunction:
    return function.model_copy(update={"current_speed_gts": 2.5, "max_speed_gts": 2.5})


def spark_gpu(number: int) -> Gpu:
    """A GB10 at rest: sm_121 (1.11), about 2500 MHz at most (P28), neither GPUDirect nor DMA-BUF (5.1)."""
    return Gpu(
        index=0,
        name="NVIDIA GB10",
        uuid=f"GPU-5a5a0000-0000-0000-0000-00000000000{number}",
        pci="000f:01:00.0",
        compute_capability="12.1",
        memory_bytes=Unknown(unknown="NVML: not supported (unified memory)"),
        processes=(),
        tenants=(),
        sm_clock_mhz=208,
        sm_clock_max_mhz=2502,
        sm_clock_cap_mhz=2502,
        power_w=4.6,
        temperature_c=44,
        utilization_percent=0,
        throttle_reasons=(),
        integrated=True,
        c2c=True,
        gpudirect_rdma=False,
        dma_buf=False,
    )


def spark_host(name: str, number: int) -> Host:
    """DGX OS with the kernel and driver that belong together (P17), hot-plug armed as shipped (1.14)."""
    return Host(
        hostname=name,
        kernel="6.17.0-1031-nvidia",
        os="Ubuntu 24.04.3 LTS",
        arch="aarch64",
        cpus=20,
        python="3.12.3",
        machine_id=f"5a5a0000000000000000000000000a{number:02x}",
        boot_id=f"5a5a0000-0000-4000-8000-00000000b0{number:02x}",
        memory_total=119 * GIB,
        memory_available=112 * GIB,
        memlock=-1,
        shm_bytes=60 * GIB,
        nvidia_driver="580.173.02",
        infiniband_devices=("rdma_cm", "uverbs0", "uverbs1", "uverbs2", "uverbs3"),
        libibverbs="/usr/lib/aarch64-linux-gnu/libibverbs.so.1.14.50.0",
        torch=Unknown(unknown="no package torch for this python"),
        product="NVIDIA_DGX_Spark",
        bios="5.36_0ACUM023",
        governor="performance",
        iommu="translated",
        modules=("ib_core", "ib_umad", "ib_uverbs", "mlx5_core", "mlx5_ib", "nvidia", "nvidia_uvm", "rdma_cm"),
        ibverbs_providers=("libmlx5-rdmav34.so",),
        libnccl=(Library(path="/usr/lib/aarch64-linux-gnu/libnccl.so.2", version="2.30.7+cuda13.0", sha256="5a" * 32),),
        nccl_plugins=(),
        nccl_conf=(),
        firewall="none seen",
        ip_forward=True,
        hotplug_armed=True,
        uptime_s=86_400.0 + number,
        clock=1_772_366_400.0,
        kernel_log=(),
        host_network=True,
    )
