"""Whether the addresses of a node's fabric ports come back after a reboot, as far as its usual files tell."""

from __future__ import annotations

from collections.abc import Iterator

from fabricdoc.checks.ports import RocePort, roce_ports
from fabricdoc.checks.wording import of_nodes, seen
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Node
from fabricdoc.model.findings import Finding

NOT_FOUND = "not found in"
LEASED = "its address is a lease"
NAMED_ONLY = "names it, without its address"


def check_persistence(fabric: Fabric) -> tuple[Finding, ...]:
    """One warning per node whose fabric ports have static addresses that no file keeps."""
    return of_nodes(fabric, not_kept)


def not_kept(node: Node) -> Iterator[Finding]:
    """Ports with an IPv4 address (no link-local one) that no configuration file holds."""
    lost = [one for one in roce_ports(node) if _addresses(one) and _is_lost(one)]
    if lost:
        yield Finding(
            id="address-not-persistent",
            severity="warning",
            subject=node.name,
            evidence=seen(node, *(f"{one.netdev.name} {_addresses(one)}: {one.netdev.persistence}" for one in lost)),
            cause="These addresses were set by hand, and no file keeps them: they are gone after a reboot, and "
            "NetworkManager or a DHCP retry may take them away before.",
            fix=(
                f"on {node.name}: put this into /etc/netplan/40-fabric.yaml, then sudo netplan apply",
                "network: {version: 2, ethernets: {",
                *(_netplan(one) for one in lost),
                "}}",
            ),
            confidence="likely",
        )


def _netplan(one: RocePort) -> str:
    """One line of netplan's YAML (flow style)."""
    mtu = f"mtu: {one.netdev.mtu}, " if isinstance(one.netdev.mtu, int) else ""
    return f"  {one.netdev.name}: {{dhcp4: no, link-local: [], {mtu}addresses: [{_addresses(one)}]}},"


def _is_lost(one: RocePort) -> bool:
    told = one.netdev.persistence
    if isinstance(told, Unknown) or told.startswith(LEASED):
        return False
    return told.startswith(NOT_FOUND) or told.endswith(NAMED_ONLY) or ", not " in told


def _addresses(one: RocePort) -> str:
    ipv4 = (address for address in one.netdev.addresses if address.family == "ipv4")
    return ", ".join(f"{address.ip}/{address.prefix}" for address in ipv4 if not address.ip.startswith("169.254."))
