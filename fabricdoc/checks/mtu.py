"""MTU compared between nodes: in a subnet, over a proven cable, and of RDMA ports of which nothing else is known.

Whether a path really drops large frames needs traffic. Twins of one cage are `port_mtu`'s.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from fabricdoc.checks.differences import SHOWN, Told, difference
from fabricdoc.checks.link_mtu import active_text, permanent_line, raise_lines, uneven_cables
from fabricdoc.checks.majority import Place, split_ports
from fabricdoc.checks.ports import fabric_netdevs, hcas_of, is_link_local, netdevs_of, networks
from fabricdoc.checks.segments import Attached, Segment, attached, segments_of
from fabricdoc.model.documents import Fact
from fabricdoc.model.fabric import Address, Fabric, Netdev, Node
from fabricdoc.model.findings import Evidence, Finding

SUBNET_CAUSE = (
    "Interfaces of one subnet differ in MTU: packets above the smaller one are dropped on the way to it. "
    "TCP and most NCCL versions settle on the smaller size (NCCL 2.20 did not); large datagrams and pinned RDMA "
    "sizes do not, and stall while small pings pass."
)
PORTS = Told(
    "mtu-mismatch",
    "warning",
    "active_mtu",
    "RDMA ports that should be alike run with different path MTUs. NCCL settles on the smaller of both ends (2.20 did "
    "not and fails with a local access violation), and then the node with the small MTU slows all of them.",
    lambda one: (f"raise the MTU of the interface of {one.key.slot} on {one.key.node} to that of {one.like.node}",),
    ("give the interfaces of both ports, and the switch, one MTU",),
    "likely",
)


class Member(NamedTuple):
    """One interface of one node in a subnet."""

    node: Node
    netdev: Netdev
    address: Address
    mtu: int


def check_mtu(fabric: Fabric) -> tuple[Finding, ...]:
    """Warnings (mtu-mismatch): one per subnet and one per cable whose MTUs differ, one for RDMA ports without either.

    A warning, not an error: TCP (by its MSS) and RoCE in most NCCL versions settle on the smaller value, and
    then only speed is lost; what does not settle loses every larger packet.
    """
    ports = attached(fabric)
    uneven = [
        (network, members)
        for network, members in _by_network(fabric).items()
        if len({member.mtu for member in members}) > 1 and len({member.node.name for member in members}) > 1
    ]
    told = {(member.node.name, member.netdev.name) for _network, members in uneven for member in members}
    cables = [segment for segment in segments_of(fabric) if segment.is_cable]
    return (
        *(_subnet_finding(network, members, ports) for network, members in uneven),
        *uneven_cables(cables, told),
        *_bare_ports(fabric, cables),
    )


def _by_network(fabric: Fabric) -> dict[str, list[Member]]:
    found: dict[str, list[Member]] = defaultdict(list)
    for node in fabric.nodes:
        for netdev in fabric_netdevs(node):
            for network, address in networks(netdev):
                if isinstance(netdev.mtu, int) and not is_link_local(network):
                    found[network].append(Member(node, netdev, address, netdev.mtu))
    return found


def _subnet_finding(network: str, members: list[Member], ports: dict[tuple[str, str], Attached]) -> Finding:
    largest = max(member.mtu for member in members)
    smaller = [member for member in members if member.mtu < largest]
    return Finding(
        id="mtu-mismatch",
        severity="warning",
        subject=network,
        evidence=tuple(
            Evidence(file=member.node.name, text=_text(member, ports[member.node.name, member.netdev.name]))
            for member in _shown(members, largest)
        ),
        cause=SUBNET_CAUSE,
        fix=(*raise_lines(((one.node.name, one.netdev.name) for one in smaller), largest), permanent_line(largest)),
    )


def _shown(members: list[Member], largest: int) -> Iterable[Member]:
    """All of them where they are few; else the first of the smaller ones, with one that has the largest."""
    if len(members) <= SHOWN:
        return members
    smaller = [member for member in members if member.mtu < largest]
    return [*smaller[: SHOWN - 1], next(member for member in members if member.mtu == largest)]


def _text(member: Member, port: Attached) -> str:
    text = f"{member.netdev.name} {member.address.ip}/{member.address.prefix} mtu {member.mtu}"
    return text + active_text(port)


def _bare_ports(fabric: Fabric, cables: Sequence[Segment]) -> Iterator[Finding]:
    """RDMA ports on no cable and without an IPv4 subnet (dumps of ibv_devinfo alone): held against their like."""
    seen = {(one.node.name, one.netdev.name) for cable in cables for end in cable.ends for one in end.ports}
    votes: list[tuple[Place, Fact[int]]] = []
    for node in fabric.nodes:
        addressed = {netdev.name for netdev in netdevs_of(node) if any(True for _ in networks(netdev))}
        for hca in hcas_of(node):
            for port in hca.ports:
                known = isinstance(port.netdev, str) and (port.netdev in addressed or (node.name, port.netdev) in seen)
                if port.state == "ACTIVE" and not known:
                    votes.append((Place(node.name, hca.name), port.active_mtu))
    found = split_ports(votes) if len({place.node for place, _mtu in votes}) > 1 else None
    if found is not None:
        yield difference(PORTS, found)
