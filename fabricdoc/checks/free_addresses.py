"""An address to propose: the first of a subnet that no node of the fabric has. The network is not asked."""

from __future__ import annotations

import ipaddress
import shlex
from collections import defaultdict
from itertools import islice

from fabricdoc.checks.ports import netdevs_of, networks
from fabricdoc.model.fabric import Fabric

FIRST_HOST = 2
"""Where proposals start: .1 is often a gateway."""
LOOKED_AT = 65_536


class Taken:
    """The IPv4 addresses that the nodes of a fabric have, by subnet; collected when the first proposal is asked for."""

    def __init__(self, fabric: Fabric) -> None:
        self._fabric = fabric
        self._found: dict[str, set[str]] | None = None

    def free(self, network: str) -> str | None:
        """The first free address of `network` (CIDR) from its second host on, with the prefix; None where it is full.

        What was proposed is taken.
        """
        taken = self._collected()[network]
        net = ipaddress.IPv4Network(network)
        first = FIRST_HOST - 1 if net.num_addresses > FIRST_HOST + 1 else 0
        for host in islice(net.hosts(), first, LOOKED_AT):
            if str(host) not in taken:
                taken.add(str(host))
                return f"{host}/{net.prefixlen}"
        return None

    def _collected(self) -> dict[str, set[str]]:
        if self._found is None:
            self._found = defaultdict(set)
            for node in self._fabric.nodes:
                for netdev in netdevs_of(node):
                    for network, address in networks(netdev):
                        self._found[network].add(address.ip)
        return self._found


def add_line(address: str, netdev: str) -> str:
    """The command that adds an address until the next reboot."""
    return shlex.join(["sudo", "ip", "address", "add", address, "dev", netdev])


def remove_line(address: str, netdev: str) -> str:
    """The command that takes an address away until the next reboot."""
    return shlex.join(["sudo", "ip", "address", "del", address, "dev", netdev])
