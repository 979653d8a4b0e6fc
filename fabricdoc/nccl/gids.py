"""The GID that NCCL takes on a RoCE port when NCCL_IB_GID_INDEX is unset, by its own algorithm, and why that one.

NCCL 2.21.5 to 2.30.7, alike in all of them: ncclIbGetGidIndex, ncclUpdateGidIndex (transport/net_ib/connect.cc, once
net_ib.cc). Nothing is judged here (a link-local choice works between two equally bare ends), no log is read, and a
pinned index is not looked at.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from typing import NamedTuple

from fabricdoc.model.documents import Fact, Unknown
from fabricdoc.model.fabric import Gid, GidChoice, Hca, Port

ZERO = "0000:0000:0000:0000:0000:0000:0000:0000"
LINK_LOCAL = 0xFE80 << 48  # the upper 64 bits of fe80::/64
MAPPED = (0xFFFF, (0xFF0E << 80) | 0xFFFF)  # the upper 96 bits of ::ffff:a.b.c.d and of its multicast form
WIDTHS = {"AF_INET": 32, "AF_INET6": 128}
MOST_POSSIBLE = 8
NUMBER = re.compile(r"\s*([+-]?[0-9]{1,9})")


class Slot(NamedTuple):
    """A slot of the table: index, GID as a number, and the RoCE versions it may have (0: none that NCCL knows)."""

    at: int
    gid: int
    versions: frozenset[int]

    def family(self) -> str:
        """AF_INET for an IPv4-mapped GID, AF_INET6 for every other one, an empty slot too."""
        return "AF_INET" if self.gid >> 32 in MAPPED else "AF_INET6"

    def is_valid(self) -> bool:
        """Whether NCCL counts it as configured: neither empty nor in fe80::/64 (169.254.0.0/16 counts)."""
        return self.gid != 0 and self.gid >> 64 != LINK_LOCAL


class Wanted(NamedTuple):
    """What is looked for: a family, a RoCE version, and a CIDR range (0 bits: every address)."""

    family: str
    version: int
    base: int
    bits: int

    def covers(self, slot: Slot) -> bool:
        """Whether a slot is of the family and in the range; a negative number of bits holds nothing."""
        shift = max(WIDTHS[self.family] - self.bits, 0)
        differs = (slot.gid ^ self.base) & (1 << WIDTHS[self.family]) - 1
        return slot.family() == self.family and (not differs >> shift if self.bits > 0 else self.bits == 0)


def gid_choices(hcas: Fact[tuple[Hca, ...]]) -> tuple[GidChoice, ...]:
    """NCCL's choice on every ACTIVE Ethernet port; ports where it can't be told are left out."""
    ports = [(hca.name, port) for hca in (() if isinstance(hcas, Unknown) else hcas) for port in hca.ports]
    choices = (choose_gid(port, hca=name) for name, port in ports if port.state == "ACTIVE")
    return tuple(choice for choice in choices if isinstance(choice, GidChoice))


def choose_gid(
    port: Port, *, hca: str = "", family: str = "AF_INET", roce_version: int = 2, address_range: str | None = None
) -> Fact[GidChoice]:
    """The GID that NCCL takes on a port of `hca`, or why that can't be told.

    The other arguments are NCCL_IB_ADDR_FAMILY (what is not AF_INET6 is AF_INET), NCCL_IB_ROCE_VERSION_NUM and
    NCCL_IB_ADDR_RANGE (one CIDR; NCCL drops silently what it can't read). Unknown: another link layer (InfiniBand has
    its own rule), a table that was not read, or a GID type that was not and would decide.
    """
    if isinstance(port.gids, Unknown):
        return port.gids
    if not _is_roce(port.link_layer, port.gids):
        return Unknown(unknown="no Ethernet port: NCCL chooses there by another rule")
    try:
        slots = _slots(port, port.gids)
    except (OSError, ValueError):
        return Unknown(unknown="the table holds a GID that is no address")
    wanted = _wanted(family, roce_version, address_range)
    possible = {slots[0]}
    for candidate in slots[1:]:
        possible = {slot for current in possible for slot in _after(current, candidate, wanted)}
        if len(possible) > MOST_POSSIBLE:
            break
    if len(possible) > 1:
        listed = ", ".join(str(slot.at) for slot in sorted(possible)[:MOST_POSSIBLE])
        return Unknown(unknown=f"a GID type that decides is unknown: index {listed} are possible")
    chosen = possible.pop()
    text = {gid.index: gid.gid for gid in port.gids}.get(chosen.at, ZERO)
    why = _why(chosen, slots, wanted, address_range or "")
    return GidChoice(hca=hca, port=port.number, index=chosen.at, gid=text, why=why)


def _is_roce(layer: Fact[str], gids: tuple[Gid, ...]) -> bool:
    """Whether the port is Ethernet; where that was not read, a RoCE v2 GID says so (InfiniBand has none)."""
    if isinstance(layer, Unknown):
        return any(2 in _versions(gid) for gid in gids if not isinstance(gid.type, Unknown))
    return layer == "Ethernet"


def _after(current: Slot, candidate: Slot, wanted: Wanted) -> Iterator[Slot]:
    """What may be current after a candidate was looked at: one slot, or two where an unknown version decides."""
    if not wanted.covers(candidate):
        yield current
    elif current.family() != wanted.family:
        yield candidate
    elif not candidate.is_valid():
        yield current
    else:
        for version in candidate.versions:
            for now in current.versions:
                is_better = version != now or not current.is_valid()
                yield candidate if version == wanted.version and is_better else current


def _slots(port: Port, gids: tuple[Gid, ...]) -> list[Slot]:
    """The table from index 0; of a row of empty slots only the first, which does all that the row does.

    An empty slot matters: with AF_INET6 wanted NCCL may take it. Raises OSError or ValueError for no address.
    """
    filled = {gid.index: Slot(gid.index, _number(gid.gid), _versions(gid)) for gid in gids if gid.index >= 0}
    end = port.gid_slots if isinstance(port.gid_slots, int) else max(filled, default=0) + 1
    gaps = {index + 1 for index in filled if index + 1 < end} - set(filled)
    empty = (Slot(index, 0, frozenset({0})) for index in ({0} | gaps) - set(filled))
    return sorted([*(slot for slot in filled.values() if slot.at < max(end, 1)), *empty])


def _number(text: str) -> int:
    return int.from_bytes(socket.inet_pton(socket.AF_INET6, text), "big")


def _versions(gid: Gid) -> frozenset[int]:
    """The version in the kernel's word, as NCCL reads it; either where the word was not read."""
    if isinstance(gid.type, Unknown):
        return frozenset({1, 2})
    if gid.type.startswith(("IB/RoCE v1", "RoCE v1")):
        return frozenset({1})
    return frozenset({2 if gid.type.startswith("RoCE v2") else 0})


