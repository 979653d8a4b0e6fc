"""Small variations of a healthy fabric that leave it healthy: each takes a fabric and gives another.

Orders, names, MTUs alike on all ends, what is installed, what could not be read, VFs that nobody was given. A fabric
that has had any of them, in any order, may not be told an error or a warning of.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Address, Fabric, Gid, Hca, KernelEvent, Library, Netdev, Node
from fabricdoc.model.pcie import PcieFunction
from tests.fabrics.altering import followed, set_facts
from tests.fabrics.parts import rdma_mtu

Variation = Callable[[Fabric], Fabric]
NO_NVML = Unknown(unknown="libnvidia-ml.so.1 can't be loaded")
NOT_PERMITTED = Unknown(unknown="/dev/kmsg: Operation not permitted")
NO_LINK = Unknown(unknown="a virtual function has no link of its own: see its physical function")
NO_NAME = Unknown(unknown="the driver gives none")
UNDER = "/usr/local/lib/python3.12/dist-packages/nvidia/nccl/lib/libnccl.so.2"
POWER = "mlx5_core 0000:01:00.0: mlx5_pcie_event:301:(pid 9): Detected insufficient power on the PCIe slot (27W)."


def on_every_node(alter: Callable[[Node], Node]) -> Variation:
    """A change of each node by itself; what follows from its facts is told anew."""

    def varied(fabric: Fabric) -> Fabric:
        return fabric.model_copy(update={"nodes": tuple(followed(alter(node), {}) for node in fabric.nodes)})

    return varied


def shuffled(seed: int) -> Variation:
    """Lists whose order nobody promised, each in another order: HCAs, interfaces, functions, routes, counters."""

    def alter(node: Node) -> Node:
        dice = random.Random(f"{seed} {node.name}")
        lists = {name: getattr(node, name) for name in ("hcas", "netdevs", "pcie", "routes", "counters", "neighbours")}
        mixed = {name: tuple(dice.sample(one, len(one))) for name, one in lists.items() if isinstance(one, tuple)}
        return set_facts(node, mixed)

    return on_every_node(alter)


def nodes_turned(fabric: Fabric) -> Fabric:
    """The nodes named in the opposite order; the links seen from their other ends."""
    links = fabric.links
    if isinstance(links, tuple):
        links = tuple(
            one.model_copy(update={"a": one.b, "b": one.a, "proof": _turned(one.proof)}) for one in reversed(links)
        )
    return fabric.model_copy(update={"nodes": fabric.nodes[::-1], "links": links})


def _turned(proof: Any) -> Any:
    return proof.model_copy(update={"frames_a_to_b": proof.frames_b_to_a, "frames_b_to_a": proof.frames_a_to_b})


def renamed(fabric: Fabric) -> Fabric:
    """HCAs called mlx5_0, mlx5_1, ... in the order of their PCI addresses, as images without the rename rule do."""
    return fabric.model_copy(
        update={
            "nodes": tuple(_renamed(node) for node in fabric.nodes),
            "links": Unknown(unknown="not asked") if isinstance(fabric.links, Unknown) else _ends_renamed(fabric),
        }
    )


def _names(node: Node) -> dict[str, str]:
    hcas = () if isinstance(node.hcas, Unknown) else node.hcas
    return {one.name: f"mlx5_{at}" for at, one in enumerate(sorted(hcas, key=lambda one: str(one.pci)))}


def _renamed(node: Node) -> Node:
    names = _names(node)

    def walk(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: walk(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [walk(inner) for inner in value]
        if isinstance(value, str):
            head, slash, tail = value.partition("/")
            return f"{names[head]}{slash}{tail}" if head in names else value
        return value

    return Node.model_validate(walk(json.loads(node.model_dump_json())))


def _ends_renamed(fabric: Fabric) -> tuple[Any, ...]:
    names = {node.name: _names(node) for node in fabric.nodes}
    assert isinstance(fabric.links, tuple)

    def end(one: Any) -> Any:
        return one.model_copy(update={"hca": names[one.node].get(one.hca, one.hca)}) if one.node in names else one

    return tuple(one.model_copy(update={"a": end(one.a), "b": end(one.b)}) for one in fabric.links)


def with_mtu(mtu: int) -> Variation:
    """One MTU on every fabric port of every node, with the RDMA MTU that the kernel makes of it."""

    def alter(node: Node) -> Node:
        if isinstance(node.hcas, Unknown) or isinstance(node.netdevs, Unknown):
            return node
        roce = {port.netdev for hca in node.hcas for port in hca.ports}
        ports = {"active_mtu": rdma_mtu(mtu)}
        hcas = tuple(set_facts(one, {"ports": tuple(set_facts(p, ports) for p in one.ports)}) for one in node.hcas)
        netdevs = tuple(set_facts(one, {"mtu": mtu}) if one.name in roce else one for one in node.netdevs)
        return set_facts(node, {"hcas": hcas, "netdevs": netdevs})

    return on_every_node(alter)


def of_host(**facts: Any) -> Variation:
    """These facts of the host on every node."""
    return on_every_node(lambda node: set_facts(node, {"host": set_facts(node.host, facts)}))


def of_node(**facts: Any) -> Variation:
    """These parts on every node."""
    return on_every_node(lambda node: set_facts(node, facts))


def vague_gpus(fabric: Fabric) -> Fabric:
    """GPUs of which an old driver tells nothing but their names."""

    def alter(node: Node) -> Node:
        if isinstance(node.gpus, Unknown):
            return node
        named = ("index", "name", "uuid")
        kept = [
            {name: getattr(gpu, name) if name in named else NO_NVML for name in type(gpu).model_fields}
            for gpu in node.gpus
        ]
        return set_facts(node, {"gpus": tuple(set_facts(gpu, one) for gpu, one in zip(node.gpus, kept, strict=True))})

    return on_every_node(alter)(fabric)


def with_virtual_functions(fabric: Fabric) -> Fabric:
    """Two VFs of each node's first HCA that nobody was given: down, without an address (spark facts 7 P45)."""
    return on_every_node(_with_virtual_functions)(fabric)


