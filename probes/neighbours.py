"""The ARP and neighbour tables from rtnetlink: which MAC answers for which address, and how sure the kernel is.

Entries the kernel makes up itself (multicast, loopback: NOARP) are left out, as `ip neigh` does. Nobody is asked
anything: an address that was never used has no entry. Layout: linux/neighbour.h.
"""

from __future__ import annotations

import struct
from typing import Any

from .netlink import FAMILIES, RTM_GETNEIGH, InterfaceNames, attributes, dump, ip_text

NDA_DST, NDA_LLADDR = 1, 2
NONE, NOARP = 0x00, 0x40
STATES = {
    0x01: "incomplete",
    0x02: "reachable",
    0x04: "stale",
    0x08: "delay",
    0x10: "probe",
    0x20: "failed",
    0x80: "permanent",
}
NEIGHBOUR = struct.Struct("=BxHiHBB")


def read_neighbours() -> Any:
    """Every entry with an IP address (model.netdev.Neighbour), in the kernel's order; raises OSError."""
    bodies = dump(RTM_GETNEIGH, NEIGHBOUR.pack(0, 0, 0, 0, 0, 0))
    names = InterfaceNames()
    return [one for body in bodies for one in neighbours(body, names)]


def neighbours(body: bytes, names: InterfaceNames) -> list[dict[str, Any]]:
    """The entry of one RTM_NEWNEIGH message: none for the kernel's own, and for an interface that is gone.

    An address that nobody answers for (failed, incomplete) has no MAC.
    """
    family, _pad, index, state, _flags, _type = NEIGHBOUR.unpack_from(body)
    found = dict(attributes(body, NEIGHBOUR.size))
    if family not in FAMILIES or state in (NONE, NOARP) or NDA_DST not in found or not names[index]:
        return []
    mac = found.get(NDA_LLADDR, b"")
    return [
        {
            "ip": ip_text(found[NDA_DST]),
            "netdev": names[index],
            "mac": mac.hex(":") if mac else None,
            "state": STATES.get(state, f"state {state:#x}"),
        }
    ]
