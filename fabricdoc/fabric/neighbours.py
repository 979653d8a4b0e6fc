"""What LLDP says of who is at the other end of each port: a port of a known node, a switch, or somebody unknown.

A machine is known by MACs of its ports and by its machine-id (systemd's chassis id), never by its name. Neighbours that
are the node itself are the chip's twin loop, no cable, and are left out. Makes no link and no finding.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import LldpNeighbour, Netdev, Node, PortKey

MAC = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}")
UPON_OTHERS = frozenset({"bridge", "vlan", "bond", "team", "macvlan", "macvtap", "ipvlan", "vxlan", "dummy", "tun"})
"""Kinds of interface that have the MAC of one below, or none of their own."""


class Sighting(NamedTuple):
    """A port of one node that heard LLDP from a port of another one."""

    at: PortKey
    of: PortKey
    told: LldpNeighbour


class Machines:
    """The known nodes by what LLDP calls them. A mark that two nodes share stands for neither."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._ports: dict[str, list[PortKey]] = defaultdict(list)
        self._names: dict[PortKey, frozenset[str]] = {}
        self._of_node: dict[str, list[PortKey]] = defaultdict(list)
        owners: dict[str, set[str]] = defaultdict(set)
        for node in nodes:
            for netdev in () if isinstance(node.netdevs, Unknown) else node.netdevs:
                self._note(node.name, netdev, owners)
            if isinstance(node.host.machine_id, str):
                owners[node.host.machine_id].add(node.name)
        self._owners = dict(owners)

    def _note(self, node: str, netdev: Netdev, owners: dict[str, set[str]]) -> None:
        key = (node, netdev.name)
        self._names[key] = frozenset({netdev.name, *netdev.altnames})
        self._of_node[node].append(key)
        if isinstance(netdev.mac, str) and netdev.mac.strip("0:"):
            owners[netdev.mac.lower()].add(node)
            if netdev.kind not in UPON_OTHERS:
                self._ports[netdev.mac.lower()].append(key)

    def owners(self, told: LldpNeighbour) -> set[str]:
        """Every node this neighbour may be, by its chassis or, failing that, by its port's MAC."""
        return self._owners.get(told.chassis.lower()) or self._owners.get(told.port.lower()) or set()

    def port(self, told: LldpNeighbour) -> PortKey | None:
        """The one port of a known node this neighbour is: by its MAC, else by its name on the node of its chassis."""
        names = {told.port, told.port_description}
        fits = self._ports.get(told.port.lower(), [])
        if len(fits) == 1:
            return fits[0]
        owners = self.owners(told)
        if len(owners) != 1:
            return None
        own = self._of_node[next(iter(owners))]
        by_mac = bool(fits) or MAC.fullmatch(told.port.lower()) is not None
        fits = [key for key in own if self._names[key] & names and (key in fits or not by_mac)]
        return fits[0] if len(fits) == 1 else None


def told_by(node: Node) -> tuple[LldpNeighbour, ...]:
    """The node's LLDP neighbours; none where they are unknown."""
    return () if isinstance(node.lldp, Unknown) else node.lldp


def sightings(nodes: Sequence[Node]) -> list[Sighting]:
    """Every neighbour that is a port of another known node, in the order of nodes and neighbours."""
    machines = Machines(nodes)
    found = []
    for node in nodes:
        for told in told_by(node):
            port = machines.port(told)
            if port is not None and port[0] != node.name:
                found.append(Sighting((node.name, told.netdev), port, told))
    return found


def switch_ports(nodes: Sequence[Node]) -> dict[PortKey, LldpNeighbour]:
    """Ports whose neighbour is a switch: it says that it bridges, and is none of the nodes (those may bridge, too)."""
    return {key: told for key, told in _others(nodes) if told.bridge}


def strangers(nodes: Sequence[Node]) -> dict[PortKey, LldpNeighbour]:
    """Ports whose neighbour is a machine that is none of the nodes and no switch."""
    switched = switch_ports(nodes)
    return {key: told for key, told in _others(nodes) if key not in switched}


def _others(nodes: Sequence[Node]) -> Iterator[tuple[PortKey, LldpNeighbour]]:
    machines = Machines(nodes)
    for node in nodes:
        for told in told_by(node):
            if not machines.owners(told):
                yield (node.name, told.netdev), told
