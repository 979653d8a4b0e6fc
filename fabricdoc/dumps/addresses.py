"""Addresses replaced so that what they share stays shared: subnets, offsets between functions, GIDs and their MACs.

IPv4 and IPv6 bits are flipped one after the other, each by a keyed function of the bits before it (as Crypto-PAn does),
so two addresses share as many leading bits after as before. The class of an address stays: private, link-local,
loopback. The last octet of an IPv4 address stays. The low half of a MAC or GUID moves to a random place together with
all that lie near it, so +0, +1, +4, +5 stay. An address is never replaced by one that was in the document.
"""

from __future__ import annotations

import hashlib
import ipaddress
import random
import re
from collections.abc import Iterable

KEEPS_V4 = (
    (ipaddress.IPv4Network("127.0.0.0/8"), 32),
    (ipaddress.IPv4Network("0.0.0.0/8"), 32),
    (ipaddress.IPv4Network("224.0.0.0/3"), 32),
    (ipaddress.IPv4Network("169.254.0.0/16"), 16),
    (ipaddress.IPv4Network("192.168.0.0/16"), 16),
    (ipaddress.IPv4Network("172.16.0.0/12"), 12),
    (ipaddress.IPv4Network("100.64.0.0/10"), 10),
)
"""Class of IPv4 addresses -> leading bits that stay; every other address keeps its first octet only."""
LAST_V4 = 24
NEAR = 64
SPACE = 1 << 24
MAC = re.compile(r"[0-9a-fA-F]{2}(?::[0-9a-fA-F]{2}){5}\Z")
GUID = re.compile(r"[0-9a-fA-F]{4}(?::[0-9a-fA-F]{4}){3}\Z")


class Addresses:
    """One random replacement of every address, made for a document that holds `tails`: see `tail_of`."""

    def __init__(self, tails: Iterable[int], seed: bytes) -> None:
        self._key = hashlib.sha256(seed).digest()
        self._tails = _moved(sorted(set(tails)), random.Random(self._key))
        self._known: dict[tuple[int, int, int, int], int] = {}

    def ip(self, text: str, prefix: int | None = None) -> str:
        """An address, or with `prefix` a network where its host bits are all 0. ValueError for another text."""
        address = ipaddress.ip_address(text)
        new = self._v4(address) if isinstance(address, ipaddress.IPv4Address) else self._v6(address)
        if prefix is not None and 0 <= prefix <= address.max_prefixlen:
            host = (1 << (address.max_prefixlen - prefix)) - 1
            if int(address) & host == 0:
                new &= ~host
        return self._written(address, new, text)

    def mac(self, text: str) -> str:
        """A MAC: its vendor's half stays; all zeros, broadcast and multicast stay whole."""
        value = int(text.replace(":", ""), 16)
        if value == 0 or value >> 40 & 1:
            return text
        return _grouped(self._with_tail(value), 12, 2)

    def guid(self, text: str) -> str:
        """A GUID (four groups of four): its first five bytes stay; all zeros stay."""
        value = int(text.replace(":", ""), 16)
        return _grouped(self._with_tail(value), 16, 4) if value else text

    def _with_tail(self, value: int) -> int:
        tail = value & (SPACE - 1)
        return value & ~(SPACE - 1) | self._tails.get(tail, tail)

    def _v4(self, address: ipaddress.IPv4Address) -> int:
        return self._flipped(int(address), 32, _kept_bits(address), LAST_V4)

    def _v6(self, address: ipaddress.IPv6Address) -> int:
        value = int(address)
        mapped = address.ipv4_mapped
        if mapped is not None:
            return value & ~0xFFFFFFFF | self._v4(mapped)
        if value < 2 or value >> 120 == 0xFF:
            return value
        local = value >> 118 == 0xFE80 >> 6
        high = value if local else self._flipped(value, 128, 8 if value >> 121 == 0x7E else 3, 64)
        if value >> 24 & 0xFFFF == 0xFFFE:  # made from a MAC (EUI-64)
            return self._with_tail(high)
        return self._flipped(high, 128, 64, 128)

    def _flipped(self, value: int, size: int, first: int, last: int) -> int:
        """The bits from `first` to `last` (from the left), each flipped or not by the original bits before it."""
        above = (value >> (size - last), size, first, last)
        if above not in self._known:
            self._known[above] = self._changes(value, size, first, last)
        return value ^ self._known[above]

    def _changes(self, value: int, size: int, first: int, last: int) -> int:
        new = 0
        for at in range(first, last):
            before = (value >> (size - at)).to_bytes(17, "big")
            if hashlib.blake2b(bytes([size, at]) + before, key=self._key, digest_size=1).digest()[0] & 1:
                new ^= 1 << (size - at - 1)
        return new

    def _written(self, old: ipaddress.IPv4Address | ipaddress.IPv6Address, new: int, text: str) -> str:
        """The new address as the old one was written: in full groups, with an IPv4 tail, or short."""
        if isinstance(old, ipaddress.IPv4Address):
            return str(ipaddress.IPv4Address(new))
        if len(text) == 39:
            return _grouped(new, 32, 4)
        if "." in text and new >> 32 == 0xFFFF:
            return f"::ffff:{ipaddress.IPv4Address(new & 0xFFFFFFFF)}"
        return ipaddress.IPv6Address(new).compressed


def must_move(text: str, prefix: int = LAST_V4) -> bool:
    """Whether an address, or a network, is of a kind that may not stay: IPv4 that is not told by its class alone."""
    address = ipaddress.ip_address(text)
    return isinstance(address, ipaddress.IPv4Address) and _kept_bits(address) < min(prefix, LAST_V4)


def _kept_bits(address: ipaddress.IPv4Address) -> int:
    return next((bits for network, bits in KEEPS_V4 if address in network), 8)


def tail_of(text: str) -> int | None:
    """The low 24 bits of a MAC, of a GUID, or of an IPv6 address made from a MAC; None for anything else."""
    if MAC.match(text) or GUID.match(text):
        value = int(text.replace(":", ""), 16)
        return value & (SPACE - 1) if value and not (MAC.match(text) and value >> 40 & 1) else None
    try:
        value = int(ipaddress.IPv6Address(text))
    except ValueError:
        return None
    return value & (SPACE - 1) if value >> 24 & 0xFFFF == 0xFFFE else None


def _moved(tails: list[int], dice: random.Random) -> dict[int, int]:
    """Each number to another one: those within 64 of one another move together, to where nothing was or is."""
    groups: list[list[int]] = []
    for tail in tails:
        if groups and tail - groups[-1][-1] <= NEAR:
            groups[-1].append(tail)
        else:
            groups.append([tail])
    taken = {tail // NEAR for tail in tails}
    moved: dict[int, int] = {}
    for group in groups:
        width = group[-1] - group[0]
        while True:
            start = dice.randrange(1, SPACE - width)
            blocks = set(range(start // NEAR, (start + width) // NEAR + 1))
            if not blocks & taken or len(taken) * 2 * NEAR > SPACE:
                break
        taken |= blocks
        moved |= {tail: start + tail - group[0] for tail in group}
    return moved


def _grouped(value: int, digits: int, size: int) -> str:
    text = f"{value:0{digits}x}"
    return ":".join(text[at : at + size] for at in range(0, digits, size))
