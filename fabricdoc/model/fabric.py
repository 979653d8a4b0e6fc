"""The fabric document: nodes with their HCAs, netdevs, GPUs and host facts, the links between them, findings.

Field names and units are the contract with `probes`: the scan probe prints exactly the fields of `NodeReport`.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from fabricdoc.model.documents import Document, Fact, Frozen
from fabricdoc.model.findings import Finding


class Address(Frozen):
    """One IP address of a netdev; `scope` is the kernel's word (global, link, host)."""

    ip: str
    prefix: int
    family: Literal["ipv4", "ipv6"]
    scope: str = "global"


class Netdev(Frozen):
    """A network interface. `mtu` in bytes, `speed_mbps` in Mbit/s as the kernel reports it."""

    name: str
    ifindex: int
    mac: Fact[str]
    mtu: Fact[int]
    carrier: Fact[bool]
    operstate: Fact[str]
    speed_mbps: Fact[int]
    carrier_changes: Fact[int]
    driver: Fact[str]
    pci: Fact[str]
    phys_port_name: Fact[str]
    kind: str | None = None
    master: str | None = None
    altnames: tuple[str, ...] = ()
    addresses: tuple[Address, ...] = ()


class Gid(Frozen):
    """One filled slot of a port's GID table."""

    index: int
    gid: str
    type: Fact[str]
    netdev: Fact[str]
    ipv4: str | None = None
    link_local: bool = False


class Port(Frozen):
    """A port of an HCA. `rate_gbps` in Gbit/s, `active_mtu` in bytes (RDMA path MTU)."""

    number: int
    state: Fact[str]
    phys_state: Fact[str]
    rate_gbps: Fact[float]
    link_layer: Fact[str]
    active_mtu: Fact[int]
    netdev: Fact[str]
    gids: Fact[tuple[Gid, ...]]


class Hca(Frozen):
    """An RDMA device as the kernel names it."""

    name: str
    driver: Fact[str]
    firmware: Fact[str]
    node_guid: Fact[str]
    sys_image_guid: Fact[str]
    board_id: Fact[str]
    pci: Fact[str]
    ports: tuple[Port, ...] = ()


class Route(Frozen):
    """A main-table route; `destination` is CIDR or "default"."""

    destination: str
    netdev: str
    gateway: str | None = None
    source: str | None = None
    family: Literal["ipv4", "ipv6"] = "ipv4"


class Gpu(Frozen):
    """A GPU as NVML sees it. `memory_bytes` is unknown on unified-memory parts (GB10), which is a fact."""

    index: int
    name: Fact[str]
    uuid: Fact[str]
    pci: Fact[str]
    compute_capability: Fact[str]
    memory_bytes: Fact[int]
    processes: Fact[tuple[int, ...]]


class Host(Frozen):
    """The operating system as a process started here sees it. Memory and limits in bytes (-1 = unlimited).

    `torch` is the version this node's python would import (read from package metadata, never imported).
    """

    hostname: Fact[str]
    kernel: Fact[str]
    os: Fact[str]
    arch: Fact[str]
    cpus: Fact[int]
    python: Fact[str]
    machine_id: Fact[str]
    boot_id: Fact[str]
    memory_total: Fact[int]
    memory_available: Fact[int]
    memlock: Fact[int]
    shm_bytes: Fact[int]
    nvidia_driver: Fact[str]
    infiniband_devices: Fact[tuple[str, ...]]
    libibverbs: Fact[str]
    torch: Fact[str]
    environment: dict[str, str] = {}


class Container(Frozen):
    """Whether this is inside a container: `kind` is docker, podman, kubernetes, slurm, lxc or none."""

    kind: Fact[str]
    evidence: str = ""


class NodeReport(Frozen):
    """What the scan probe reports; `timings_ms` is the time each section took, in milliseconds."""

    hcas: Fact[tuple[Hca, ...]]
    netdevs: Fact[tuple[Netdev, ...]]
    routes: Fact[tuple[Route, ...]]
    gpus: Fact[tuple[Gpu, ...]]
    host: Host
    container: Container
    timings_ms: dict[str, float] = {}


class Node(NodeReport):
    """A node of the fabric: its unique name, how it was reached, and what the probe reported."""

    name: str
    target: str


class FailedNode(Frozen):
    """A node that could not be read, and what to do about it."""

    name: str
    target: str
    id: str
    message: str
    fix: str = ""


class Endpoint(Frozen):
    """One end of a link. `hca` is the RDMA device on that netdev, or null where there is none."""

    node: str
    netdev: str
    mac: str
    hca: str | None = None
    ip: str | None = None


class LinkProof(Frozen):
    """What proved a link, and when (UTC): beacon frames heard in each direction."""

    method: Literal["beacon", "rdma-ping"]
    at: str
    frames_a_to_b: int = 0
    frames_b_to_a: int = 0


class Link(Frozen):
    """What joins two ports: a cable (both ways, nobody else heard), a segment (several ports), or one-way."""

    a: Endpoint
    b: Endpoint
    kind: Literal["cable", "segment", "one-way", "loop"]
    proof: LinkProof


class Fabric(Document):
    """Nodes, links and findings; `scan --json` and `cables --json` are always this kind."""

    kind: ClassVar[str] = "fabric"

    nodes: tuple[Node, ...] = ()
    failed: tuple[FailedNode, ...] = ()
    links: Fact[tuple[Link, ...]] = ()
    findings: tuple[Finding, ...] = ()
