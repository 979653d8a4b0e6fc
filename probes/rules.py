"""The policy routing rules, IPv4 and IPv6, in the words of `ip rule`. Which rule a packet meets is not decided here.

Layout: linux/fib_rules.h. A rule that ends in no table has table 0 and its action as the last word of the selector,
as `ip rule` prints it ("from 10.0.0.0/8 unreachable").
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

from .netlink import FAMILIES, RTM_GETRULE, attributes, dump, ip_text, string, u8, u32

FRA_DST, FRA_SRC, FRA_IIFNAME, FRA_GOTO, FRA_PRIORITY = 1, 2, 3, 4, 6
FRA_FWMARK, FRA_SUPPRESS_PREFIXLEN, FRA_TABLE, FRA_FWMASK, FRA_OIFNAME = 10, 14, 15, 16, 17
FRA_L3MDEV, FRA_UID_RANGE, FRA_IP_PROTO, FRA_SPORT_RANGE, FRA_DPORT_RANGE, FRA_DSCP = 19, 20, 22, 23, 24, 25
TO_TABLE, GOTO = 1, 2
ACTIONS = {3: "nop", 6: "blackhole", 7: "unreachable", 8: "prohibit"}
INVERT = 0x2
PROTOCOLS = {1: "icmp", 6: "tcp", 17: "udp", 58: "ipv6-icmp"}
NOT_SUPPRESSED = 0xFFFFFFFF

RULE = struct.Struct("=BBBBBBBBI")


def read_rules() -> Any:
    """Every rule by family and priority (model.netdev.Rule); raises OSError."""
    bodies = dump(RTM_GETRULE, RULE.pack(0, 0, 0, 0, 0, 0, 0, 0, 0))
    found = [rule(body) for body in bodies if body[:1] and body[0] in FAMILIES]
    return sorted(found, key=lambda one: (one["family"], one["priority"]))


def rule(body: bytes) -> dict[str, Any]:
    """One RTM_NEWRULE message. Priority 0 is left out by the kernel, and comes before all others."""
    family, to_length, from_length, tos, table, _one, _two, action, flags = RULE.unpack_from(body)
    found = dict(attributes(body, RULE.size))
    words = [
        *(["not"] if flags & INVERT else []),
        *_prefix("from", found.get(FRA_SRC), from_length),
        *_prefix("to", found.get(FRA_DST), to_length),
        *([f"tos {tos:#x}"] if tos else []),
        *_matches(found),
        *_end(action, found),
    ]
    return {
        "priority": u32(found[FRA_PRIORITY]) if FRA_PRIORITY in found else 0,
        "table": _table(action, table, found),
        "selector": " ".join(words),
        "family": FAMILIES[family],
    }


def _prefix(word: str, address: bytes | None, length: int) -> list[str]:
    return [f"{word} {ip_text(address)}/{length}"] if address else []


def _table(action: int, table: int, found: dict[int, bytes]) -> int:
    """The table looked up; the attribute holds numbers above 255, the byte does not."""
    if action != TO_TABLE or found.get(FRA_L3MDEV, b"")[:1] == b"\1":
        return 0
    return u32(found[FRA_TABLE]) if FRA_TABLE in found else table


def _matches(found: dict[int, bytes]) -> Iterator[str]:
    """What else must match: DSCP, mark, interfaces, users, protocol, ports."""
    if FRA_DSCP in found:
        yield f"dscp {u8(found[FRA_DSCP])}"
    if FRA_FWMARK in found or FRA_FWMASK in found:
        mark, mask = u32(found.get(FRA_FWMARK, bytes(4))), u32(found.get(FRA_FWMASK, b"\xff" * 4))
        if mark or mask:
            yield f"fwmark {mark:#x}" + ("" if mask == 0xFFFFFFFF else f"/{mask:#x}")
    for kind, word in ((FRA_IIFNAME, "iif"), (FRA_OIFNAME, "oif")):
        if kind in found:
            yield f"{word} {string(found[kind])}"
    if FRA_UID_RANGE in found:
        yield "uidrange {}-{}".format(*struct.unpack_from("=II", found[FRA_UID_RANGE]))
    if FRA_IP_PROTO in found:
        number = u8(found[FRA_IP_PROTO])
        yield f"ipproto {PROTOCOLS.get(number, number)}"
    for kind, word in ((FRA_SPORT_RANGE, "sport"), (FRA_DPORT_RANGE, "dport")):
        if kind in found:
            first, last = struct.unpack_from("=HH", found[kind])
            yield f"{word} {first}" if first == last else f"{word} {first}-{last}"


def _end(action: int, found: dict[int, bytes]) -> Iterator[str]:
    """What comes instead of a plain look-up, or limits it."""
    if action == GOTO and FRA_GOTO in found:
        yield f"goto {u32(found[FRA_GOTO])}"
    elif action == TO_TABLE:
        if found.get(FRA_L3MDEV, b"")[:1] == b"\1":
            yield "lookup [l3mdev-table]"
        length = u32(found.get(FRA_SUPPRESS_PREFIXLEN, b"\xff" * 4))
        if length != NOT_SUPPRESSED:
            yield f"suppress_prefixlength {length}"
    else:
        yield ACTIONS.get(action, f"action {action}")
