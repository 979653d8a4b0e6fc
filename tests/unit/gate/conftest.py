"""A healthy crossed pair and the preset measured on it; each test changes one thing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import (
    Address,
    Container,
    Endpoint,
    Fabric,
    Gpu,
    Hca,
    Host,
    Library,
    Link,
    LinkProof,
    Netdev,
    Node,
    Port,
)
from fabricdoc.model.preset import Fingerprint, Line, NodePreset, NodePrint, PortPrint, Preset

NO = Unknown(unknown="not looked at")
PORTS = ("enp1s0f0np0", "enp1s0f1np1")
RAILS = {"alpha": (0, 1), "beta": (1, 0)}
PEERS = {
    "alpha/enp1s0f0np0": "beta/enp1s0f1np1",
    "alpha/enp1s0f1np1": "beta/enp1s0f0np0",
    "beta/enp1s0f0np0": "alpha/enp1s0f1np1",
    "beta/enp1s0f1np1": "alpha/enp1s0f0np0",
}


def netdev(node: str, number: int) -> Netdev:
    order = list(RAILS).index(node)
    return Netdev(
        name=PORTS[number],
        ifindex=number + 2,
        mac=f"02:00:00:00:0{order}:0{number}",
        mtu=9000,
        carrier=True,
        operstate="up",
        speed_mbps=200000,
        carrier_changes=1,
        driver="mlx5_core",
        pci="0000:01:00.0",
        phys_port_name=NO,
        addresses=(Address(ip=f"10.77.{RAILS[node][number]}.{order + 1}", prefix=24, family="ipv4"),),
    )


def hca(number: int) -> Hca:
    port = Port(
        number=1,
        state="ACTIVE",
        phys_state="LinkUp",
        rate_gbps=200.0,
        link_layer="Ethernet",
        active_mtu=4096,
        netdev=PORTS[number],
        gids=(),
    )
    return Hca(
        name=f"rocep1s0f{number}",
        driver=NO,
        firmware=NO,
        node_guid=NO,
        sys_image_guid=NO,
        board_id=NO,
        pci=NO,
        ports=(port,),
    )


def make_node(name: str) -> Node:
    facts: dict[str, Any] = {field: NO for field in Host.model_fields if field != "environment"}
    facts |= {"hostname": f"spark-{name}", "kernel": "6.11.0", "torch": "2.13.0", "nvidia_driver": "580.95"}
    facts["libnccl"] = (Library(path="/opt/torch/nvidia/nccl/lib/libnccl.so.2", version="2.28.9"),)
    gpu = Gpu(
        index=0,
        name="NVIDIA GB10",
        uuid=f"GPU-{name}",
        pci=NO,
        compute_capability="12.1",
        memory_bytes=NO,
        processes=(),
    )
    return Node(
        name=name,
        target=name,
        hcas=(hca(0), hca(1)),
        netdevs=(netdev(name, 0), netdev(name, 1)),
        routes=(),
        gpus=(gpu,),
        host=Host(**facts),
        container=Container(kind="none"),
    )


def endpoint(place: str) -> Endpoint:
    node, _, port = place.partition("/")
    return Endpoint(node=node, netdev=port, mac="02:00:00:00:00:00")


def make_link(a: str, b: str, kind: Any = "cable") -> Link:
    proof = LinkProof(method="beacon", at="2026-01-01T00:00:00Z", frames_a_to_b=3, frames_b_to_a=3)
    return Link(a=endpoint(a), b=endpoint(b), kind=kind, proof=proof)


def node_print(name: str) -> NodePrint:
    ports = tuple(
        PortPrint(
            netdev=PORTS[number],
            hca=f"rocep1s0f{number}",
            mac=netdev(name, number).mac,
            mtu=9000,
            speed_mbps=200000,
            addresses=(f"10.77.{RAILS[name][number]}.{list(RAILS).index(name) + 1}/24",),
            peer=PEERS[f"{name}/{PORTS[number]}"],
        )
        for number in (0, 1)
    )
    return NodePrint(
        name=name,
        hostname=f"spark-{name}",
        kernel="6.11.0",
        torch="2.13.0+cu130",
        nccl="2.28.9",
        nvidia_driver="580.95",
        gpus=("NVIDIA GB10",),
        ports=ports,
    )


def make_preset() -> Preset:
    line = Line(name="NCCL_NET", value="IB", kind="placed", evidence="proof")
    return Preset(
        name="pair",
        run="r1",
        backend="nccl",
        objective="decode",
        profile="tiny",
        choice="base",
        reason="",
        exercised="",
        nodes=tuple(NodePreset(name=name, target=f"user@{name}", lines=(line,)) for name in RAILS),
        fingerprint=Fingerprint(nodes=tuple(node_print(name) for name in RAILS)),
    )


def make_fabric() -> Fabric:
    links = (
        make_link("alpha/enp1s0f0np0", "beta/enp1s0f1np1"),
        make_link("alpha/enp1s0f1np1", "beta/enp1s0f0np0"),
    )
    return Fabric(nodes=tuple(make_node(name) for name in RAILS), links=links)


class Change:
    """Copies of the healthy documents with one thing changed."""

    link = staticmethod(make_link)

    def node(self, fabric: Fabric, name: str, **fields: Any) -> Fabric:
        nodes = tuple(node.model_copy(update=fields) if node.name == name else node for node in fabric.nodes)
        return fabric.model_copy(update={"nodes": nodes})

    def host(self, fabric: Fabric, name: str, **fields: Any) -> Fabric:
        host = next(node.host for node in fabric.nodes if node.name == name)
        return self.node(fabric, name, host=host.model_copy(update=fields))

    def port(self, fabric: Fabric, place: str, **fields: Any) -> Fabric:
        name, _, port = place.partition("/")
        node = next(node for node in fabric.nodes if node.name == name)
        assert not isinstance(node.netdevs, Unknown)
        netdevs = tuple(one.model_copy(update=fields) if one.name == port else one for one in node.netdevs)
        return self.node(fabric, name, netdevs=netdevs)

    def printed(self, preset: Preset, name: str, **fields: Any) -> Preset:
        prints = tuple(
            node.model_copy(update=fields) if node.name == name else node for node in preset.fingerprint.nodes
        )
        return preset.model_copy(update={"fingerprint": Fingerprint(nodes=prints)})


@pytest.fixture
def preset() -> Preset:
    return make_preset()


@pytest.fixture
def fabric() -> Fabric:
    return make_fabric()


@pytest.fixture
def change() -> Change:
    return Change()


@pytest.fixture
def rebuild() -> Callable[[], tuple[Preset, Fabric]]:
    return lambda: (make_preset(), make_fabric())
