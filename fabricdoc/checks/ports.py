"""Which interfaces of a node belong to its fabric, and their networks: the ground the other checks stand on.

No finding comes from here.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from fabricdoc.checks.remembered import remembered
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Address, Cage, Hca, Netdev, Node, Port

LOOPBACK, LOOPBACK_PREFIX = 127, 8
CARRYING_KINDS = frozenset({None, "veth", "vlan", "bond", "team", "macvlan", "ipvlan"})


class RocePort(NamedTuple):
    """An active Ethernet port of an HCA whose interface is in the node's own network namespace."""

    hca: Hca
    port: Port
    netdev: Netdev


def netdevs_of(node: Node) -> tuple[Netdev, ...]:
    """The node's interfaces; none where they are unknown."""
    return () if isinstance(node.netdevs, Unknown) else node.netdevs


def hcas_of(node: Node) -> tuple[Hca, ...]:
    """The node's HCAs; none where they are unknown."""
    return () if isinstance(node.hcas, Unknown) else node.hcas


@remembered
def roce_ports(node: Node) -> tuple[RocePort, ...]:
    """The active RoCE ports that can be used from where the probe ran."""
    by_name = {netdev.name: netdev for netdev in netdevs_of(node)}
    return tuple(
        RocePort(hca, port, by_name[port.netdev])
        for hca in hcas_of(node)
        for port in hca.ports
        if port.state == "ACTIVE" and port.link_layer == "Ethernet"
        if isinstance(port.netdev, str) and port.netdev in by_name
    )


@remembered
def fabric_netdevs(node: Node) -> tuple[Netdev, ...]:
    """The interfaces that carry this node's fabric traffic and have a carrier.

    Where there are usable HCAs: their interfaces and those their GIDs name (a VLAN, a bond). Else every
    interface that leads out of the node: no loopback, no tunnel, no bridge without a real port in it.
    """
    ports = roce_ports(node)
    names = {one.netdev.name for one in ports} | {name for one in ports for name in _gid_netdevs(one.port)}
    up = (netdev for netdev in netdevs_of(node) if netdev.carrier is True)
    return tuple(netdev for netdev in up if (netdev.name in names if names else leads_out(node, netdev)))


def leads_out(node: Node, netdev: Netdev) -> bool:
    """Whether frames sent here can leave the node (docker0 and its like have only veths in them)."""
    if netdev.kind == "bridge":
        members = (one for one in netdevs_of(node) if one.master == netdev.name)
        return any(one.kind in CARRYING_KINDS - {"veth"} for one in members)
    return netdev.kind in CARRYING_KINDS and netdev.name != "lo"


@remembered
def networks(netdev: Netdev) -> tuple[tuple[str, Address], ...]:
    """Its IPv4 networks in CIDR with the address in each: no loopback, no host-wide /32, nothing malformed."""
    ours = (one for one in netdev.addresses if one.family == "ipv4" and one.prefix < 32)
    known = ((_network(one), one) for one in ours if one.scope not in ("host", "nowhere"))
    return tuple((network, one) for network, one in known if network is not None)


def _network(address: Address) -> str | None:
    """The network of an address; None for loopback, and where a document was written by hand and holds no address.

    By arithmetic: ipaddress' own networks take four times as long, and there are thousands of addresses.
    """
    try:
        number = int(ipaddress.IPv4Address(address.ip))
    except ValueError:
        return None
    if address.prefix < 0 or (number >> 24 == LOOPBACK and address.prefix >= LOOPBACK_PREFIX):
        return None
    base = number >> (32 - address.prefix) << (32 - address.prefix)
    return f"{ipaddress.IPv4Address(base)}/{address.prefix}"


@lru_cache(maxsize=4096)
def parsed(network: str) -> ipaddress.IPv4Network:
    """A network as `networks` tells it, as an object."""
    return ipaddress.IPv4Network(network)


@lru_cache(maxsize=4096)
def is_link_local(network: str) -> bool:
    """Whether a network is 169.254.0.0/16 or part of it: the same number everywhere, proof of nothing."""
    return ipaddress.ip_network(network).is_link_local


@remembered
def cage_ports(node: Node) -> tuple[tuple[Cage, list[RocePort]], ...]:
    """Each cage with its active RoCE ports, VFs left out."""
    by_hca: dict[str, list[RocePort]] = {}
    for one in roce_ports(node):
        if one.hca.physical_function is None:
            by_hca.setdefault(one.hca.name, []).append(one)
    return tuple((cage, [one for name in cage.hcas for one in by_hca.get(name, ())]) for cage in node.cages)


def _gid_netdevs(port: Port) -> Iterator[str]:
    if not isinstance(port.gids, Unknown):
        yield from (gid.netdev for gid in port.gids if isinstance(gid.netdev, str))
