"""The fingerprint of a preset that was made from a scan alone: the nodes as they were seen, and the listed ports.

Nothing ran, so which NCCL the server will load is unknown. Comparing is the gate's job.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Endpoint, Fabric, Netdev, Node
from fabricdoc.model.preset import Fingerprint, NodePrint, PortPrint
from fabricdoc.model.prints import hca_print

NOT_RUN = Unknown(unknown="nothing was run: the preset is from a scan")


def prints_of(fabric: Fabric, netdevs: Mapping[str, Sequence[str]]) -> Fingerprint:
    """The print of every node, with the ports named in `netdevs` by node."""
    return Fingerprint(nodes=tuple(_node(node, fabric, netdevs.get(node.name, ())) for node in fabric.nodes))


def _node(node: Node, fabric: Fabric, netdevs: Sequence[str]) -> NodePrint:
    host = node.host
    return NodePrint(
        name=node.name,
        hostname=host.hostname,
        kernel=host.kernel,
        torch=host.torch,
        nccl=NOT_RUN,
        nvidia_driver=host.nvidia_driver,
        gpus=_gpus(node),
        ports=tuple(_port(node, name, fabric) for name in sorted(netdevs)),
    )


def _gpus(node: Node) -> tuple[str, ...]:
    """UUIDs where all are known, else names."""
    gpus = () if isinstance(node.gpus, Unknown) else node.gpus
    uuids = [gpu.uuid for gpu in gpus if isinstance(gpu.uuid, str)]
    if uuids and len(uuids) == len(gpus):
        return tuple(uuids)
    return tuple(gpu.name for gpu in gpus if isinstance(gpu.name, str))


def _port(node: Node, name: str, fabric: Fabric) -> PortPrint:
    mine, peer = _met(node.name, name, fabric)
    netdev = _netdev(node, name)
    hca = mine.hca if mine is not None else None
    if netdev is None:
        lost = Unknown(unknown=f"{node.name} lists no interface {name}")
        return PortPrint(netdev=name, hca=hca, mac=lost, mtu=lost, speed_mbps=lost, peer=peer)
    told = [one for one in netdev.addresses if not (one.family == "ipv6" and one.ip.lower().startswith("fe80"))]
    return PortPrint(
        netdev=name,
        hca=hca,
        mac=netdev.mac,
        mtu=netdev.mtu,
        speed_mbps=netdev.speed_mbps,
        addresses=tuple(f"{one.ip}/{one.prefix}" for one in told),
        peer=peer,
        **hca_print(node, name)._asdict(),
    )


def _met(node: str, name: str, fabric: Fabric) -> tuple[Endpoint | None, str]:
    """The port's own end and the one of another node it meets, the first by name where it meets several."""
    links = () if isinstance(fabric.links, Unknown) else [link for link in fabric.links if link.a.node != link.b.node]
    ends = [pair for link in links for pair in ((link.a, link.b), (link.b, link.a)) if pair[0].key == (node, name)]
    if not ends:
        return None, ""
    mine, other = min(ends, key=lambda pair: f"{pair[1].node}/{pair[1].netdev}")
    return mine, f"{other.node}/{other.netdev}"


def _netdev(node: Node, name: str) -> Netdev | None:
    netdevs = () if isinstance(node.netdevs, Unknown) else node.netdevs
    return next((one for one in netdevs if one.name == name), None)
