"""Netlink messages as bytes, for tests: the kernel's layout, written by hand."""

from __future__ import annotations

import struct
from collections.abc import Sequence

Attributes = Sequence[tuple[int, bytes]]


def attribute(kind: int, value: bytes) -> bytes:
    """One attribute, padded to four bytes."""
    return (struct.pack("=HH", 4 + len(value), kind) + value).ljust(4 + (len(value) + 3) // 4 * 4, b"\0")


def nest(attributes: Attributes) -> bytes:
    """Attributes one after the other."""
    return b"".join(attribute(kind, value) for kind, value in attributes)


def message(kind: int, body: bytes, *, sequence: int = 1, flags: int = 2) -> bytes:
    """A whole message, padded."""
    return (struct.pack("=IHHII", 16 + len(body), kind, flags, sequence, 99) + body).ljust(
        16 + (len(body) + 3) // 4 * 4, b"\0"
    )


def link_body(index: int, attributes: Attributes) -> bytes:
    """An RTM_NEWLINK body."""
    return struct.pack("=BxHiII", 0, 1, index, 0, 0) + nest(attributes)


def address_body(index: int, family: int, prefix: int, scope: int, attributes: Attributes) -> bytes:
    """An RTM_NEWADDR body."""
    return struct.pack("=BBBBI", family, prefix, 0, scope, index) + nest(attributes)


def route_body(
    attributes: Attributes, *, family: int = 2, length: int = 0, table: int = 254, kind: int = 1, flags: int = 0
) -> bytes:
    """An RTM_NEWROUTE body."""
    return struct.pack("=BBBBBBBBI", family, length, 0, 0, table, 3, 0, kind, flags) + nest(attributes)


def rule_body(
    attributes: Attributes,
    *,
    family: int = 2,
    to: int = 0,
    source: int = 0,
    tos: int = 0,
    table: int = 254,
    action: int = 1,
    flags: int = 0,
) -> bytes:
    """An RTM_NEWRULE body (struct fib_rule_hdr of linux/fib_rules.h)."""
    return struct.pack("=BBBBBBBBI", family, to, source, tos, table, 0, 0, action, flags) + nest(attributes)


def neighbour_body(index: int, state: int, attributes: Attributes, *, family: int = 2) -> bytes:
    """An RTM_NEWNEIGH body (struct ndmsg of linux/neighbour.h)."""
    return struct.pack("=BxHiHBB", family, 0, index, state, 0, 1) + nest(attributes)
