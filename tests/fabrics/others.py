"""Nodes that are no cluster: one seen from inside a container, a laptop, a CI machine. All values are invented."""

from __future__ import annotations

from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Container, Fabric, GidChoice, Hca, Host, Netdev, Node, Route
from tests.fabrics.parts import loopback, plain_netdev, usual_rules
from tests.fabrics.spark import spark_one_cable

ELSEWHERE = Unknown(unknown="its interface is in another network namespace")
NO_NVML = Unknown(unknown="libnvidia-ml.so.1 can't be loaded")
NO_VERBS = Unknown(unknown="libibverbs.so.1 can't be loaded: cannot open shared object file")
LINKS_NOT_ASKED = Unknown(unknown="not asked")
ZERO = "0000:0000:0000:0000:0000:0000:0000:0000"
GIB = 1 << 30


def container_node(*, host_network: bool = False, device_files: bool = False) -> Fabric:
    """A Spark seen from inside a Docker container that a user started with --gpus all.

    As it comes: a bridged network (GIDs and interfaces are elsewhere: 7 P18), no /dev/infiniband (P15), memlock
    8192 kB (P17), /dev/shm of 64 MB. `host_network` is --net host, `device_files` is --device /dev/infiniband.
    """
    outside = spark_one_cable().nodes[0]
    assert isinstance(outside.hcas, tuple) and isinstance(outside.netdevs, tuple)
    eth0 = plain_netdev("eth0", 21, mac="02:42:ac:11:00:02", ip="172.17.0.2", prefix=16, kind="veth", mbps=10_000)
    bridged = {
        "hcas": tuple(_hidden(hca) for hca in outside.hcas),
        "netdevs": (loopback(), eth0),
        "routes": (
            Route(destination="default", netdev="eth0", gateway="172.17.0.1"),
            Route(destination="172.17.0.0/16", netdev="eth0", source="172.17.0.2"),
        ),
        "neighbours": (),
        "counters": (),
        "cages": (),
        "nccl_gids": tuple(
            GidChoice(hca=choice.hca, port=1, index=0, gid=ZERO, why="no IPv4: index 0 stays, an empty slot")
            for choice in outside.nccl_gids
        ),
    }
    devices = outside.host.infiniband_devices if device_files else ()
    inside = outside.host.model_copy(
        update={
            "hostname": "3f9c2b7e5a1d",
            "infiniband_devices": devices,
            "memlock": 8192 * 1024,
            "shm_bytes": 64 << 20,
            "hotplug_armed": Unknown(unknown="/etc/nvidia is not the host's in this container"),
            "host_network": host_network,
        }
    )
    kept = {} if host_network else bridged
    node = outside.model_copy(
        update={
            "name": "container",
            "target": "local",
            "host": inside,
            "container": Container(kind="docker", evidence="/.dockerenv"),
            **kept,
        }
    )
    return Fabric(nodes=(node,), links=LINKS_NOT_ASKED, created="2026-03-01T12:00:05Z")


def _hidden(hca: Hca) -> Hca:
    """The HCA in a network namespace without its interface: sysfs shows the port, but no netdev and no GID."""
    ports = tuple(port.model_copy(update={"netdev": ELSEWHERE, "gids": ()}) for port in hca.ports)
    return hca.model_copy(update={"ports": ports})


def laptop() -> Fabric:
    """A laptop: Wi-Fi up, the wired port unplugged, Docker, no RDMA, no NVIDIA GPU."""
    wifi = plain_netdev(
        "wlp0s20f3", 3, mac="a4:6b:b6:00:00:03", ip="192.168.1.23", driver="iwlwifi", pci="0000:00:14.3"
    )
    wired = plain_netdev("enp0s31f6", 2, mac="a4:6b:b6:00:00:02", up=False, driver="e1000e", pci="0000:00:1f.6")
    docker = plain_netdev("docker0", 4, mac="02:42:5e:00:00:04", ip="172.17.0.1", prefix=16, kind="bridge")
    pair = plain_netdev("veth1a2b3c4", 6, mac="5e:00:00:00:00:06", kind="veth", master="docker0", mbps=10_000)
    routes = (
        Route(destination="default", netdev="wlp0s20f3", gateway="192.168.1.1", source="192.168.1.23"),
        Route(destination="192.168.1.0/24", netdev="wlp0s20f3", source="192.168.1.23"),
        Route(destination="172.17.0.0/16", netdev="docker0", source="172.17.0.1"),
    )
    return _alone("laptop", (loopback(), wired, wifi, docker, pair), routes, Container(kind="none"), memlock=8 << 20)


def ci_machine() -> Fabric:
    """A hosted CI machine: one virtual port, no HCA, no GPU, in a container of the CI's own."""
    eth0 = plain_netdev("eth0", 2, mac="00:0d:3a:00:00:02", ip="10.1.0.4", prefix=20, driver="hv_netvsc", mbps=50_000)
    routes = (
        Route(destination="default", netdev="eth0", gateway="10.1.0.1", source="10.1.0.4"),
        Route(destination="10.1.0.0/20", netdev="eth0", source="10.1.0.4"),
    )
    container = Container(kind="docker", evidence="/.dockerenv")
    return _alone("ci", (loopback(), eth0), routes, container, memlock=64 << 10)


def _alone(
    name: str, netdevs: tuple[Netdev, ...], routes: tuple[Route, ...], container: Container, *, memlock: int
) -> Fabric:
    """A node without HCA and GPU, in a fabric of its own."""
    node = Node(
        name=name,
        target="local",
        hcas=(),
        netdevs=netdevs,
        routes=routes,
        gpus=(),
        host=_plain_host(name, memlock),
        container=container,
        rules=usual_rules(),
        neighbours=(),
        pcie=(),
        counters=(),
    )
    return Fabric(nodes=(node,), links=LINKS_NOT_ASKED, created="2026-03-01T12:00:05Z")


def _plain_host(name: str, memlock: int) -> Host:
    return Host(
        hostname=name,
        kernel="6.8.0-60-generic",
        os="Ubuntu 24.04.3 LTS",
        arch="x86_64",
        cpus=8,
        python="3.12.3",
        machine_id="5c5c0000000000000000000000000001",
        boot_id="5c5c0000-0000-4000-8000-000000000001",
        memory_total=16 * GIB,
        memory_available=9 * GIB,
        memlock=memlock,
        shm_bytes=64 << 20,
        nvidia_driver=Unknown(unknown="no NVIDIA driver is loaded"),
        infiniband_devices=(),
        libibverbs=NO_VERBS,
        torch=Unknown(unknown="no package torch for this python"),
        product=Unknown(unknown="not told"),
        bios=Unknown(unknown="not told"),
        governor="powersave",
        iommu="off",
        modules=(),
        ibverbs_providers=(),
        libnccl=(),
        nccl_plugins=(),
        nccl_conf=(),
        firewall=Unknown(unknown="needs root"),
        ip_forward=True,
        hotplug_armed=False,
        uptime_s=3600.0,
        clock=1_772_366_400.0,
        kernel_log=Unknown(unknown="/dev/kmsg: Operation not permitted"),
        host_network=True,
    )
