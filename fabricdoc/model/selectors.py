"""What each node sets so that NCCL and the libraries beside it use proven ports only, and what else matters here.

Part of the fabric document. Every variable follows from a proven link; which set is fastest is measured elsewhere.
"""

from typing import Literal

from fabricdoc.model.documents import NOT_READ, Fact, Frozen

SetName = Literal["one-port", "one-cable", "all-ports"]
Topic = Literal[
    "cross-nic", "merging", "subnet-routing", "device-order", "second-cable", "ring", "left-out", "bootstrap"
]


class PortSet(Frozen):
    """The variables of one node for one choice of its ports, in the order they are written.

    `one-port` is the least that reaches every peer, `one-cable` all HCAs of the first cabled cage (twins), `all-ports`
    every port with a proven peer. `hcas` are in the order of the rails; `netdevs` are the interfaces of the same ports.
    """

    name: SetName
    hcas: tuple[str, ...] = ()
    netdevs: tuple[str, ...] = ()
    variables: dict[str, str] = {}
    why: str = ""


class NodeSelectors(Frozen):
    """A node's sets, the smallest first; none where no port of it has a proven peer."""

    node: str
    sets: tuple[PortSet, ...] = ()


class Advice(Frozen):
    """Whether a setting matters on this fabric, and why; `variables` are the lines to set on every rank (or none)."""

    topic: Topic
    matters: bool
    why: str
    variables: dict[str, str] = {}


class MatchedPort(Frozen):
    """A port that a value takes on a node: the HCA and its verbs port, or (a list of interfaces) the interface alone.

    `peers` are the ports (NODE/NETDEV) of other nodes that it is proven to meet; none: no list should name it.
    """

    netdev: Fact[str] = NOT_READ
    hca: str | None = None
    port: int | None = None
    peers: Fact[tuple[str, ...]] = NOT_READ


class NodeMatch(Frozen):
    """What a value takes on one node, in NCCL's order; `remarks` say why that is less or more than it seems to name."""

    node: str
    ports: Fact[tuple[MatchedPort, ...]]
    remarks: tuple[str, ...] = ()


class Match(Frozen):
    """What a value of a variable of NCCL's would take on every node; `reading` is how NCCL reads it.

    `remarks` are about what the nodes take together: numbers that differ, ports that NCCL would pair and that do not
    meet.
    """

    variable: Literal["NCCL_IB_HCA", "NCCL_SOCKET_IFNAME"]
    value: str
    reading: str
    nodes: tuple[NodeMatch, ...] = ()
    remarks: tuple[str, ...] = ()


class Selectors(Frozen):
    """All of it: `master` is node 0's address for the rendezvous, `rails` the ports (NODE/NETDEV) that belong together.

    A rail here reaches every node. `advice` holds for all ranks alike.
    """

    master: Fact[str] = NOT_READ
    rails: tuple[tuple[str, ...], ...] = ()
    nodes: tuple[NodeSelectors, ...] = ()
    advice: tuple[Advice, ...] = ()
