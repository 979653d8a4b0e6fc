"""Which single rail is the best one by what was read, and what ports lack that are on no rail.

The best single rail is what all rails together are held against. Facts choose it (width, speed, MTU), no measurement;
the other rails are measured alone beside it. Ports are named with what keeps them out, from the scan and the cable map.
"""

from __future__ import annotations

from collections.abc import Sequence

from fabricdoc.fabric import Rail, RailPort
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Link, Netdev, Node

Strength = tuple[float, float, float]


def best_first(rails: Sequence[Rail], fabric: Fabric) -> tuple[Rail, ...]:
    """The rails, the best single one first: by PCIe bandwidth, port speed and MTU of its weakest end; else as they are.

    What is not known of one end counts as nothing, so a rail that is known to be good goes before one that may be.
    """
    nodes = {node.name: node for node in fabric.nodes}
    strengths = [min(_strength(nodes[port.node], port) for port in rail.ports) for rail in rails]
    best = max(range(len(rails)), key=lambda at: (strengths[at], -at), default=0)
    return (*rails[best : best + 1], *rails[:best], *rails[best + 1 :])


def _strength(node: Node, port: RailPort) -> Strength:
    """(PCIe GT/s x lanes, Mbit/s, MTU in bytes) of a port, 0 for what is unknown."""
    netdev = next((one for one in _netdevs(node) if one.name == port.netdev), None)
    if netdev is None:
        return 0.0, 0.0, 0.0
    functions = () if isinstance(node.pcie, Unknown) else node.pcie
    function = next((one for one in functions if one.address == netdev.pci), None)
    width = _number(function.current_speed_gts) * _number(function.current_width) if function else 0.0
    return width, _number(netdev.speed_mbps), _number(netdev.mtu)


def _number(fact: object) -> float:
    return float(fact) if isinstance(fact, int | float) else 0.0


def _netdevs(node: Node) -> tuple[Netdev, ...]:
    return () if isinstance(node.netdevs, Unknown) else node.netdevs


def lacking(fabric: Fabric, rails: Sequence[Rail]) -> tuple[str, ...]:
    """Each RDMA-backed port that is on no rail, and each port of a link that is none, with what it lacks."""
    on_rails = {(port.node, port.netdev) for rail in rails for port in rail.ports}
    links = () if isinstance(fabric.links, Unknown) else fabric.links
    told = []
    for node in fabric.nodes:
        hcas = _hca_of(node)
        for netdev in _netdevs(node):
            key = (node.name, netdev.name)
            mine = [link for link in links if key in link.ends]
            if key not in on_rails and (netdev.name in hcas or mine):
                name = f"{node.name}/{netdev.name}" + (f" ({hcas[netdev.name]})" if netdev.name in hcas else "")
                told.append(f"{name}: {_lack(netdev, mine, fabric)}")
    return tuple(told)


def _hca_of(node: Node) -> dict[str, str]:
    hcas = () if isinstance(node.hcas, Unknown) else node.hcas
    return {port.netdev: hca.name for hca in hcas for port in hca.ports if isinstance(port.netdev, str)}


def _lack(netdev: Netdev, links: Sequence[Link], fabric: Fabric) -> str:
    """What keeps this port out, the first that is true."""
    if netdev.carrier is False:
        return "no cable, or its other end is off (no carrier)"
    if not any(address.family == "ipv4" for address in netdev.addresses):
        return "it has no IPv4 address" + ("" if links else ", and no link to a port of another node is proven")
    if isinstance(fabric.links, Unknown):
        return f"which port it meets is unknown: {fabric.links.unknown}"
    if not links:
        return "no link is proven: it meets none of these nodes, or what is between drops frames"
    if any(link.kind == "one-way" for link in links):
        return "frames pass one way only"
    if any(link.kind == "loop" for link in links):
        return "it meets a port of its own node"
    if any(link.rdma is False for link in links):
        return "RDMA messages do not pass over its link"
    return "its link does not reach every node"
