"""Ports of one node that share a subnet, and the sysctls that soften it."""

from __future__ import annotations

from collections import defaultdict

from fabricdoc.checks.ports import fabric_netdevs, networks
from fabricdoc.checks.wording import listed, plain, seen
from fabricdoc.model.fabric import Address, Fabric, Netdev, Node
from fabricdoc.model.findings import Finding, Severity

Members = list[tuple[Netdev, Address]]
STRICT, LOOSE = 1, (0, 2)


def check_subnets(fabric: Fabric) -> tuple[Finding, ...]:
    """One finding (nics-share-subnet) per node and subnet that two or more of its fabric ports are in.

    A warning: vendors' own scripts set pairs up so and they run; ARP answers and replies may use the wrong port.
    Information where arp_ignore, arp_announce and rp_filter of all of them are set as such a set-up needs.
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


def softened(netdev: Netdev) -> bool:
    """Whether this port answers ARP for its own address only, asks with it, and takes replies from anywhere."""
    ignore, announce, filtered = netdev.arp_ignore, netdev.arp_announce, netdev.rp_filter
    if not isinstance(ignore, int) or not isinstance(announce, int) or not isinstance(filtered, int):
        return False
    return ignore >= 1 and announce >= 2 and filtered in LOOSE


def _finding(node: Node, network: str, members: Members) -> Finding:
    names = list(dict.fromkeys(netdev.name for netdev, _address in members))
    soft = all(softened(netdev) for netdev, _address in members)
    strict = [netdev.name for netdev, _address in members if netdev.rp_filter == STRICT]
    severity: Severity = "info" if soft else "warning"
    return Finding(
        id="nics-share-subnet",
        severity=severity,
        subject=f"{node.name}: {network}",
        evidence=seen(node, *(_text(netdev, address) for netdev, address in members)),
        cause="Several fabric ports of this node are in one subnet: the kernel answers ARP for any of them on any of "
        "them and sends by the first route, so a rail can stay idle or reply over another port than it was asked on."
        + (f" With rp_filter=1 on {listed(strict)} such replies are dropped." if strict else "")
        + (" The sysctls that keep ARP apart are set here." if soft else ""),
        fix=(
            f"give {listed(names[1:])} a subnet of {'its' if len(names) == 2 else 'their'} own, the same one as the "
            f"port on the other node that the cable leads to",
            "or keep the addresses and set net.ipv4.conf.all.arp_ignore=1, arp_announce=2 and rp_filter=2:",
            f"on {node.name}:",
            "sudo sysctl -w net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2 "
            "net.ipv4.conf.all.rp_filter=2",
        ),
        confidence="likely",
    )


def _text(netdev: Netdev, address: Address) -> str:
    own = (("arp_ignore", netdev.arp_ignore), ("arp_announce", netdev.arp_announce), ("rp_filter", netdev.rp_filter))
    told = ", ".join(f"{name} {plain(value)}" for name, value in own if isinstance(value, int))
    text = f"{netdev.name} {address.ip}/{address.prefix}"
    return f"{text}, {told}" if told else text
