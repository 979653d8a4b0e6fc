"""Which interfaces NCCL takes for bootstrap and sockets: by NCCL_SOCKET_IFNAME, or by itself where that says nothing.

NCCL 2.30.7: src/misc/socket.cc (ncclFindInterfaces) and src/os/linux.cc (ncclOsFindInterfaces). The grammar is that of
`selectors`, with at most 16 entries and no ports. NCCL_COMM_ID and NCCL_SOCKET_FAMILY, which narrow the choice, are not
asked. Says nothing about which interface would be right.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from fabricdoc.model.fabric import Netdev
from fabricdoc.nccl.selectors import matches, parse_selector

MOST_NAMES = 16
"""Entries of the list that are read, and interfaces that the socket transport keeps (MAX_IFS, src/include/socket.h)."""
IGNORED_BELOW = 2
"""Characters of a value; NCCL takes a shorter one for none."""
BY_ITSELF = ("ib", "^docker,lo,virbr", "docker", "lo", "virbr")
"""What NCCL tries in turn where no interface is named; the first that fits anything decides."""
LOOPBACK6 = "::1"


class Interfaces(NamedTuple):
    """What a value takes on one node: `taken` in NCCL's order, of which the first is for bootstrap.

    `unmatched` are entries that fit no running interface (with "^": that exclude none), `not_running` the interfaces
    they name that are down or have no address, `dropped` the entries after the 16th. `ignored`: the value is too short
    to count, and NCCL chose by itself.
    """

    taken: tuple[str, ...]
    unmatched: tuple[str, ...] = ()
    not_running: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    ignored: bool = False


def running(netdevs: Sequence[Netdev]) -> list[Netdev]:
    """The interfaces NCCL looks at, in its order: with an address and not known to be down, IPv4 first, then by index.

    That is the order of getifaddrs: the kernel tells IPv4 addresses before IPv6 ones.
    """
    found = [one for one in netdevs if one.carrier is not False and any(a.ip != LOOPBACK6 for a in one.addresses)]
    return sorted(found, key=lambda one: (all(a.family != "ipv4" for a in one.addresses), one.ifindex))


def take_interfaces(value: str, netdevs: Sequence[Netdev]) -> Interfaces:
    """The interfaces that NCCL_SOCKET_IFNAME=`value` takes among a node's."""
    here = [one.name for one in running(netdevs)]
    if len(value) < IGNORED_BELOW:
        chosen = (_fitting(pattern, here) for pattern in BY_ITSELF)
        return Interfaces(tuple(next((names for names in chosen if names), [])[:MOST_NAMES]), ignored=True)
    selector = parse_selector(value, MOST_NAMES)
    rest = [one.name for one in netdevs if one.name not in here]
    return Interfaces(
        taken=tuple(_fitting(value, here)[:MOST_NAMES]),
        unmatched=tuple(
            entry.text for entry in selector.entries if not any(matches(selector, entry, name) for name in here)
        ),
        not_running=tuple(name for name in rest if any(matches(selector, entry, name) for entry in selector.entries)),
        dropped=selector.dropped,
    )


def _fitting(value: str, names: Sequence[str]) -> list[str]:
    selector = parse_selector(value, MOST_NAMES)
    everything = not selector.entries
    return [
        name
        for name in names
        if (everything or any(matches(selector, entry, name) for entry in selector.entries)) != selector.excludes
    ]
