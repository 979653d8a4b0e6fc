"""What must still be true for a preset to hold: the nodes as they were measured, and their linked ports.

Only gathers; comparing with a fabric of today is the gate's job. Ports are those netdevs that a proven link of the run
touches; a port that meets several (a segment) is held to the first of them by name. IPv6 link-local addresses are left
out, since they follow from the MAC.
"""

from __future__ import annotations

from collections.abc import Iterator

from fabricdoc.model.documents import NOT_READ, Fact, Unknown
from fabricdoc.model.fabric import Endpoint, Fabric, Netdev, Node, ServerImage
from fabricdoc.model.preset import Fingerprint, NodePrint, PortPrint
from fabricdoc.model.prints import HcaPrint, hca_print
from fabricdoc.model.run import NodeContext, Run


def fingerprint(run: Run, fabric: Fabric | None) -> Fingerprint:
    """The fingerprint of a run; facts of ports come from the fabric document scanned with it, else are unknown."""
    return Fingerprint(nodes=tuple(_node_print(node, run, fabric) for node in run.nodes))


def _node_print(node: NodeContext, run: Run, fabric: Fabric | None) -> NodePrint:
    facts = node.model_dump(exclude={"target", "python", "environment"})
    seen = _node(node.name, fabric)
    image: Fact[str] = seen.image.id if seen is not None and isinstance(seen.image, ServerImage) else NOT_READ
    more = {"ports": _ports(node.name, run, fabric), "image": image, "nccl_sha256": _nccl_hash(node.nccl, seen)}
    return NodePrint.model_validate(facts | more)


def _nccl_hash(version: Fact[str], node: Node | None) -> Fact[str]:
    """The hash of the one build of that version which a server there could load."""
    if node is None or isinstance(version, Unknown):
        return NOT_READ
    libraries = node.image.libnccl if isinstance(node.image, ServerImage) else node.host.libnccl
    if isinstance(libraries, Unknown):
        return libraries
    wanted = version.split("+")[0]
    mine = [one.sha256 for one in libraries if isinstance(one.version, str) and one.version.split("+")[0] == wanted]
    known = dict.fromkeys(one for one in mine if isinstance(one, str))
    if len(known) > 1:
        return Unknown(unknown=f"there are {len(known)} files of NCCL {version}")
    return next(iter(known), mine[0] if mine else NOT_READ)


def _node(name: str, fabric: Fabric | None) -> Node | None:
    return next((node for node in fabric.nodes if node.name == name), None) if fabric is not None else None


def ends_of(run: Run, node: str) -> Iterator[tuple[Endpoint, Endpoint]]:
    """Each end of a proven link that lies on that node, with the end it meets."""
    if isinstance(run.links, Unknown):
        return
    for link in run.links:
        for mine, other in ((link.a, link.b), (link.b, link.a)):
            if mine.node == node:
                yield mine, other


def _ports(node: str, run: Run, fabric: Fabric | None) -> tuple[PortPrint, ...]:
    ends: dict[str, Endpoint] = {}
    peers: dict[str, set[str]] = {}
    for mine, other in ends_of(run, node):
        ends.setdefault(mine.netdev, mine)
        peers.setdefault(mine.netdev, set()).add(f"{other.node}/{other.netdev}")
    return tuple(_port(ends[name], min(peers[name]), fabric) for name in sorted(ends))


def _port(end: Endpoint, peer: str, fabric: Fabric | None) -> PortPrint:
    netdev = _netdev(end, fabric)
    if isinstance(netdev, Unknown):
        return PortPrint(
            netdev=end.netdev, hca=end.hca, mac=end.mac or netdev, mtu=netdev, speed_mbps=netdev, peer=peer
        )
    return PortPrint(
        netdev=end.netdev,
        hca=end.hca,
        mac=netdev.mac,
        mtu=netdev.mtu,
        speed_mbps=netdev.speed_mbps,
        addresses=_addresses(netdev),
        peer=peer,
        **_hca(end, fabric)._asdict(),
    )


def _hca(end: Endpoint, fabric: Fabric | None) -> HcaPrint:
    node = _node(end.node, fabric)
    return HcaPrint() if node is None else hca_print(node, end.netdev)


def _netdev(end: Endpoint, fabric: Fabric | None) -> Netdev | Unknown:
    for node in fabric.nodes if fabric is not None else ():
        if node.name != end.node:
            continue
        if isinstance(node.netdevs, Unknown):
            return node.netdevs
        for netdev in node.netdevs:
            if netdev.name == end.netdev:
                return netdev
        return Unknown(unknown=f"the scan of {end.node} shows no {end.netdev}")
    return Unknown(unknown=f"no scan of {end.node} came with the run")


def _addresses(netdev: Netdev) -> tuple[str, ...]:
    return tuple(
        sorted(
            f"{address.ip}/{address.prefix}"
            for address in netdev.addresses
            if not (address.family == "ipv6" and address.scope == "link")
        )
    )
