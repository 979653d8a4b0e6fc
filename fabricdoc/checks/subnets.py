"""Ports of one node that share a subnet. The sysctls that soften it are not read, so it stays a likelihood."""

from __future__ import annotations

from collections import defaultdict

from fabricdoc.checks.ports import fabric_netdevs, networks
from fabricdoc.model.fabric import Address, Fabric, Netdev, Node
from fabricdoc.model.findings import Evidence, Finding

Members = list[tuple[Netdev, Address]]


def check_subnets(fabric: Fabric) -> tuple[Finding, ...]:
    """One warning (nics-share-subnet) per node and subnet that two or more of its fabric ports are in.

    A warning: vendors' own scripts set pairs up so and they run; ARP answers and replies may use the wrong port.
    """
    return tuple(
        _finding(node, network, members)
        for node in fabric.nodes
        for network, members in _by_network(node).items()
        if len({netdev.name for netdev, _address in members}) > 1
    )


def _by_network(node: Node) -> dict[str, Members]:
    found: dict[str, Members] = defaultdict(list)
    for netdev in fabric_netdevs(node):
        for network, address in networks(netdev):
            found[network].append((netdev, address))
    return found


def _finding(node: Node, network: str, members: Members) -> Finding:
    names = list(dict.fromkeys(netdev.name for netdev, _address in members))
    return Finding(
        id="nics-share-subnet",
        severity="warning",
        subject=f"{node.name}: {network}",
        evidence=tuple(
            Evidence(file=node.name, text=f"{netdev.name} {address.ip}/{address.prefix}") for netdev, address in members
        ),
        cause="Several fabric ports of this node are in one subnet: the kernel answers ARP for any of them on any of "
        "them and sends by the first route, so a rail can stay idle or reply over another port than it was asked on.",
        fix=(
            f"give {_listed(names[1:])} a subnet of {'its' if len(names) == 2 else 'their'} own, the same one as the "
            f"port on the other node that the cable leads to",
            "or keep the addresses and set net.ipv4.conf.all.arp_ignore=1, arp_announce=2 and rp_filter=2",
        ),
        confidence="likely",
    )


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
