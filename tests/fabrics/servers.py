"""Two (or any number of) servers with eight GPUs and eight single-port RoCE NICs, one rail per NIC.

Shape and settings from spark_fabric_facts 8.1 and 8.2: NIC k of every node on leaf k, GPU k and NIC k under one PCIe
switch, trust dscp, PFC and ECN on priority 3. PCI addresses, GUIDs, names and sizes are invented.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Literal

from fabricdoc.model.fabric import (
    Cage,
    Container,
    Counters,
    Fabric,
    Gpu,
    GpuPath,
    Host,
    Library,
    Link,
    Neighbour,
    Netdev,
    Node,
    Route,
)
from fabricdoc.model.pcie import PcieFunction
from tests.fabrics.parts import (
    RoceFunction,
    bridge,
    by_address,
    choice_of,
    counters_of,
    guid_text,
    hca_of,
    loopback,
    lossless,
    met,
    netdev_of,
    pcie_of,
    plain_netdev,
    proven,
    segment_links,
    usual_rules,
)

RAILS = 8
BAD_RAIL = 5
CHIP = 0xB83FD2030040C000
CAGE_EVIDENCE = "sys_image_guid and phys_port_name"
GIB = 1 << 30
# First bus of each PCIe switch: root port, then switch ports +1, +2, GPU +3, NIC +4; four per socket.
BUSES = (0x10, 0x30, 0x50, 0x70, 0x90, 0xB0, 0xD0, 0xE0)
SWITCH_PORTS = ("00.0", "00.0", "01.0")  # upstream port, then the downstream ports of GPU and NIC

Fault = Literal["pcie", "speed", "mtu", "down", "swapped", "pfc", "lossy"]


def eight_rail_servers(nodes: int = 2, *, bad_rail: int | None = None, fault: Fault = "pcie") -> Fabric:
    """`nodes` servers server-001..., healthy, or with one bad rail on the last of them.

    `fault` of that rail: `pcie` trained to Gen5 x8; `speed` 100 of 400 Gbit/s; `mtu` 1500 among 9000; `down` no
    carrier; `swapped` cabled to the next rail's leaf; `pfc` no lossless class (trust pcp); `lossy` counters of loss.
    """
    built: list[list[RoceFunction]] = []
    for number in range(nodes):
        rails = [rail(number, k) for k in range(RAILS)]
        if bad_rail is not None and number == nodes - 1:
            rails[bad_rail] = spoiled(rails[bad_rail], fault)
        built.append(rails)
    made = [server(number, rails) for number, rails in enumerate(built)]
    if bad_rail is not None and fault == "lossy":
        made[-1] = with_loss(made[-1], built[-1][bad_rail])
    swapped = bad_rail if fault == "swapped" else None
    return met(Fabric(nodes=tuple(made), links=_links(built, swapped), created="2026-03-01T12:00:05Z"))


def eight_rail_bad() -> Fabric:
    """Rail 5 of server-002 trained to half of its PCIe lanes: link up at full speed, half of the bandwidth (7 P34)."""
    return eight_rail_servers(bad_rail=BAD_RAIL)


def eight_rail_swapped() -> Fabric:
    """Rails 5 and 6 of server-002 are cabled to each other's leaf (8.2)."""
    return eight_rail_servers(bad_rail=BAD_RAIL, fault="swapped")


def rail(node: int, k: int) -> RoceFunction:
    """The NIC of rail k: its own chip, 400 Gbit/s, Gen5 x16, subnet 10.1.k.0/24."""
    chip = CHIP + (node << 16) + (k << 8)
    return RoceFunction(
        hca=f"mlx5_{k}",
        netdev=f"enp{BUSES[k] + 4}s0np0",
        pci=f"0000:{BUSES[k] + 4:02x}:00.0",
        chip=chip,
        guid=chip,
        connector="p0",
        upstream=nic_upstream(k),
        gbps=400,
        width=16,
        mtu=9000,
        numa=numa(k),
        ips=(f"10.{1 + node // 250}.{k}.{1 + node % 250}",),
        board="MT_0000000838",
        lanes=4,
        qos=lossless(),
        altnames=(f"rail{k}",),
        persistence="/etc/netplan/60-rails.yaml",
    )


def numa(k: int) -> int:
    return k // 4


