"""A small netlink reader: whole dumps of one kind, single questions, the attributes of a message, simple types.

It asks the kernel only for what any user may read and sends nothing but requests to read. Names of fields and
what they mean are the callers'. Layout: linux/netlink.h, linux/rtnetlink.h.
"""

from __future__ import annotations

import errno
import os
import socket
import struct
from collections.abc import Iterator
from typing import NamedTuple

NETLINK_ROUTE, NETLINK_GENERIC = 0, 16
RTM_GETLINK, RTM_GETADDR, RTM_GETROUTE, RTM_GETNEIGH, RTM_GETRULE, RTM_GETDCB = 18, 22, 26, 30, 34, 78
NLMSG_ERROR, NLMSG_DONE = 2, 3
NLM_F_REQUEST, NLM_F_ACK, NLM_F_DUMP, NLM_F_DUMP_INTR = 0x1, 0x4, 0x300, 0x10
NLA_F_NESTED, NLA_TYPE_MASK = 0x8000, 0x3FFF

HEADER = struct.Struct("=IHHII")
ATTRIBUTE = struct.Struct("=HH")

ANSWER_TIMEOUT_S = 2.0
SILENCE = f"no answer within {ANSWER_TIMEOUT_S:g} s"
BUFFER = 1 << 18
ATTEMPTS = 5
FAMILIES = {socket.AF_INET: "ipv4", socket.AF_INET6: "ipv6"}
MAX_MESSAGES = 50_000


class Message(NamedTuple):
    """One netlink message without its header; `kind` is the RTM_ number."""

    kind: int
    flags: int
    sequence: int
    body: bytes


def dump(
    kind: int, request_body: bytes, protocol: int = NETLINK_ROUTE, found: list[bytes] | None = None
) -> list[bytes]:
    """The bodies of a whole dump, read again (5 times at most) while the table changes under it.

    A list given as `found` is filled as answers come, so that what came before a refusal is not lost. Raises
    OSError: the kernel's refusal, no answer within 2 s (TimeoutError), more than 50 000 messages, or a table
    that would not hold still; ValueError: an answer whose lengths are wrong.
    """
    bodies = [] if found is None else found
    for attempt in range(1, ATTEMPTS + 1):
        bodies.clear()
        if not _exchange(protocol, kind, NLM_F_REQUEST | NLM_F_DUMP, attempt, request_body, bodies):
            return bodies
    raise OSError(f"the table kept changing while it was read ({ATTEMPTS} times)")


def ask(kind: int, request_body: bytes, protocol: int = NETLINK_ROUTE) -> list[bytes]:
    """The bodies that answer one question about one thing (none when the kernel only says yes); errors as `dump`."""
    bodies: list[bytes] = []
    _exchange(protocol, kind, NLM_F_REQUEST | NLM_F_ACK, 1, request_body, bodies)
    return bodies


