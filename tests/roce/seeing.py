"""What a scan of the lab says, in the words tests ask for: findings about a port of a node, and facts by name."""

from __future__ import annotations

from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Hca, Link, Netdev, Node
from fabricdoc.model.findings import Finding


def found(fabric: Fabric, id: str, node: str, port: str = "") -> Finding:
    """The finding with this id about this node (and port of it); fails with all that was found otherwise."""
    fits = [one for one in fabric.findings if one.id == id and _is_about(one, node, port)]
    assert fits, f"no {id} about {node}/{port}; there is {told(fabric) or 'nothing'}"
    return fits[0]


def _is_about(finding: Finding, node: str, port: str) -> bool:
    own = [finding.subject, *(one.text for one in finding.evidence if one.file == node)]
    named = node in finding.subject or any(one.file == node for one in finding.evidence)
    return named and (not port or any(port in text for text in own))


def told(fabric: Fabric) -> list[tuple[str, str, str]]:
    """Severity, id and subject of every finding that is more than information."""
    return [(one.severity, one.id, one.subject) for one in fabric.findings if one.severity != "info"]


def wrong(fabric: Fabric) -> set[tuple[str, str]]:
    """Id and subject of every finding that is more than information: what a scene of faults must come to, no more."""
    return {(id, subject) for _severity, id, subject in told(fabric)}


def ids(fabric: Fabric) -> set[str]:
    """The ids of all findings."""
    return {one.id for one in fabric.findings}


def node(fabric: Fabric, name: str) -> Node:
    """A node by name; fails with the reason where it could not be read."""
    assert fabric.failed == (), fabric.failed
    return next(one for one in fabric.nodes if one.name == name)


def netdev(fabric: Fabric, name: str, port: str) -> Netdev:
    """An interface of a node."""
    netdevs = node(fabric, name).netdevs
    assert not isinstance(netdevs, Unknown), netdevs
    return next(one for one in netdevs if one.name == port)


def hcas(fabric: Fabric, name: str) -> dict[str, Hca]:
    """The HCAs of a node by name."""
    found_ones = node(fabric, name).hcas
    assert not isinstance(found_ones, Unknown), found_ones
    return {one.name: one for one in found_ones}


def ipv4(fabric: Fabric, name: str, hca: str) -> set[str]:
    """The IPv4 addresses that the GIDs of an HCA's first port map."""
    gids = hcas(fabric, name)[hca].ports[0].gids
    assert not isinstance(gids, Unknown), gids
    return {one.ipv4 for one in gids if one.ipv4}


def links(fabric: Fabric) -> list[tuple[str, str, str]]:
    """Kind and both ends (node/netdev) of every link."""
    return [(one.kind, f"{one.a.node}/{one.a.netdev}", f"{one.b.node}/{one.b.netdev}") for one in proven(fabric)]


def between(fabric: Fabric, subject: str) -> Link:
    """The link called `NODE/NETDEV - NODE/NETDEV`."""
    return next(
        one for one in proven(fabric) if f"{one.a.node}/{one.a.netdev} - {one.b.node}/{one.b.netdev}" == subject
    )


def proven(fabric: Fabric) -> tuple[Link, ...]:
    """The links; fails with the reason where there is no link map."""
    assert not isinstance(fabric.links, Unknown), fabric.links
    return fabric.links
