"""Hosts that announce ssh by mDNS on given netdevs, as avahi on this machine hears them; nothing is sent by us.

DGX OS announces it, and NVIDIA's own set-up script looks there (dgx-spark-playbooks, discover-sparks, by avahi-browse).
Where there is no avahi, or it does not answer in time, nobody is announced.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from fabricdoc.errors import NodeError
from fabricdoc.transport.command import output_of
from fabricdoc.transport.nodes import NodeSpec
from fabricdoc.transport.peers import MAX_PEERS, Peer

# parsable, resolved, no services of our own, what is in avahi's cache and no waiting for more
BROWSE = ("avahi-browse", "-p", "-r", "-l", "-t", "_ssh._tcp")
DEADLINE_S = 3.0
FAMILIES = ("IPv4", "IPv6")


def announced_peers(netdevs: Collection[str]) -> tuple[Peer, ...]:
    """The hosts heard on these netdevs, IPv4 addresses first, at most 256."""
    if not netdevs:
        return ()
    try:
        said = output_of(NodeSpec("here", "local"), BROWSE, deadline_s=DEADLINE_S)
    except NodeError:
        return ()
    found = sorted(_rows(said.stdout, netdevs), key=lambda row: FAMILIES.index(row[0]))
    return tuple(dict.fromkeys(peer for _family, peer in found))[:MAX_PEERS]


def _rows(text: str, netdevs: Collection[str]) -> Iterator[tuple[str, Peer]]:
    """`=;netdev;family;name;type;domain;host;address;port;txt`: of one service each; other lines are passed over."""
    for line in text.splitlines():
        words = line.split(";")
        if len(words) < 9 or words[0] != "=" or words[1] not in netdevs or words[2] not in FAMILIES:
            continue
        netdev, family, address, port = words[1], words[2], words[7], words[8]
        if family == "IPv6":
            address = f"[{address}{f'%{netdev}' if address.startswith('fe80:') else ''}]"
        place = address if port in ("", "22") else f"{address}:{port}"
        yield family, Peer(place, f"announced by mDNS on {netdev}")
