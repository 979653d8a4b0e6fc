"""The routes of the main table, IPv4 and IPv6, from rtnetlink. Rules, other tables and metrics are left out."""

from __future__ import annotations

import struct
from typing import Any

from .netlink import FAMILIES, RTM_GETROUTE, InterfaceNames, attributes, dump, ip_text, u32

RTA_DST, RTA_OIF, RTA_GATEWAY, RTA_PREFSRC, RTA_MULTIPATH, RTA_TABLE, RTA_VIA = 1, 4, 5, 7, 9, 15, 18
TABLE_MAIN, TYPE_UNICAST, FLAG_CLONED = 254, 1, 0x200

ROUTE = struct.Struct("=BBBBBBBBI")
NEXT_HOP = struct.Struct("=HBBi")


def read_routes() -> Any:
    """Every unicast route of the main table, one entry a next hop (model.fabric.Route); raises OSError."""
    bodies = dump(RTM_GETROUTE, ROUTE.pack(0, 0, 0, 0, 0, 0, 0, 0, 0))
    names = InterfaceNames()
    return [one for body in bodies for one in routes(body, names)]


def routes(body: bytes, names: InterfaceNames) -> list[dict[str, Any]]:
    """The routes of one RTM_NEWROUTE message: none when it is not a unicast route of the main table."""
    family, length, _source, _tos, table, _protocol, _scope, kind, flags = ROUTE.unpack_from(body)
    found = dict(attributes(body, ROUTE.size))
    table = u32(found[RTA_TABLE]) if RTA_TABLE in found else table
    if table != TABLE_MAIN or kind != TYPE_UNICAST or flags & FLAG_CLONED or family not in FAMILIES:
        return []
    base = {
        "destination": f"{ip_text(found[RTA_DST])}/{length}" if RTA_DST in found else "default",
        "source": ip_text(found[RTA_PREFSRC]) if RTA_PREFSRC in found else None,
        "family": FAMILIES[family],
    }
    return [{**base, **hop} for hop in _hops(found, names)]


def _hops(found: dict[int, bytes], names: InterfaceNames) -> list[dict[str, Any]]:
    """Interface and gateway of each next hop; an interface that went away meanwhile is left out."""
    hops = _indexed(found)
    return [{"netdev": names[index], "gateway": _gateway(about)} for index, about in hops if names[index]]


def _indexed(found: dict[int, bytes]) -> list[tuple[int, dict[int, bytes]]]:
    if RTA_OIF in found:
        return [(u32(found[RTA_OIF]), found)]
    hops, rest = [], found.get(RTA_MULTIPATH, b"")
    while len(rest) >= NEXT_HOP.size:
        length, _flags, _weight, index = NEXT_HOP.unpack_from(rest)
        if length < NEXT_HOP.size or length > len(rest):
            raise ValueError(f"a next hop of length {length} in {len(rest)} bytes")
        hops.append((index, dict(attributes(rest[:length], NEXT_HOP.size))))
        rest = rest[(length + 3) & ~3 :]
    return hops


def _gateway(about: dict[int, bytes]) -> str | None:
    """The gateway; RTA_VIA is one of the other family (two bytes of family first)."""
    if RTA_GATEWAY in about:
        return ip_text(about[RTA_GATEWAY])
    return ip_text(about[RTA_VIA][2:]) if RTA_VIA in about else None
