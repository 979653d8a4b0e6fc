"""Whether the ports of a node that should be up are up, and stay so, as the node itself tells it.

An empty cage is no fault. What the other end says is compared elsewhere, and cables are not asked for.
"""

from __future__ import annotations

from collections.abc import Iterator

from fabricdoc.checks.limits import limit
from fabricdoc.checks.ports import RocePort, cage_ports, hcas_of, netdevs_of, roce_ports
from fabricdoc.checks.variables import variable
from fabricdoc.checks.wording import commands, of_nodes, plain, restart, seen
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Hca, Netdev, Node, Port
from fabricdoc.model.findings import Finding


def check_links(fabric: Fabric) -> tuple[Finding, ...]:
    """Ports that are down although they should not be, that come and go, or that are of another kind."""
    alone = len(fabric.nodes) < 2
    silent = tuple(finding for node in fabric.nodes for finding in no_active_port(node, alone))
    return silent + of_nodes(fabric, dead_twins, dead_ports, flapping, mixed_layers)


def no_active_port(node: Node, alone: bool) -> Iterator[Finding]:
    """HCAs, and not one port of them ACTIVE: a warning beside other nodes, information where the node is alone."""
    states = [port.state for hca in hcas_of(node) for port in hca.ports]
    if not states or "ACTIVE" in states or any(isinstance(state, Unknown) for state in states):
        return
    yield Finding(
        id="no-active-port",
        severity="info" if alone else "warning",
        subject=node.name,
        evidence=seen(node, *(_port_text(hca, port, None) for hca in hcas_of(node)[:8] for port in hca.ports)),
        cause="The node has HCAs, but no port of them is ACTIVE: no cable is in, the other end is off, or the "
        "interfaces are down. NCCL would use TCP over another interface.",
        fix=(
            f"plug the cable in at both ends, then on {node.name}: ip -br link; rdma link",
            *commands(node, *(["sudo", "ip", "link", "set", "dev", name, "up"] for name in _down(node))),
        ),
    )


def _down(node: Node) -> list[str]:
    here = {netdev.name for netdev in netdevs_of(node)}
    return [port.netdev for hca in hcas_of(node)[:8] for port in hca.ports if port.netdev in here]


def dead_twins(node: Node) -> Iterator[Finding]:
    """A cage with a cable in it (one twin ACTIVE) whose other twin is down: half of its bandwidth is gone."""
    by_name = {hca.name: hca for hca in hcas_of(node)}
    netdevs = {netdev.name: netdev for netdev in netdevs_of(node)}
    for cage, up in cage_ports(node):
        for hca in (by_name[name] for name in cage.hcas if name in by_name):
            for port in hca.ports if up and hca.physical_function is None else ():
                netdev = netdevs.get(port.netdev) if isinstance(port.netdev, str) else None
                if _is_down(port) and netdev is not None and netdev.carrier is not True:
                    yield _dead_twin(node, hca, port, netdev, up[0])


def _is_down(port: Port) -> bool:
    return isinstance(port.state, str) and port.state != "ACTIVE"


def _dead_twin(node: Node, hca: Hca, port: Port, netdev: Netdev, other: RocePort) -> Finding:
    return Finding(
        id="twin-port-down",
        severity="error",
        subject=f"{node.name}/{hca.name}",
        evidence=seen(
            node, _port_text(hca, port, netdev), _port_text(other.hca, other.port, other.netdev) + " (its twin)"
        ),
        cause=f"{hca.name} and {other.hca.name} share one cable, and only {other.hca.name} has a link: the cable is "
        f"in, so {netdev.name} was set down or its function came up badly. Half of the cage's bandwidth is missing.",
        fix=(
            *commands(node, ["sudo", "ip", "link", "set", "dev", netdev.name, "up"]),
            "if it stays down, reboot the nodes at both ends together",
        ),
    )


def dead_ports(node: Node) -> Iterator[Finding]:
    """A RoCE port that is not ACTIVE although its interface is up with a carrier: RDMA is dead, TCP is not."""
    netdevs = {netdev.name: netdev for netdev in netdevs_of(node)}
    for hca in hcas_of(node):
        for port in hca.ports:
            netdev = netdevs.get(port.netdev) if isinstance(port.netdev, str) else None
            if netdev is None or netdev.master is not None or port.link_layer != "Ethernet" or not _is_down(port):
                continue
            if netdev.carrier is True and netdev.operstate == "up":
                yield Finding(
                    id="port-down-netdev-up",
                    severity="error",
                    subject=f"{node.name}/{hca.name}",
                    evidence=seen(node, _port_text(hca, port, netdev)),
                    cause=f"{netdev.name} is up and passes TCP, but the RDMA port on it is {port.state}: NCCL takes "
                    "only ACTIVE ports and leaves this one out without a word.",
                    fix=(
                        *commands(
                            node,
                            *restart(netdev.name),
                        ),
                        f"if rdma link still says {port.state}, reboot the node and look for mlx5 lines in dmesg",
                    ),
                )


def flapping(node: Node) -> Iterator[Finding]:
    """A fabric port whose carrier changed often since boot, both in number and in rate."""
    uptime = node.host.uptime_s
    if isinstance(uptime, Unknown) or uptime <= 0:
        return
    for one in roce_ports(node):
        changes = one.netdev.carrier_changes
        if isinstance(changes, Unknown) or changes < limit("links", "flap_changes"):
            continue
        rate = changes * 3600 / max(uptime, 3600.0)
        if rate >= limit("links", "flap_changes_per_hour"):
            yield Finding(
                id="link-flap",
                severity="warning",
                subject=f"{node.name}/{one.netdev.name}",
                evidence=seen(
                    node,
                    f"{one.netdev.name}: carrier changed {changes} times, {rate:.1f} an hour since boot "
                    f"(told from {limit('links', 'flap_changes_per_hour'):g} an hour)",
                ),
                cause="The link of this port goes down and up again. Each time NCCL's connections over it end with an "
                "error, and a job that started in between lacks the port.",
                fix=(
                    "reseat or replace the cable",
                    *commands(node, ["ethtool", "-m", one.netdev.name], ["sudo", "dmesg", "--level=err,warn,info"]),
                ),
                confidence="likely",
            )


def mixed_layers(node: Node) -> Iterator[Finding]:
    """Active InfiniBand and Ethernet ports side by side, and no NCCL_IB_HCA that says which to take."""
    active = [(hca, port) for hca in hcas_of(node) for port in hca.ports if port.state == "ACTIVE"]
    layers = {port.link_layer for _hca, port in active if isinstance(port.link_layer, str)}
    if not layers >= {"InfiniBand", "Ethernet"} or variable(node, "NCCL_IB_HCA"):
        return
    yield Finding(
        id="mixed-link-layers",
        severity="warning",
        subject=node.name,
        evidence=seen(node, *(f"{hca.name} port {port.number} {port.link_layer}" for hca, port in active[:16])),
        cause="NCCL takes every active port it finds, and here some are InfiniBand and some Ethernet: the two kinds "
        "can't reach each other, and connecting fails or hangs.",
        fix=(f"on {node.name}: set NCCL_IB_HCA to '=' and the HCAs of one kind only",),
        confidence="likely",
    )


def _port_text(hca: Hca, port: Port, netdev: Netdev | None) -> str:
    text = f"{hca.name} port {port.number} {plain(port.state)}, physical state {plain(port.phys_state)}"
    return f"{text}; {netdev.name} {plain(netdev.operstate)}, carrier {plain(netdev.carrier)}" if netdev else text