def _with_virtual_functions(node: Node) -> Node:
    if not isinstance(node.hcas, tuple) or not isinstance(node.netdevs, tuple) or not isinstance(node.pcie, tuple):
        return node
    owners = sorted((one for one in node.hcas if one.physical_function is None), key=lambda one: str(one.pci))
    if not owners or any(one.physical_function for one in node.hcas):
        return node
    owner = owners[0]
    hcas, netdevs, functions = list(node.hcas), list(node.netdevs), list(node.pcie)
    for at in (1, 2):
        address = f"{str(owner.pci)[:-4]}01.{at}"
        hcas.append(_virtual_hca(owner, at, address))
        netdevs += [_virtual_netdev(one, at, address) for one in node.netdevs if one.name == owner.ports[0].netdev]
        functions += [_virtual_function(one, address) for one in node.pcie if one.address == owner.pci]
    return set_facts(node, {"hcas": tuple(hcas), "netdevs": tuple(netdevs), "pcie": tuple(functions)})


def _virtual_hca(owner: Hca, at: int, address: str) -> Hca:
    idle = {"state": "DOWN", "phys_state": "Disabled", "netdev": f"{owner.ports[0].netdev}v{at}", "gids": ()}
    facts = {
        "name": f"{owner.name}v{at}",
        "pci": address,
        "physical_function": owner.pci,
        "node_guid": f"0000:0:0:{at}",
    }
    return set_facts(owner, {**facts, "ports": (set_facts(owner.ports[0], idle),)})


def _virtual_netdev(owner: Netdev, at: int, address: str) -> Netdev:
    facts = {"name": f"{owner.name}v{at}", "ifindex": owner.ifindex + 100 * at, "pci": address, "addresses": ()}
    idle = {"carrier": False, "operstate": "down", "speed_mbps": NO_LINK, "phys_port_name": NO_NAME, "altnames": ()}
    return set_facts(owner, {**facts, **idle, "mac": f"02:00:00:00:{owner.ifindex % 256:02x}:0{at}"})


def _virtual_function(owner: PcieFunction, address: str) -> PcieFunction:
    link = dict.fromkeys(("current_speed_gts", "max_speed_gts", "current_width", "max_width"), NO_LINK)
    return set_facts(owner, {"address": address, "physical_function": owner.address, "device": "0x101e", **link})


def library(version: str | Unknown) -> tuple[Library, ...]:
    """One NCCL, as torch's wheel brings it."""
    return (Library(path=UNDER, version=version, sha256="5c" * 32),)


def links_unknown(fabric: Fabric) -> Fabric:
    """Nobody proved a link: beacons were not allowed, or were not asked for."""
    return fabric.model_copy(update={"links": Unknown(unknown="not asked")})


