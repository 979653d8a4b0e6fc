"""The fabric document: nodes with all that was read of them, the links between them, findings.

Field names and units are the contract with `probes`: the scan probe prints exactly the fields of `NodeReport`. What a
node is made of has modules of its own (`netdev`, `rdma`, `pcie`, `gpu`, `host`); their classes can be had from here.
"""

from typing import ClassVar, Literal

from fabricdoc.model.documents import NOT_READ, Document, Fact, Frozen
from fabricdoc.model.findings import Finding
from fabricdoc.model.gpu import Gpu, Tenant
from fabricdoc.model.host import ConfFile, Container, DeviceFile, Host, KernelEvent, Library, ServerImage
from fabricdoc.model.netdev import Address, Neighbour, Netdev, Qos, Route, Rule
from fabricdoc.model.pcie import PcieFunction
from fabricdoc.model.rdma import Counters, Gid, Hca, Port
from fabricdoc.model.selectors import Advice, Match, MatchedPort, NodeMatch, NodeSelectors, PortSet, Selectors

__all__ = [
    "Address", "Advice", "Cage", "ConfFile", "Container", "Counters", "DeviceFile", "Endpoint", "Fabric", "FailedNode",
    "Gid", "GidChoice", "Gpu", "GpuPath", "Hca", "Host", "KernelEvent", "Library", "Link", "LinkProof", "LldpNeighbour",
    "Match", "MatchedPort", "Neighbour", "Netdev", "Node", "NodeMatch", "NodeReport", "NodeSelectors", "PcieFunction",
    "Port", "PortSet", "Qos", "Route", "Rule", "Selectors", "ServerImage", "Tenant",
]  # fmt: skip


PortKey = tuple[str, str]
"""A port by the names of its node and its interface."""


class LldpNeighbour(Frozen):
    """What the machine at the other end of a port says of itself by LLDP; texts as sent, at most 255 characters each.

    `chassis` and `port` are ids (a MAC or a name), `bridge` says whether it calls itself a switch.
    """

    netdev: str
    chassis: str
    port: str
    system: str = ""
    port_description: str = ""
    bridge: bool = False


class NodeReport(Frozen):
    """What the scan probe reports; `timings_ms` is the time each section took, in milliseconds.

    `watched_s` is how long counters were watched (0: read once).
    """

    hcas: Fact[tuple[Hca, ...]]
    netdevs: Fact[tuple[Netdev, ...]]
    routes: Fact[tuple[Route, ...]]
    gpus: Fact[tuple[Gpu, ...]]
    host: Host
    container: Container
    rules: Fact[tuple[Rule, ...]] = NOT_READ
    neighbours: Fact[tuple[Neighbour, ...]] = NOT_READ
    pcie: Fact[tuple[PcieFunction, ...]] = NOT_READ
    counters: Fact[tuple[Counters, ...]] = NOT_READ
    lldp: Fact[tuple[LldpNeighbour, ...]] = NOT_READ
    watched_s: float = 0.0
    timings_ms: dict[str, float] = {}


class Cage(Frozen):
    """A physical connector and the HCAs that share it (twins), with the evidence that says so.

    `id` is unique on the node ("fc4c:ea03:00f9:4230/p0"); `by` names the facts used, strongest known first.
    """

    id: str
    hcas: tuple[str, ...]
    by: str


class GidChoice(Frozen):
    """The GID that NCCL takes on a port when NCCL_IB_GID_INDEX is unset (2.21 and later), and why it is that one."""

    hca: str
    port: int
    index: int
    gid: str
    why: str


class GpuPath(Frozen):
    """How far a GPU is from an HCA, in the words of `nvidia-smi topo -m`: PIX, PXB, PHB, NODE, SYS."""

    gpu: int
    hca: str
    path: str


class Node(NodeReport):
    """A node of the fabric: its unique name, how it was reached, what the probe reported, and what follows from it.

    `clock_offset_s` is the node's clock minus this machine's, known to within half of the time the question took.
    `image` is what the image holds that fabric.toml names for the node.
    """

    name: str
    target: str
    cages: tuple[Cage, ...] = ()
    nccl_gids: tuple[GidChoice, ...] = ()
    gpu_paths: tuple[GpuPath, ...] = ()
    clock_offset_s: Fact[float] = NOT_READ
    image: Fact[ServerImage] = NOT_READ


class FailedNode(Frozen):
    """A node that could not be read, or that failed while links were proven (then it is among the nodes too).

    `message` says why, `fix` what to do about it.
    """

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

    @property
    def key(self) -> PortKey:
        """The port by node and interface."""
        return self.node, self.netdev


class LinkProof(Frozen):
    """What proved a link, and when (UTC): frames, or RDMA messages, that arrived in each direction.

    Strongest first: `rdma-ping` (what NCCL needs), `beacon` (layer 2), `multicast` (link-local IPv6, where raw sockets
    are not allowed), `lldp` (what the neighbour says of itself), `ping` (weak: never proves a link alone). `detail` is
    one line of what was seen.
    """

    method: Literal["rdma-ping", "beacon", "multicast", "lldp", "ping"]
    at: str
    frames_a_to_b: int = 0
    frames_b_to_a: int = 0
    detail: str = ""


class Link(Frozen):
    """What joins two ports: a cable (both ways, nobody else heard), a segment (several ports), or one-way.

    `proof` is the strongest, `more_proofs` the others. `traits` say how it lies: `straight` or `crossed` (the two ends
    are the same, or another, cage or port name of their nodes), `ring` (its nodes form a ring), `twins` (it loops
    inside a chip between two HCAs of one cage). `rdma` says whether RDMA messages pass both ways over it, or why that
    is not known; a link where they do not joins nothing for NCCL.
    """

    a: Endpoint
    b: Endpoint
    kind: Literal["cable", "segment", "one-way", "loop"]
    proof: LinkProof
    more_proofs: tuple[LinkProof, ...] = ()
    traits: tuple[Literal["straight", "crossed", "ring", "twins"], ...] = ()
    rdma: Fact[bool] = NOT_READ

    @property
    def ends(self) -> tuple[PortKey, PortKey]:
        """Both ports, as it names them."""
        return self.a.key, self.b.key


class Fabric(Document):
    """Nodes, links and findings; `scan --json` and `cables --json` are always this kind.

    `selectors` follow from proven links; null where none was proven. `matches` are what values would take that the user
    asked about.
    """

    kind: ClassVar[str] = "fabric"

    nodes: tuple[Node, ...] = ()
    failed: tuple[FailedNode, ...] = ()
    links: Fact[tuple[Link, ...]] = ()
    findings: tuple[Finding, ...] = ()
    selectors: Selectors | None = None
    matches: tuple[Match, ...] = ()