def _wanted(family: str, version: int, address_range: str | None) -> Wanted:
    """The search; a range without "/", of another family or with too many bits is dropped, as NCCL does."""
    family = "AF_INET6" if family == "AF_INET6" else "AF_INET"
    address, slash, bits = (address_range or "").partition("/")
    every = Wanted(family, version, 0, 0)
    if not slash:
        return every
    try:
        base = socket.inet_pton(getattr(socket, family), address)
    except (OSError, ValueError):
        return every
    number = NUMBER.match(bits)
    wanted = Wanted(family, version, int.from_bytes(base, "big"), int(number[1]) if number else 0)
    return wanted if wanted.bits <= WIDTHS[family] else every


def _why(chosen: Slot, slots: list[Slot], wanted: Wanted, address_range: str) -> str:
    """The reason in words; `address_range` is named where it took part."""
    family = "IPv4" if wanted.family == "AF_INET" else "IPv6"
    where = f" in {address_range}" if wanted.bits else ""
    if chosen.at == 0:
        if chosen.family() == wanted.family and any(wanted.covers(slot) and slot.is_valid() for slot in slots[1:]):
            return f"index 0 stays, {_described(chosen)}: no later GID is better"
        return f"no {family}{where}: index 0 stays, {_described(chosen)}"
    if chosen.versions == {wanted.version}:
        note = f" ({_ipv4(chosen.gid)}, link-local)" if chosen.gid >> 16 == (0xFFFF << 16) | 0xA9FE else ""
        return f"first {family} RoCE v{wanted.version} GID{where}{note}"
    if wanted.version in chosen.versions:
        return f"first {family} GID{where}, {_described(chosen)}"
    return f"no {family} RoCE v{wanted.version} GID{where}: the first {family} one, {_described(chosen)}"


def _described(slot: Slot) -> str:
    if slot.gid == 0:
        return "an empty slot"
    version = f"RoCE v{min(slot.versions)}" if len(slot.versions) == 1 and 0 not in slot.versions else "type unknown"
    if slot.family() == "AF_INET":
        return f"{version} {_ipv4(slot.gid)}"
    return f"{version} {'IPv6' if slot.is_valid() else 'link-local'}"


def _ipv4(gid: int) -> str:
    return socket.inet_ntop(socket.AF_INET, (gid & 0xFFFFFFFF).to_bytes(4, "big"))