def chain(k: int) -> tuple[str, str, str, str]:
    """The bridges of switch k: root port, upstream port, downstream port of the GPU, and of the NIC."""
    bus = BUSES[k]
    up, gpu, nic = SWITCH_PORTS
    return f"0000:{bus:02x}:01.0", f"0000:{bus + 1:02x}:{up}", f"0000:{bus + 2:02x}:{gpu}", f"0000:{bus + 2:02x}:{nic}"


def nic_upstream(k: int) -> tuple[str, ...]:
    root, up, _gpu, nic = chain(k)
    return root, up, nic


def spoiled(one: RoceFunction, fault: Fault) -> RoceFunction:
    """The same rail with its fault."""
    if fault == "pcie":
        return replace(one, width=8)
    if fault == "speed":
        return replace(one, gbps=100)
    if fault == "mtu":
        return replace(one, mtu=1500)
    if fault == "down":
        return replace(one, up=False)
    if fault == "pfc":
        return replace(one, qos=lossless().model_copy(update={"trust": "pcp", "pfc": (False,) * 8}))
    return one


def with_loss(node: Node, one: RoceFunction) -> Node:
    """The node watched for 10 s under load, its rail losing packets as in 7 P36."""
    assert isinstance(node.counters, tuple)
    loss = {"packet_seq_err": 4830, "out_of_sequence": 5057, "roce_adp_retrans": 498}
    lossy = Counters(subject=f"{one.hca}/1", source="hw", values=loss, deltas=loss, names=27)
    kept = (found for found in node.counters if (found.subject, found.source) != (lossy.subject, "hw"))
    return node.model_copy(update={"counters": (*kept, lossy), "watched_s": 10.0})


def server(number: int, rails: list[RoceFunction]) -> Node:
    """One server with everything around its NICs; GPU k shares a switch with rail k."""
    name = f"server-{number + 1:03d}"
    return Node(
        name=name,
        target=f"root@{name}",
        hcas=tuple(hca_of(one) for one in rails),
        netdevs=_netdevs(number, rails),
        routes=_routes(number, rails),
        gpus=tuple(gpu(number, k) for k in range(RAILS)),
        host=server_host(name, number),
        container=Container(kind="none"),
        rules=usual_rules(),
        neighbours=(Neighbour(ip="10.0.255.254", netdev="eno1", mac="b0:19:21:00:00:02", state="reachable"),),
        pcie=by_address(function for k, one in enumerate(rails) for function in _functions(k, one)),
        counters=tuple(counter for one in rails for counter in counters_of(one)),
        cages=tuple(Cage(id=f"{guid_text(one.chip)}/p0", hcas=(one.hca,), by=CAGE_EVIDENCE) for one in rails),
        nccl_gids=tuple(choice_of(one) for one in rails if one.up),
        gpu_paths=tuple(
            GpuPath(gpu=g, hca=f"mlx5_{k}", path="PIX" if g == k else "NODE" if numa(g) == numa(k) else "SYS")
            for g in range(RAILS)
            for k in range(RAILS)
        ),
        clock_offset_s=0.0002,
    )


def _netdevs(number: int, rails: list[RoceFunction]) -> tuple[Netdev, ...]:
    manage = plain_netdev(
        "eno1",
        2,
        mac=f"3c:ec:ef:00:{number >> 8:02x}:{number & 255:02x}",
        ip=f"10.0.{number // 250}.{1 + number % 250}",
        prefix=16,
        mbps=25_000,
        driver="ice",
        pci="0000:04:00.0",
    )
    return (loopback(), manage, *(netdev_of(one, index) for index, one in enumerate(rails, start=3)))


def _routes(number: int, rails: list[RoceFunction]) -> tuple[Route, ...]:
    source = f"10.0.{number // 250}.{1 + number % 250}"
    return (
        Route(destination="default", netdev="eno1", gateway="10.0.255.254", source=source),
        Route(destination="10.0.0.0/16", netdev="eno1", source=source),
        *(
            Route(destination=f"{ip.rsplit('.', 1)[0]}.0/24", netdev=one.netdev, source=ip)
            for one in rails
            if one.up
            for ip in one.ips
        ),
    )


