"""What must still be true of the ports the preset's selectors name, and of the port each one meets.

Speeds in Mbit/s, MTU in bytes. A port that is gone, or a netdev list that can't be read, ends the
comparison of that port: its other facts would only repeat the cause.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from fabricdoc.gate.compared import Compared, Outcome, compare
from fabricdoc.model.documents import NOT_READ, Fact, Unknown
from fabricdoc.model.fabric import Fabric, Hca, Link, Netdev, Node
from fabricdoc.model.preset import NodePrint, PortPrint
from fabricdoc.model.prints import hca_print

NOBODY = "nobody heard"
ONE_WAY = "heard one way only"


def port_comparisons(printed: NodePrint, node: Node) -> list[Compared]:
    """Existence, carrier, MAC, MTU, speed, addresses and RDMA device of each port of the fingerprint."""
    if isinstance(node.netdevs, Unknown):
        seen = f"unknown: {node.netdevs.unknown}"
        return [Compared("port", printed.name, port.netdev, "exists", seen, "unknown") for port in printed.ports]
    netdevs = {netdev.name: netdev for netdev in node.netdevs}
    found: list[Compared] = []
    for port in printed.ports:
        if port.netdev in netdevs:
            found += _port(node, port, netdevs[port.netdev])
        else:
            found.append(_missing(printed.name, port, netdevs))
    return found


def _missing(node: str, port: PortPrint, netdevs: Mapping[str, Netdev]) -> Compared:
    """A port that is gone; `note` says under which name its MAC lives now, if anywhere."""
    renamed = [name for name, netdev in netdevs.items() if isinstance(port.mac, str) and netdev.mac == port.mac]
    note = f"its MAC is now on {renamed[0]}" if renamed else ""
    return Compared("port", node, port.netdev, "exists", "no such interface", "differs", note)


def _port(node: Node, port: PortPrint, netdev: Netdev) -> list[Compared]:
    name = port.netdev
    found = [
        Compared("port", node.name, name, "exists", "exists", "ok"),
        compare("carrier", node.name, name, True, _carrier(netdev), show=lambda up: "up" if up else "down"),
        compare("mac", node.name, name, port.mac, netdev.mac, same=lambda a, b: a.lower() == b.lower()),
        compare("mtu", node.name, name, port.mtu, netdev.mtu),
        compare("speed", node.name, name, port.speed_mbps, netdev.speed_mbps, show=lambda mbps: f"{mbps} Mbit/s"),
        _addresses(node.name, port, netdev),
    ]
    if port.hca is not None:
        found.append(compare("rdma-device", node.name, name, port.hca, _hca_of(name, node.hcas)))
    now = hca_print(node, name)._asdict()
    recorded = {id: getattr(port, id) for id in now if getattr(port, id) != NOT_READ}
    return found + [compare(id, node.name, name, fact, now[id]) for id, fact in recorded.items()]


def _carrier(netdev: Netdev) -> Fact[bool]:
    """The carrier; the kernel refuses to say for a port that is administratively down, which is down."""
    if isinstance(netdev.carrier, Unknown) and netdev.operstate == "down":
        return False
    return netdev.carrier


def _addresses(node: str, port: PortPrint, netdev: Netdev) -> Compared:
    """The recorded addresses must be among those now there; more are no harm."""
    now = {f"{address.ip}/{address.prefix}" for address in netdev.addresses}
    bare = {_canonical(address.partition("/")[0]) for address in now}
    full = {_canonical(address) for address in now}
    lost = tuple(wanted for wanted in port.addresses if _canonical(wanted) not in (full if "/" in wanted else bare))
    texts = (", ".join(port.addresses) or "none", ", ".join(sorted(now)) or "none")
    return Compared("address", node, port.netdev, *texts, "differs" if lost else "ok", lost=lost)


def _canonical(address: str) -> str:
    try:
        return str(ipaddress.ip_interface(address)) if "/" in address else str(ipaddress.ip_address(address))
    except ValueError:
        return address


def _hca_of(netdev: str, hcas: Fact[tuple[Hca, ...]]) -> Fact[str]:
    if isinstance(hcas, Unknown):
        return hcas
    names = [hca.name for hca in hcas if any(port.netdev == netdev for port in hca.ports)]
    return names[0] if names else "none"


@dataclass(frozen=True)
class Meeting:
    """Whom a port meets now, as "node/netdev", and whether frames were heard both ways."""

    peer: str
    both_ways: bool


def meetings(links: tuple[Link, ...]) -> dict[str, list[Meeting]]:
    """For each "node/netdev" that takes part in a link, whom it meets."""
    found: dict[str, list[Meeting]] = {}
    for link in links:
        a, b = f"{link.a.node}/{link.a.netdev}", f"{link.b.node}/{link.b.netdev}"
        both_ways = link.kind != "one-way"
        found.setdefault(a, []).append(Meeting(b, both_ways))
        found.setdefault(b, []).append(Meeting(a, both_ways))
    return found


def unlistened(fabric: Fabric, unread: Iterable[str]) -> dict[str, str]:
    """Places that could not be listened on, with the reason: nodes that gave no answer, ports that were not opened.

    The cable map reports an unopened port as a finding `port-not-probed` whose subject is "node/netdev", and a node
    that failed on the way as one whose subject is the node.
    """
    refused = [finding for finding in fabric.findings if finding.id == "port-not-probed"]
    ports = {one.subject: one.evidence[0].text if one.evidence else one.cause for one in refused}
    return ports | {node: f"{node} could not be read" for node in unread}


def peer_comparisons(
    printed: NodePrint, fabric: Fabric, deaf: Mapping[str, str], met: Mapping[str, list[Meeting]]
) -> list[Compared]:
    """Whether each port still meets the port it met; `deaf` is what `unlistened` gave, `met` what `meetings` did."""
    if isinstance(fabric.links, Unknown):
        seen = f"unknown: {fabric.links.unknown}"
        return [_peer(printed.name, port, seen, "unknown") for port in printed.ports if port.peer]
    return [_met(printed.name, port, met, deaf) for port in printed.ports if port.peer]


def _met(node: str, port: PortPrint, met: Mapping[str, list[Meeting]], deaf: Mapping[str, str]) -> Compared:
    here = met.get(f"{node}/{port.netdev}", [])
    for meeting in here:
        if meeting.peer == port.peer:
            if meeting.both_ways:
                return _peer(node, port, port.peer, "ok")
            return _peer(node, port, f"{port.peer}, one way", "differs", ONE_WAY)
    if here:
        return _peer(node, port, ", ".join(meeting.peer for meeting in here), "differs")
    for place in (port.peer.partition("/")[0], node, f"{node}/{port.netdev}", port.peer):
        if place in deaf:
            return _peer(node, port, f"unknown: {deaf[place]}", "unknown")
    return _peer(node, port, NOBODY, "differs")


def _peer(node: str, port: PortPrint, seen: str, outcome: Outcome, note: str = "") -> Compared:
    return Compared("peer", node, port.netdev, port.peer, seen, outcome, note)
