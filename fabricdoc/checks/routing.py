"""How a node routes what belongs to its fabric: networks that overlap, default routes, forwarding for a ring.

Read from the main table; policy rules are not followed. RDMA itself is not routed by the kernel, NCCL's bootstrap is.
"""

from __future__ import annotations

from collections.abc import Iterator

from fabricdoc.checks.platforms import is_gb10
from fabricdoc.checks.ports import RocePort, leads_out, netdevs_of, networks, parsed, roce_ports
from fabricdoc.checks.wording import commands, of_nodes, seen
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Netdev, Node, Route
from fabricdoc.model.findings import Finding


def check_routing(fabric: Fabric) -> tuple[Finding, ...]:
    """Overlapping networks, default routes over fabric ports, peers that answer no ARP, and a ring's forwarding."""
    gateways = {route.gateway: node.name for node in fabric.nodes for route in _transit(node)}
    rings = tuple(finding for node in fabric.nodes for finding in no_forwarding(node, gateways))
    return of_nodes(fabric, overlaps, default_on_fabric, silent_neighbours) + rings


def _routes(node: Node) -> tuple[Route, ...]:
    return () if isinstance(node.routes, Unknown) else node.routes


def _others(node: Node, ports: tuple[RocePort, ...]) -> Iterator[Netdev]:
    """Interfaces with a carrier that lead out of the node, and are neither fabric ports nor made of them."""
    names = {one.netdev.name for one in ports} | {one.netdev.master for one in ports if one.netdev.master}
    for netdev in netdevs_of(node):
        if netdev.carrier is True and not names & {netdev.name, netdev.lower} and leads_out(node, netdev):
            yield netdev


def overlaps(node: Node) -> Iterator[Finding]:
    """A fabric network that holds the network of another interface: packets to peers may leave by that one.

    A wider network elsewhere (10.0.0.0/8 for management) is no fault: the kernel takes the longest prefix.
    """
    ports = roce_ports(node)
    others = [(netdev, parsed(net)) for netdev in _others(node, ports) for net, _ip in networks(netdev)]
    for one in ports if others else ():
        for net, address in networks(one.netdev):
            mine = parsed(net)
            for netdev, other in others:
                if mine.overlaps(other) and other.prefixlen >= mine.prefixlen and not mine.is_link_local:
                    yield _overlap(node, one, f"{address.ip}/{address.prefix}", netdev, str(other))


def _overlap(node: Node, one: RocePort, mine: str, netdev: Netdev, other: str) -> Finding:
    return Finding(
        id="fabric-network-overlaps",
        severity="error",
        subject=f"{node.name}/{one.netdev.name}",
        evidence=seen(node, f"{one.netdev.name} {mine} (HCA {one.hca.name})", f"{netdev.name} {other}"),
        cause=f"The network of {one.netdev.name} overlaps with that of {netdev.name}: the kernel may send to the peer "
        f"over {netdev.name}, where nobody has its address, and bootstrap hangs or runs over the wrong network.",
        fix=(
            f"give {one.netdev.name} on {node.name}, and the port it is cabled to, addresses in another network:",
            f"sudo ip addr del {mine} dev {one.netdev.name}",
            f"sudo ip addr add 10.99.0.1/24 dev {one.netdev.name}    # .2 at the other end, and the same in netplan",
        ),
    )


def default_on_fabric(node: Node) -> Iterator[Finding]:
    """A default route over a fabric port beside one elsewhere, or on GB10 where another interface has an address.

    On servers a RoCE NIC may be the management port too, so there the only default route says nothing.
    """
    ports = {one.netdev.name: one for one in roce_ports(node)}
    defaults = [route for route in _routes(node) if route.destination == "default" and route.family == "ipv4"]
    wrong = [route for route in defaults if route.netdev in ports]
    elsewhere = [route for route in defaults if route.netdev not in ports]
    others = [netdev.name for netdev in _others(node, roce_ports(node)) if list(networks(netdev))] if wrong else []
    if not wrong or not (elsewhere or (is_gb10(node) and others)):
        return
    beside = elsewhere[0].netdev if elsewhere else others[0]
    yield Finding(
        id="default-route-on-fabric",
        severity="warning",
        subject=f"{node.name}/{wrong[0].netdev}",
        evidence=seen(
            node, *(f"default via {route.gateway or 'nobody'} dev {route.netdev}" for route in (*wrong, *elsewhere))
        ),
        cause=f"A default route leads over the fabric port {wrong[0].netdev}, where no way out is: what the node sends "
        f"elsewhere, and engines that advertise the default route's address, take it instead of {beside}.",
        fix=(
            *commands(node, ["sudo", "ip", "route", "del", "default", "dev", wrong[0].netdev]),
            "in netplan: dhcp4: no and no gateway for it; with NetworkManager: "
            "sudo nmcli connection modify NAME ipv4.never-default yes",
        ),
        confidence="likely",
    )


def silent_neighbours(node: Node) -> Iterator[Finding]:
    """Addresses on fabric ports that answered no ARP request; information, since a peer may just be off."""
    if isinstance(node.neighbours, Unknown):
        return
    ports = {one.netdev.name for one in roce_ports(node)}
    failed = [one for one in node.neighbours if one.netdev in ports and one.state.lower() == "failed"]
    failed = [one for one in failed if ":" not in one.ip]
    if failed:
        yield Finding(
            id="neighbour-silent",
            severity="info",
            subject=node.name,
            evidence=seen(node, *(f"{one.ip} dev {one.netdev} FAILED" for one in failed[:16])),
            cause="These addresses were tried on fabric ports and did not answer ARP: the peer was off, has another "
            "address, or the cable leads elsewhere.",
            fix=commands(node, *(["ping", "-c", "3", "-I", one.netdev, one.ip] for one in failed[:4])),
            confidence="possible",
        )


def _transit(node: Node) -> Iterator[Route]:
    """Routes that lead through another node: by a gateway on a fabric port, not the default one."""
    ports = {one.netdev.name for one in roce_ports(node)}
    for route in _routes(node):
        if route.gateway and route.destination != "default" and route.netdev in ports:
            yield route


def no_forwarding(node: Node, gateways: dict[str | None, str]) -> Iterator[Finding]:
    """A node that others route through (a ring) although it does not forward: looks like a dead cable."""
    if node.host.ip_forward is not False:
        return
    here = [(one.netdev.name, address.ip) for one in roce_ports(node) for _net, address in networks(one.netdev)]
    used = [(netdev, ip, gateways[ip]) for netdev, ip in here if ip in gateways and gateways[ip] != node.name]
    if used:
        yield Finding(
            id="ring-forwarding-off",
            severity="error",
            subject=node.name,
            evidence=seen(
                node, *(f"{ip} ({netdev}) is a gateway of {who}" for netdev, ip, who in used[:8]), "ip_forward 0"
            ),
            cause="Other nodes route through this one, but it does not forward: their packets end here without a word, "
            "which looks like a dead cable.",
            fix=(
                *commands(node, ["sudo", "sysctl", "-w", "net.ipv4.ip_forward=1"]),
                "keep it: echo net.ipv4.ip_forward=1 | sudo tee /etc/sysctl.d/90-fabric.conf",
                f"where Docker runs: sudo iptables -I DOCKER-USER -i {used[0][0]} -j ACCEPT",
            ),
        )
