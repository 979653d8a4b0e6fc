"""LLDP frames taken apart: who the machine at the other end of a port says it is (IEEE 802.1AB-2016, clauses 8 and 9).

A frame is untrusted: every length is checked, texts are cut at 255 characters and cleaned, and what is no LLDP is None.
Nothing is sent, kept or judged here.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

from .facts import clean

ETHERTYPE = 0x88CC
MAX_TEXT = 255
MAX_TLVS = 128

END, CHASSIS, PORT, TTL, PORT_DESCRIPTION, SYSTEM_NAME, CAPABILITIES = 0, 1, 2, 3, 4, 5, 7
# tables 8-2 and 8-3: the subtypes that hold a MAC and a network address differ between the two ids
MAC_SUBTYPE = {CHASSIS: 4, PORT: 3}
ADDRESS_SUBTYPE = {CHASSIS: 5, PORT: 4}
FAMILIES = {1: (socket.AF_INET, 4), 2: (socket.AF_INET6, 16)}  # IANA address family numbers
BRIDGE = 0x0004  # table 8-4, bit 2


def neighbour(payload: bytes) -> dict[str, Any] | None:
    """What one LLDPDU says (fields of model.fabric.LldpNeighbour without `netdev`), or None.

    None for what breaks the order chassis, port, TTL, for an empty id, for a cut TLV, and for a TTL of 0 (a farewell).
    """
    try:
        found = list(tlvs(payload))
    except ValueError:
        return None
    if [kind for kind, _value in found[:3]] != [CHASSIS, PORT, TTL] or len(found[2][1]) < 2 or not any(found[2][1][:2]):
        return None
    told = dict(reversed(found))  # of two alike the first counts
    said = {"chassis": _id(CHASSIS, told[CHASSIS]), "port": _id(PORT, told[PORT])}
    if not all(said.values()):
        return None
    texts = {"system": text(told.get(SYSTEM_NAME, b"")), "port_description": text(told.get(PORT_DESCRIPTION, b""))}
    return {**said, **texts, "bridge": _is_bridge(told.get(CAPABILITIES, b""))}


def tlvs(payload: bytes) -> Iterator[tuple[int, bytes]]:
    """Type and value of each TLV up to the end mark or the end of the frame; ValueError for one that is cut."""
    at = 0
    for _ in range(MAX_TLVS):
        head = int.from_bytes(payload[at : at + 2], "big")
        kind, length = head >> 9, head & 0x1FF
        if len(payload) - at < 2 or kind == END:
            return
        if len(payload) - at - 2 < length:
            raise ValueError(f"a TLV of {length} bytes is cut")
        yield kind, payload[at + 2 : at + 2 + length]
        at += 2 + length


def text(value: bytes) -> str:
    """At most 255 characters without control characters; bytes that are no UTF-8 become replacement marks."""
    whole = clean(value.decode("utf-8", "replace"))
    return "".join(mark for mark in whole if mark.isprintable())[:MAX_TEXT].strip()


def _id(kind: int, value: bytes) -> str:
    subtype, rest = value[:1], value[1:]
    if subtype == bytes([MAC_SUBTYPE[kind]]) and len(rest) == 6:
        return rest.hex(":")
    if subtype == bytes([ADDRESS_SUBTYPE[kind]]) and rest:
        family, size = FAMILIES.get(rest[0], (0, 0))
        return socket.inet_ntop(family, rest[1:]) if size and len(rest) == size + 1 else rest.hex()[:MAX_TEXT]
    return text(rest)


def _is_bridge(value: bytes) -> bool:
    """Whether bridging is enabled (the second word), not only possible (the first)."""
    return len(value) >= 4 and bool(int.from_bytes(value[2:4], "big") & BRIDGE)
