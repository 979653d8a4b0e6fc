"""RTM_NEWLINK messages: what the kernel itself says of an interface, of what it is part of, and of its IPv4 settings.

Indexes of other interfaces stay numbers here; `netdevs` puts names in their place. Layout: linux/if_link.h.
"""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

from .facts import unknown
from .netlink import RTM_GETLINK, attribute, attributes, dump, string, u8, u16, u32
from .sysctls import own_values

IFLA_ADDRESS, IFLA_IFNAME, IFLA_MTU, IFLA_LINK, IFLA_MASTER = 1, 3, 4, 5, 10
IFLA_OPERSTATE, IFLA_LINKINFO, IFLA_AF_SPEC, IFLA_EXT_MASK, IFLA_CARRIER = 16, 18, 26, 29, 33
IFLA_CARRIER_CHANGES, IFLA_LINK_NETNSID, IFLA_PHYS_PORT_NAME = 35, 37, 38
IFLA_PROP_LIST, IFLA_ALT_IFNAME, IFLA_PARENT_DEV_NAME, IFLA_PARENT_DEV_BUS_NAME = 52, 53, 56, 57
IFLA_INFO_KIND, IFLA_INFO_DATA = 1, 2
IFLA_VLAN_ID = IFLA_BOND_MODE = 1
SKIP_STATS = struct.pack("=I", 1 << 3)

LINK = struct.Struct("=BxHiII")
NO_MAC = unknown("it has no hardware address")
NO_PORT_NAME = unknown("the driver gives none")
NOT_SAID = unknown("the kernel does not say")
OPERSTATES = ("unknown", "notpresent", "down", "lowerlayerdown", "testing", "dormant", "up")
STACKED = ("vlan", "macvlan", "macvtap", "ipvlan", "ipvtap", "macsec", "ipoib")
BOND_MODES = (
    "balance-rr", "active-backup", "balance-xor", "broadcast", "802.3ad", "balance-tlb", "balance-alb",
)  # fmt: skip


class Link(NamedTuple):
    """One interface: the fields of model.netdev.Netdev that this message holds, and what they are completed with.

    `master` and `lower` are indexes (0: none); `elsewhere` is true where `lower` is in another network namespace.
    `parent` is the device behind it as (bus, name), ("", "") where there is none or the kernel (before 5.14) is mute.
    """

    fields: dict[str, Any]
    master: int
    lower: int
    elsewhere: bool
    parent: tuple[str, str]
    own_sysctls: dict[str, int]


def read_links() -> list[Link]:
    """Every interface of this network namespace; raises OSError. Statistics are not asked for."""
    request = LINK.pack(0, 0, 0, 0, 0) + attribute(IFLA_EXT_MASK, SKIP_STATS)
    return [link(body) for body in dump(RTM_GETLINK, request)]


def link(body: bytes) -> Link:
    """One RTM_NEWLINK message; raises ValueError, struct.error, LookupError for one that is none."""
    _family, _type, ifindex, _flags, _change = LINK.unpack_from(body)
    found = dict(attributes(body, LINK.size))
    kind, data = _kind(found)
    fields = {
        "name": string(found[IFLA_IFNAME]),
        "ifindex": ifindex,
        "mac": found[IFLA_ADDRESS].hex(":") if found.get(IFLA_ADDRESS) else NO_MAC,
        "mtu": _number(found, IFLA_MTU),
        "carrier": bool(u8(found[IFLA_CARRIER])) if found.get(IFLA_CARRIER) else NOT_SAID,
        "operstate": _operstate(u8(found[IFLA_OPERSTATE]) if found.get(IFLA_OPERSTATE) else 0),
        "carrier_changes": _number(found, IFLA_CARRIER_CHANGES),
        "phys_port_name": string(found.get(IFLA_PHYS_PORT_NAME, b"")) or NO_PORT_NAME,
        "kind": kind,
        "altnames": _altnames(found),
        "vlan_id": u16(data[IFLA_VLAN_ID]) if kind == "vlan" and IFLA_VLAN_ID in data else None,
        "bond_mode": _bond_mode(u8(data[IFLA_BOND_MODE])) if kind == "bond" and IFLA_BOND_MODE in data else None,
    }
    return Link(
        fields,
        master=u32(found[IFLA_MASTER]) if IFLA_MASTER in found else 0,
        lower=u32(found[IFLA_LINK]) if IFLA_LINK in found and kind in STACKED else 0,
        elsewhere=IFLA_LINK_NETNSID in found,
        parent=(string(found.get(IFLA_PARENT_DEV_BUS_NAME, b"")), string(found.get(IFLA_PARENT_DEV_NAME, b""))),
        own_sysctls=own_values(found.get(IFLA_AF_SPEC, b"")),
    )


def _number(found: dict[int, bytes], kind: int) -> Any:
    return u32(found[kind]) if kind in found else NOT_SAID


def _operstate(state: int) -> Any:
    return OPERSTATES[state] if state < len(OPERSTATES) else unknown(f"state number {state}")


def _kind(found: dict[int, bytes]) -> tuple[str | None, dict[int, bytes]]:
    """The kernel's word for a software interface (veth, bridge, vlan) and its data; a real NIC has neither."""
    info = dict(attributes(found.get(IFLA_LINKINFO, b"")))
    if IFLA_INFO_KIND not in info:
        return None, {}
    kind = string(info[IFLA_INFO_KIND])
    return kind, dict(attributes(info.get(IFLA_INFO_DATA, b""))) if kind in ("vlan", "bond") else {}


def _bond_mode(number: int) -> str:
    return BOND_MODES[number] if number < len(BOND_MODES) else f"mode {number}"


def _altnames(found: dict[int, bytes]) -> list[str]:
    properties = attributes(found.get(IFLA_PROP_LIST, b""))
    return [string(value) for kind, value in properties if kind == IFLA_ALT_IFNAME]
