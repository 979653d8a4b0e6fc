"""What the proven links join: ports that hear one another, by cage, so that a cable is told from a switch.

Twins share a cable and hear both twins at its other end, so the cable of a DGX Spark makes four links; here it has two
ends with two ports each. No finding comes from here, and nothing is proven that a link does not prove.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from fabricdoc.checks.ports import hcas_of, netdevs_of
from fabricdoc.checks.remembered import remembered
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Hca, Netdev, Node, Port, PortKey
from fabricdoc.model.joining import Joining


class Attached(NamedTuple):
    """A port on a segment; `hca` and `port` are null where no RDMA device is on the interface."""

    node: Node
    netdev: Netdev
    hca: Hca | None
    port: Port | None

    def name(self) -> str:
        """NODE/NETDEV."""
        return f"{self.node.name}/{self.netdev.name}"


class End(NamedTuple):
    """The ports of one cage of one node on a segment (one port where no twin is known)."""

    node: Node
    cage: str
    ports: tuple[Attached, ...]


class Segment(NamedTuple):
    """Ports that hear one another, in the order of the fabric's nodes."""

    ends: tuple[End, ...]

    @property
    def is_cable(self) -> bool:
        """Whether one cable explains it: two ends, on two nodes."""
        return len(self.ends) == 2 and self.ends[0].node.name != self.ends[1].node.name

    def title(self) -> str:
        """The first ports of both ends of a cable: alpha/p0 - beta/p1."""
        return " - ".join(end.ports[0].name() for end in self.ends[:2])


@remembered
def segments_of(fabric: Fabric) -> tuple[Segment, ...]:
    """Every set of ports that proven links join; none where links are unknown. Near linear in links and ports."""
    if isinstance(fabric.links, Unknown) or not fabric.links:
        return ()
    groups = Joining[PortKey]()
    for link in fabric.links:
        if link.kind != "loop":
            groups.join(*link.ends)
    known = attached(fabric)
    found: dict[PortKey, list[Attached]] = defaultdict(list)
    for key, port in known.items():
        if key in groups.parents:
            found[groups.root(key)].append(port)
    return tuple(Segment(_ends(ports)) for ports in found.values() if len(ports) > 1)


@remembered
def attached(fabric: Fabric) -> dict[PortKey, Attached]:
    """Every interface of every node with the HCA port on it, by node and interface name."""
    return {(node.name, port.netdev.name): port for node in fabric.nodes for port in _of_node(node)}


@remembered
def cage_names(node: Node) -> dict[str, str]:
    """The cage of each HCA: as derived before, else by chip and connector number where both are known."""
    derived = {name: cage.id for cage in node.cages for name in cage.hcas}
    netdevs = {netdev.name: netdev for netdev in netdevs_of(node)}
    for hca in hcas_of(node):
        for port in hca.ports:
            netdev = netdevs.get(port.netdev) if isinstance(port.netdev, str) else None
            if netdev is not None and isinstance(netdev.phys_port_name, str) and isinstance(hca.sys_image_guid, str):
                derived.setdefault(hca.name, f"{hca.sys_image_guid}/{netdev.phys_port_name}")
    return derived


def _of_node(node: Node) -> Iterable[Attached]:
    on = {port.netdev: (hca, port) for hca in hcas_of(node) for port in hca.ports if isinstance(port.netdev, str)}
    for netdev in netdevs_of(node):
        hca, port = on.get(netdev.name, (None, None))
        yield Attached(node, netdev, hca, port)


def _ends(ports: list[Attached]) -> tuple[End, ...]:
    cages: dict[str, Mapping[str, str]] = {}
    ends: dict[tuple[str, str], list[Attached]] = defaultdict(list)
    for one in ports:
        if one.node.name not in cages:
            cages[one.node.name] = cage_names(one.node)
        cage = cages[one.node.name].get(one.hca.name, one.netdev.name) if one.hca else one.netdev.name
        ends[one.node.name, cage].append(one)
    return tuple(End(members[0].node, cage, tuple(members)) for (_node, cage), members in ends.items())
