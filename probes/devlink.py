"""Ports as devlink knows them: which are physical, which belong to a VF or a sub-function, and the connector's number.

One dump of generic netlink answers for every card. Names and numbers are reported as the kernel gives them. Layout:
linux/devlink.h (commands and attributes are fixed by their place in its enums).
"""

from __future__ import annotations

from typing import Any

from . import genl
from .netlink import attributes, u16, u32

FAMILY = "devlink"
PORT_GET = 5
NETDEV_IFINDEX, FLAVOUR, NUMBER = 6, 77, 78
FLAVOURS = ("physical", "cpu", "dsa", "pcipf", "pcivf", "virtual", "unused", "pcisf")
FIELDS = ("port_flavour", "port_number")


def read_ports() -> dict[str, dict[str, Any]]:
    """Per interface index (as text) `port_flavour` and, for a physical port, `port_number`.

    Raises OSError where this kernel has no devlink, or an answer is refused.
    """
    bodies: list[bytes] = []
    genl.dump_command(genl.family(FAMILY), PORT_GET, b"", bodies)
    found = {}
    for body in bodies:
        facts = dict(attributes(body))
        if NETDEV_IFINDEX in facts:
            found[str(u32(facts[NETDEV_IFINDEX]))] = port(facts)
    return found


def port(facts: dict[int, bytes]) -> dict[str, Any]:
    """The facts of one port; a flavour newer than this list is told by its number."""
    told: dict[str, Any] = {}
    if FLAVOUR in facts:
        flavour = u16(facts[FLAVOUR])
        told["port_flavour"] = FLAVOURS[flavour] if flavour < len(FLAVOURS) else str(flavour)
    if NUMBER in facts:
        told["port_number"] = u32(facts[NUMBER])
    return told
