"""Fabrics for tests: small builders here, and whole recorded fabrics in the modules beside.

Builders (this module): `node`, `netdev`, `hca`, `link`, `host` give every field a plain value and claim nothing real.

Recorded fabrics: documents as a scan of such nodes gives them, every fact read, each number with its source or
marked as invented. `recorded.RECORDED` has them by name, `recorded.HEALTHY` names those of which no check may say
error or warning; `oddities.ODDITIES` are healthy ones that look ill. They are functions, made afresh at each call:

    from tests.fabrics.spark import spark_pair, spark_one_cable
    from tests.fabrics.servers import eight_rail_servers
    from tests.fabrics.altering import changed, without

    spark_pair("one", mtu=1500)                          # one cable, both ends at 1500
    spark_pair(narrow=1, renamed=True)                   # spark-b's second PCIe controller at x2, mlx5_0..3
    eight_rail_servers(1000)                             # for growth and time
    eight_rail_servers(bad_rail=5, fault="lossy")
    changed(spark_one_cable(), "spark-b", "netdev", "enp1s0f0np0", mtu=1500)   # nearly has it: one fact altered
    changed(spark_one_cable(), "*", "counters", "rocep1s0f0/1:hw", deltas={"out_of_sequence": 9})

Nodes are called spark-a, spark-b, ... and server-001, server-002, ...; a test of a check takes a fabric that has the
fault and, with `changed`, one that nearly has it.
"""

from __future__ import annotations

from collections.abc import Sequence

from fabricdoc.model.documents import Fact, Unknown
from fabricdoc.model.fabric import (
    Address,
    Container,
    Endpoint,
    Fabric,
    Gid,
    Hca,
    Host,
    Link,
    LinkProof,
    Netdev,
    Node,
    Port,
)

NOT_READ = Unknown(unknown="not read in this test")


def netdev(
    name: str, *, mac: str = "02:00:00:00:00:00", ip: str | None = None, mtu: int = 9000, up: bool = True
) -> Netdev:
    """A netdev with at most one IPv4 /24 address."""
    addresses = (Address(ip=ip, prefix=24, family="ipv4"),) if ip else ()
    return Netdev(
        name=name,
        ifindex=2,
        mac=mac,
        mtu=mtu,
        carrier=up,
        operstate="up" if up else "down",
        speed_mbps=10000,
        carrier_changes=2,
        driver="veth",
        pci=NOT_READ,
        phys_port_name=NOT_READ,
        kind="veth",
        addresses=addresses,
    )


def hca(name: str, of: str, *, ip: str = "10.0.0.1", state: str = "ACTIVE") -> Hca:
    """An HCA whose single port sits on netdev `of`, with one IPv4 RoCE v2 GID at index 3."""
    gid = Gid(index=3, gid=f"::ffff:{ip}", type="RoCE v2", netdev=of, ipv4=ip)
    port = Port(
        number=1,
        state=state,
        phys_state="LinkUp",
        rate_gbps=200.0,
        link_layer="Ethernet",
        active_mtu=4096,
        netdev=of,
        gids=(gid,),
    )
    return Hca(
        name=name,
        driver="mlx5_core",
        firmware="28.45.4028",
        node_guid=NOT_READ,
        sys_image_guid=NOT_READ,
        board_id=NOT_READ,
        pci=NOT_READ,
        ports=(port,),
    )


def host(hostname: str = "alpha") -> Host:
    """A host with the facts that fingerprints use."""
    return Host(
        hostname=hostname,
        kernel="6.8.0",
        os="Test OS",
        arch="x86_64",
        cpus=2,
        python="3.11.7",
        machine_id="m",
        boot_id="b",
        memory_total=1 << 34,
        memory_available=1 << 33,
        memlock=-1,
        shm_bytes=1 << 30,
        nvidia_driver=NOT_READ,
        infiniband_devices=(),
        libibverbs=NOT_READ,
        torch="2.13.0",
    )


def node(
    name: str,
    *,
    netdevs: Sequence[Netdev] = (),
    hcas: Sequence[Hca] = (),
    target: str = "local",
    gpus: Fact[tuple[()]] = (),
) -> Node:
    """A node with the given ports."""
    return Node(
        name=name,
        target=target,
        hcas=tuple(hcas),
        netdevs=tuple(netdevs),
        routes=(),
        gpus=gpus,
        host=host(name),
        container=Container(kind="none"),
    )


def link(
    a: tuple[str, str, str | None], b: tuple[str, str, str | None], *, kind: str = "cable", hca: bool = False
) -> Link:
    """A link between (node, netdev, ip) ends."""
    ends = [
        Endpoint(node=n, netdev=d, mac="02:00:00:00:00:00", ip=ip, hca=f"hca-{d}" if hca else None)
        for n, d, ip in (a, b)
    ]
    proof = LinkProof(method="beacon", at="2026-01-01T00:00:00Z", frames_a_to_b=3, frames_b_to_a=3)
    return Link.model_validate({"a": ends[0], "b": ends[1], "kind": kind, "proof": proof})


def crossed_pair() -> Fabric:
    """The lab's shape: two nodes, two rails, crossed."""
    alpha = node("alpha", netdevs=[netdev("p0", ip="10.77.0.1"), netdev("p1", ip="10.77.1.1")])
    beta = node("beta", netdevs=[netdev("p0", ip="10.77.1.2"), netdev("p1", ip="10.77.0.2")])
    links = (
        link(("alpha", "p0", "10.77.0.1"), ("beta", "p1", "10.77.0.2")),
        link(("alpha", "p1", "10.77.1.1"), ("beta", "p0", "10.77.1.2")),
    )
    return Fabric(nodes=(alpha, beta), links=links)
