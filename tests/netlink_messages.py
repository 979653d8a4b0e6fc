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


def words(*numbers: int) -> bytes:
    """Numbers as 32-bit words: one for a u32 attribute, many for an array."""
    return struct.pack(f"={len(numbers)}I", *numbers)


def inet_conf(**values: int) -> bytes:
    """IFLA_AF_SPEC with the IPv4 settings of an interface, by the numbers of linux/ip.h; the rest 0."""
    numbers = {"rp_filter": 8, "arp_announce": 18, "arp_ignore": 19}
    conf = [0] * 33
    for name, value in values.items():
        conf[numbers[name] - 1] = value
    return nest([(2, nest([(1, words(*conf))])), (10, nest([(1, words(0))]))])


def ethtool_body(index: int, attributes: Attributes) -> bytes:
    """The attributes of an ethtool reply: its header nest (linux/ethtool_netlink.h), then the others."""
    return nest([(0x8000 | 1, nest([(1, words(index)), (2, b"enp1s0f0np0\0")])), *attributes])


def ieee_pfc(mask: int) -> bytes:
    """struct ieee_pfc of linux/dcbnl.h: capability 8, the mask of protected priorities, counters."""
    return struct.pack("=BBBxHxx8Q8Q", 8, mask, 0, 0, *range(16))


def ieee_ets(percent: Sequence[int], algorithm: Sequence[int], priority_tc: Sequence[int]) -> bytes:
    """struct ieee_ets of linux/dcbnl.h; what is received and what is recommended differs from what is sent."""
    rest = [9] * 8
    return bytes([0, 8, 0, *percent, *rest, *algorithm, *priority_tc, *rest, *rest, *rest])


def dcb_app(selector: int, priority: int, protocol: int) -> tuple[int, bytes]:
    """DCB_ATTR_IEEE_APP with a struct dcb_app of linux/dcbnl.h."""
    return 1, struct.pack("=BBH", selector, priority, protocol)


def dcb_body(ieee: Attributes) -> bytes:
    """The answer to IEEE_GET: struct dcbmsg, DCB_ATTR_IFNAME, DCB_ATTR_IEEE, DCB_ATTR_DCBX (host, IEEE)."""
    return struct.pack("=BBxx", 0, 21) + nest([(1, b"enp1s0f0np0\0"), (13, nest(ieee)), (14, b"\x09")])