def _exchange(protocol: int, kind: int, flags: int, sequence: int, request_body: bytes, bodies: list[bytes]) -> bool:
    """Send one request and collect its answers; whether the kernel marked them as interrupted."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, protocol) as wire:
        wire.settimeout(ANSWER_TIMEOUT_S)
        wire.bind((0, 0))
        wire.send(HEADER.pack(HEADER.size + len(request_body), kind, flags, sequence, 0) + request_body)
        return collect(_packets(wire), sequence, bodies)


def _packets(wire: socket.socket) -> Iterator[bytes]:
    while True:
        try:
            data, _ancillary, flags, _sender = wire.recvmsg(BUFFER)
        except TimeoutError as error:
            raise TimeoutError(errno.ETIMEDOUT, SILENCE) from error
        if flags & socket.MSG_TRUNC:
            raise OSError("a netlink answer larger than the buffer")
        yield data


def collect(packets: Iterator[bytes], sequence: int, bodies: list[bytes]) -> bool:
    """Append the bodies that answer request `sequence`; whether the kernel marked the dump as interrupted."""
    interrupted = False
    for packet in packets:
        for message in messages(packet):
            if message.sequence != sequence:
                continue
            interrupted = interrupted or bool(message.flags & NLM_F_DUMP_INTR)
            if message.kind in (NLMSG_ERROR, NLMSG_DONE):
                _check(message)
                return interrupted
            bodies.append(message.body)
            if len(bodies) > MAX_MESSAGES:
                raise OSError(f"more than {MAX_MESSAGES} entries")
    raise OSError("the answer ended early")


def _check(message: Message) -> None:
    """Raise the error an ERROR or DONE message carries (a negative errno in its first four bytes)."""
    code = -struct.unpack_from("=i", message.body)[0] if len(message.body) >= 4 else 0
    if code > 0:
        raise OSError(code, os.strerror(code))


def messages(packet: bytes) -> Iterator[Message]:
    """The messages of one packet; raises ValueError where a length leads outside it."""
    offset = 0
    while offset < len(packet):
        if len(packet) - offset < HEADER.size:
            raise ValueError("a netlink message without a whole header")
        length, kind, flags, sequence, _port = HEADER.unpack_from(packet, offset)
        if length < HEADER.size or offset + length > len(packet):
            raise ValueError(f"a netlink message of length {length} in {len(packet) - offset} bytes")
        yield Message(kind, flags, sequence, packet[offset + HEADER.size : offset + length])
        offset += _aligned(length)


def attributes(body: bytes, offset: int = 0) -> list[tuple[int, bytes]]:
    """The attributes of a message from `offset` on, in order; raises ValueError where a length is wrong."""
    found, end, unpack = [], len(body), ATTRIBUTE.unpack_from
    while offset < end:
        if end - offset < 4:
            raise ValueError("an attribute without a whole header")
        length, kind = unpack(body, offset)
        if length < 4 or offset + length > end:
            raise ValueError(f"an attribute of length {length} in {end - offset} bytes")
        found.append((kind & NLA_TYPE_MASK, body[offset + 4 : offset + length]))
        offset += (length + 3) & ~3
    return found


def _aligned(length: int) -> int:
    return (length + 3) & ~3


def attribute(kind: int, value: bytes) -> bytes:
    """One attribute of a request, padded to four bytes; a nest takes `NLA_F_NESTED | kind` and joined attributes."""
    return (ATTRIBUTE.pack(ATTRIBUTE.size + len(value), kind) + value).ljust(
        ATTRIBUTE.size + _aligned(len(value)), b"\0"
    )


class InterfaceNames:
    """Names of interfaces by index, each asked for once; "" for one that went away meanwhile."""

    def __init__(self) -> None:
        self._known: dict[int, str] = {}

    def __getitem__(self, index: int) -> str:
        if index not in self._known:
            self._known[index] = _interface_name(index)
        return self._known[index]


def _interface_name(index: int) -> str:
    try:
        return socket.if_indextoname(index)
    except (OSError, OverflowError):
        return ""


def u8(value: bytes) -> int:
    """An 8-bit attribute; raises IndexError when it is empty."""
    return value[0]


def u16(value: bytes) -> int:
    """A 16-bit attribute; raises struct.error when it is shorter."""
    number: int = struct.unpack_from("=H", value)[0]
    return number


def u32(value: bytes) -> int:
    """A 32-bit attribute; raises struct.error when it is shorter."""
    number: int = struct.unpack_from("=I", value)[0]
    return number


def ip_text(value: bytes) -> str:
    """An IPv4 or IPv6 address attribute as text; raises ValueError for any other length."""
    return socket.inet_ntop(socket.AF_INET if len(value) == 4 else socket.AF_INET6, value)


def string(value: bytes) -> str:
    """A text attribute without its closing NUL."""
    return value.split(b"\0", 1)[0].decode("utf-8", "replace")
