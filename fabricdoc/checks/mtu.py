"""MTU compared between the nodes of one subnet. Whether a path really drops large frames needs traffic."""

from __future__ import annotations

import shlex
from collections import defaultdict
from typing import NamedTuple

from fabricdoc.checks.ports import fabric_netdevs, is_link_local, networks, roce_ports
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Address, Fabric, Netdev, Node
from fabricdoc.model.findings import Evidence, Finding


class Member(NamedTuple):
    """One interface of one node in a subnet."""

    node: Node
    netdev: Netdev
    address: Address
    mtu: int


def check_mtu(fabric: Fabric) -> tuple[Finding, ...]:
    """One warning (mtu-mismatch) per subnet whose nodes disagree on the MTU of their interfaces in it.

    A warning, not an error: TCP (by its MSS) and RoCE in most NCCL versions settle on the smaller value, and
    then only speed is lost; what does not settle loses every larger packet.
    """
    return tuple(
        _finding(network, members)
        for network, members in _by_network(fabric).items()
        if len({member.mtu for member in members}) > 1 and len({member.node.name for member in members}) > 1
    )


def _by_network(fabric: Fabric) -> dict[str, list[Member]]:
    found: dict[str, list[Member]] = defaultdict(list)
    for node in fabric.nodes:
        for netdev in fabric_netdevs(node):
            for network, address in networks(netdev):
                if isinstance(netdev.mtu, int) and not is_link_local(network):
                    found[network].append(Member(node, netdev, address, netdev.mtu))
    return found


def _finding(network: str, members: list[Member]) -> Finding:
    largest = max(member.mtu for member in members)
    smaller = [member for member in members if member.mtu < largest]
    return Finding(
        id="mtu-mismatch",
        severity="warning",
        subject=network,
        evidence=tuple(Evidence(file=member.node.name, text=_text(member)) for member in members),
        cause="Interfaces of one subnet differ in MTU: packets above the smaller one are dropped on the way to it. "
        "TCP and most NCCL versions settle on the smaller size (NCCL 2.20 did not); large datagrams and pinned RDMA "
        "sizes do not, and stall while small pings pass.",
        fix=(
            *_commands(smaller, largest),
            f"make it permanent where the interfaces are configured (netplan: mtu: {largest}), and let a switch in "
            f"between pass frames of that size",
        ),
    )


def _commands(smaller: list[Member], mtu: int) -> list[str]:
    """The lines that raise the MTU, under one heading per node: a line alone can be pasted."""
    lines: list[str] = []
    for one in sorted(smaller, key=lambda member: member.node.name):
        heading = f"on {one.node.name}:"
        command = shlex.join(["sudo", "ip", "link", "set", "dev", one.netdev.name, "mtu", str(mtu)])
        lines += [command] if heading in lines else [heading, command]
    return lines


def _text(member: Member) -> str:
    text = f"{member.netdev.name} {member.address.ip}/{member.address.prefix} mtu {member.mtu}"
    for one in roce_ports(member.node):
        if one.netdev.name == member.netdev.name and not isinstance(one.port.active_mtu, Unknown):
            return f"{text}, {one.hca.name} active_mtu {one.port.active_mtu}"
    return text