def _functions(k: int, one: RoceFunction) -> tuple[PcieFunction, ...]:
    """The switch of rail k with its ports, the NIC and the GPU."""
    root, up, gpu_port, nic_port = chain(k)
    node = numa(k)
    graphics = PcieFunction(
        address=gpu_pci(k),
        vendor="0x10de",
        device="0x2330",
        pci_class="0x030200",
        driver="nvidia",
        current_speed_gts=32.0,
        max_speed_gts=32.0,
        current_width=16,
        max_width=16,
        numa_node=node,
        upstream=(root, up, gpu_port),
    )
    return (
        bridge(root, (), 16, numa=node),
        bridge(up, (root,), 16, numa=node),
        bridge(gpu_port, (root, up), 16, numa=node),
        bridge(nic_port, (root, up), one.width, numa=node, max_width=16),
        pcie_of(one, max_width=16),
        graphics,
    )


def gpu_pci(k: int) -> str:
    return f"0000:{BUSES[k] + 3:02x}:00.0"


def gpu(number: int, k: int) -> Gpu:
    """An H100 at rest; GPUDirect by DMA-BUF works on these."""
    return Gpu(
        index=k,
        name="NVIDIA H100 80GB HBM3",
        uuid=f"GPU-5b5b0000-0000-0000-{number:04x}-00000000000{k}",
        pci=gpu_pci(k),
        compute_capability="9.0",
        memory_bytes=80 * GIB,
        processes=(),
        tenants=(),
        sm_clock_mhz=345,
        sm_clock_max_mhz=1980,
        sm_clock_cap_mhz=1980,
        power_w=70.0,
        temperature_c=33,
        utilization_percent=0,
        throttle_reasons=(),
        integrated=False,
        c2c=False,
        gpudirect_rdma=True,
        dma_buf=True,
    )


def server_host(name: str, number: int) -> Host:
    """The operating system of a server; nvidia_peermem loaded."""
    return Host(
        hostname=name,
        kernel="6.8.0-60-generic",
        os="Ubuntu 22.04.5 LTS",
        arch="x86_64",
        cpus=224,
        python="3.10.12",
        machine_id=f"5b5b000000000000000000000000{number:04x}",
        boot_id=f"5b5b0000-0000-4000-8000-00000000{number:04x}",
        memory_total=2048 * GIB,
        memory_available=1990 * GIB,
        memlock=-1,
        shm_bytes=1024 * GIB,
        nvidia_driver="580.95.05",
        infiniband_devices=("rdma_cm", *(f"uverbs{k}" for k in range(RAILS))),
        libibverbs="/usr/lib/x86_64-linux-gnu/libibverbs.so.1.14.39.0",
        torch="2.9.0",
        product="Invented 8-GPU server",
        bios="2.3 05/01/2025",
        governor="performance",
        iommu="passthrough",
        modules=("ib_core", "ib_uverbs", "mlx5_core", "mlx5_ib", "nvidia", "nvidia_peermem", "nvidia_uvm", "rdma_cm"),
        ibverbs_providers=("libmlx5-rdmav34.so",),
        libnccl=(Library(path="/usr/lib/x86_64-linux-gnu/libnccl.so.2", version="2.30.7+cuda12.9", sha256="5b" * 32),),
        nccl_plugins=(),
        nccl_conf=(),
        firewall="none seen",
        ip_forward=False,
        hotplug_armed=False,
        uptime_s=1_000_000.0,
        clock=1_772_366_400.0,
        kernel_log=(),
        host_network=True,
    )


def _links(nodes: list[list[RoceFunction]], swapped: int | None) -> tuple[Link, ...]:
    """Every port hears those on its leaf. Above two nodes only neighbours are listed: one link less than nodes each.

    With `swapped`, that rail of the last node and the next one change leaves.
    """
    leaves = [[(f"server-{number + 1:03d}", rails[k]) for number, rails in enumerate(nodes)] for k in range(RAILS)]
    if swapped is not None:
        other = (swapped + 1) % RAILS
        leaves[swapped][-1], leaves[other][-1] = leaves[other][-1], leaves[swapped][-1]
    up = [[member for member in leaf if member[1].up] for leaf in leaves]
    if len(nodes) == 2:
        return tuple(link for leaf in up for link in segment_links(leaf))
    return tuple(proven(a, b, "segment") for leaf in up for a, b in pairwise(leaf))