def slot_power_message(node: Node) -> Node:
    """The mlx5 message of a slot with 27 W, which healthy Sparks print too (spark facts 7 P30); servers have it not."""
    said = (KernelEvent(id="mlx5-slot-power", count=2, last=POWER),)
    is_spark = "Spark" in str(node.host.product)
    return set_facts(node, {"host": set_facts(node.host, {"kernel_log": said})}) if is_spark else node


def with_ipv6(*, first: bool) -> Variation:
    """A global IPv6 address on every addressed fabric port, its GIDs before the IPv4 ones or behind them."""

    def alter(node: Node) -> Node:
        if isinstance(node.hcas, Unknown) or isinstance(node.netdevs, Unknown):
            return node
        base = 16 * ord(node.name[-1])
        numbers = {one.name: base + at for at, one in enumerate(node.hcas) if len(table_of(one)) > 2}
        own = {str(one.ports[0].netdev): f"fd00::{numbers[one.name]:x}" for one in node.hcas if one.name in numbers}
        hcas = tuple(_with_gids(one, numbers[one.name], first) if one.name in numbers else one for one in node.hcas)
        netdevs = tuple(
            set_facts(one, {"addresses": (*one.addresses, Address(ip=own[one.name], prefix=64, family="ipv6"))})
            if one.name in own
            else one
            for one in node.netdevs
        )
        return set_facts(node, {"hcas": hcas, "netdevs": netdevs})

    return on_every_node(alter)


def table_of(hca: Hca) -> tuple[Gid, ...]:
    """The GIDs of its port; none where they were not read."""
    return () if isinstance(hca.ports[0].gids, Unknown) else hca.ports[0].gids


def _with_gids(hca: Hca, number: int, first: bool) -> Hca:
    """Two more GIDs (RoCE v1 and v2) of fd00::NUMBER; all are numbered anew."""
    table = table_of(hca)
    text = f"fd00:0000:0000:0000:0000:0000:0000:{number:04x}"
    more = tuple(set_facts(one, {"gid": text, "ipv4": None, "link_local": False}) for one in table[:2])
    ordered = (*table[:2], *more, *table[2:]) if first else (*table, *more)
    gids = tuple(set_facts(one, {"index": at}) for at, one in enumerate(ordered))
    return set_facts(hca, {"ports": (set_facts(hca.ports[0], {"gids": gids}),)})


VARIATIONS: dict[str, Variation] = {
    **{f"shuffled-{seed}": shuffled(seed) for seed in range(4)},
    "nodes-turned": nodes_turned,
    "renamed": renamed,
    **{f"mtu-{mtu}": with_mtu(mtu) for mtu in (1500, 4200, 9000)},
    "no-nccl": of_host(libnccl=(), torch=Unknown(unknown="no package torch for this python")),
    "nccl-in-torch": of_host(libnccl=library("2.30.7+cuda13.0"), torch="2.11.0+cu130"),
    "nccl-of-unknown-version": of_host(libnccl=library(Unknown(unknown="no version string in the file"))),
    "nccl-not-read": of_host(libnccl=Unknown(unknown="time limit"), torch="2.11.0+cu130"),
    "no-gpu-facts": of_node(gpus=NO_NVML, gpu_paths=()),
    "no-gpus": of_node(gpus=(), gpu_paths=()),
    "vague-gpus": vague_gpus,
    "kernel-log-unreadable": of_host(kernel_log=NOT_PERMITTED),
    "kernel-log-with-slot-power": on_every_node(slot_power_message),
    "vfs": with_virtual_functions,
    "links-unknown": links_unknown,
    "no-counters": of_node(counters=Unknown(unknown="not read")),
    "no-pcie": of_node(pcie=Unknown(unknown="no lspci in the dump")),
    "no-routes": of_node(routes=Unknown(unknown="not read"), rules=Unknown(unknown="not read")),
    "ipv6-behind": with_ipv6(first=False),
    "ipv6-first": with_ipv6(first=True),
    "docker-filters-forward": of_host(firewall="nftables: 48 rules, policy drop in forward"),
    "just-booted": of_host(uptime_s=40.0),
    "up-for-a-year": of_host(uptime_s=3.2e7),
    "hotplug-disarmed": of_host(hotplug_armed=False),
    "powersave-unknown": of_host(governor=Unknown(unknown="no cpufreq"), iommu=Unknown(unknown="not told")),
}
