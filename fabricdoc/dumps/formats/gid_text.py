"""A GID's text in all the ways tools write it, as the facts of model.fabric.Gid. Other addresses are not known here."""

from __future__ import annotations

import ipaddress
from typing import Any

MAPPED = bytes(10) + b"\xff\xff"
TYPES = {"v1": "IB/RoCE v1", "v2": "RoCE v2", "RoCE v1": "IB/RoCE v1", "IB/RoCE v1": "IB/RoCE v1", "RoCE v2": "RoCE v2"}


def gid_fields(text: str) -> dict[str, Any] | None:
    """`gid` (eight full groups, as sysfs writes it), `ipv4` where it maps one, `link_local`; None for no GID or 0.

    Neither a v4 address nor anything but 128 bits is a GID.
    """
    try:
        address = ipaddress.IPv6Address(text.strip())
    except ValueError:
        return None
    if int(address) == 0:
        return None
    digits, packed = f"{int(address):032x}", address.packed
    return {
        "gid": ":".join(digits[at : at + 4] for at in range(0, 32, 4)),
        "ipv4": str(ipaddress.IPv4Address(packed[12:])) if packed.startswith(MAPPED) else None,
        "link_local": packed[0] == 0xFE and packed[1] & 0xC0 == 0x80,
    }


def gid_type(text: str) -> str | None:
    """The type in sysfs' words ("IB/RoCE v1", "RoCE v2"), None for another word."""
    return TYPES.get(text.strip())
