"""What a lab is: the spec a caller asks for, the nodes it gets, and the pure rules between them.

Names, addresses and cabling are decided here and nowhere else. No kernel call, no file, no process.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from fabricdoc.errors import UsageError

CABLINGS = ("straight", "crossed", "ring")
RING_PORTS = 2

NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,30}[A-Za-z0-9])?")
NODES = range(2, 33)
RAILS = range(1, 9)
MTU = range(576, 65536)
RATE_MBIT = range(1, 34001)  # tbf as pyroute2 writes it holds 32 bits of bytes per second: 34.3 Gbit/s


@dataclass(frozen=True)
class LabSpec:
    """The lab to build: node names, rails between them, and how ports meet rails.

    In a `ring` port 0 of every node meets port 1 of the next one, each cable a rail of its own; `rails` is then 2, the
    ports of a node. `rate_mbit` (Mbit/s, None: not limited) is a tbf on both ends of every link; `mtu` is in bytes.
    Raises UsageError for a name, count or value that can't be built.
    """

    nodes: tuple[str, ...] = ("alpha", "beta")
    rails: int = 2
    cabling: str = "crossed"
    rate_mbit: int | None = None
    mtu: int = 9000

    def __post_init__(self) -> None:
        """Refuse what can't be built; lists of names become tuples."""
        object.__setattr__(self, "nodes", tuple(self.nodes))
        for name in self.nodes:
            check_name(name, "node name")
        if len(set(self.nodes)) != len(self.nodes):
            raise UsageError("two lab nodes have the same name", fix="give every node its own name")
        if self.cabling not in CABLINGS:
            raise UsageError(f"unknown cabling {self.cabling!r}", fix="use straight, crossed or ring")
        _check_range("number of nodes", len(self.nodes), NODES)
        _check_range("number of rails", self.rails, RAILS)
        _check_range("MTU", self.mtu, MTU)
        if self.cabling == "ring" and (len(self.nodes) < 3 or self.rails != RING_PORTS):
            raise UsageError("a ring joins at least three nodes with two ports each", fix="name three nodes, 2 rails")
        if self.rate_mbit is not None:
            _check_range("rate in Mbit/s", self.rate_mbit, RATE_MBIT)


@dataclass(frozen=True)
class LabNode:
    """One node: the pid that holds its namespaces, and its netdevs and IPv4 addresses in port order.

    `target` is the transport's word for it ("netns:PID"). `notes` says what differs from a whole node.
    """

    name: str
    pid: int
    target: str
    ports: tuple[str, ...]
    addresses: tuple[str, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Lab:
    """An open lab. It stands as long as the process `holder` (a pid) does."""

    spec: LabSpec
    nodes: tuple[LabNode, ...]
    holder: int


@dataclass(frozen=True)
class LabState:
    """A lab that outlives its caller: who holds it (pid, start in clock ticks since boot, boot id)."""

    name: str
    pid: int
    start: int
    boot: str
    created: str
    spec: LabSpec
    nodes: tuple[LabNode, ...]


def check_name(name: object, what: str) -> str:
    """`name` if it is 1 to 32 ASCII letters, digits and inner hyphens (a host name, a file name); else UsageError."""
    if isinstance(name, str) and NAME.fullmatch(name):
        return name
    raise UsageError(f"{what} {name!r} can't be used", fix="use 1 to 32 letters, digits and inner hyphens")


def _check_range(what: str, value: object, allowed: range) -> None:
    if type(value) is not int or value not in allowed:
        raise UsageError(f"{what} {value!r} is not between {allowed[0]} and {allowed[-1]}", fix="give one that is")


def port_name(port: int) -> str:
    """The netdev name of a node's port (from 0), in the form a ConnectX function gets."""
    return f"enp1s0f{port}np{port}"


def rail_of(spec: LabSpec, node: int, port: int) -> int:
    """The rail (from 0) that a node's port carries.

    Crossed: odd nodes have them in reverse order. Ring: rail k is the cable from node k to the next one.
    """
    if spec.cabling == "ring":
        return node if port == 0 else (node - 1) % len(spec.nodes)
    return spec.rails - 1 - port if spec.cabling == "crossed" and node % 2 else port


def rails_of(spec: LabSpec) -> list[list[tuple[int, int]]]:
    """The (node, port) pairs that each rail joins, rail by rail."""
    count = len(spec.nodes) if spec.cabling == "ring" else spec.rails
    places = [(node, port) for node in range(len(spec.nodes)) for port in range(spec.rails)]
    return [[place for place in places if rail_of(spec, *place) == rail] for rail in range(count)]


def address(rail: int, node: int) -> str:
    """A node's IPv4 address on a rail; the subnet is 10.77.RAIL.0/24."""
    return f"10.77.{rail}.{node + 1}"


def lab_node(spec: LabSpec, index: int, pid: int, notes: tuple[str, ...] = ()) -> LabNode:
    """The node number `index` of a lab, held by `pid`."""
    ports = range(spec.rails)
    return LabNode(
        name=spec.nodes[index],
        pid=pid,
        target=f"netns:{pid}",
        ports=tuple(port_name(port) for port in ports),
        addresses=tuple(address(rail_of(spec, index, port), index) for port in ports),
        notes=notes,
    )
