"""Filters that the kernel runs on each frame before it reaches a socket: only frames with this run's nonce get in.

Classic BPF (linux/filter.h), which every socket may attach, privileged or not. A flood of strays then costs this
process nothing: it neither wakes it nor fills the socket's buffer. The seal is still checked on all that gets in. How
many were turned away is the kernel's count (`turned_away`, `passed`). Attaches; reads and judges nothing.
"""

from __future__ import annotations

import array
import socket
import struct
from collections.abc import Sequence

SO_ATTACH_FILTER = 26  # asm-generic/socket.h: x86-64 and arm64
SO_MEMINFO = 55
SK_MEMINFO_DROPS = 8  # linux/sock_diag.h
SOL_PACKET = 263
PACKET_STATISTICS = 6
LOAD_WORD, LOAD_LENGTH, IF_EQUAL, IF_AT_LEAST, RETURN = 0x20, 0x80, 0x15, 0x35, 0x06
WHOLE = 0x40000

Code = Sequence[tuple[int, int, int, int]]  # operation, jump if true, jump if false, operand


def only(nonce: bytes, offset: int) -> Code:
    """The filter that takes frames with `nonce` (8 bytes) at `offset` and no others."""
    high, low = struct.unpack(">II", nonce)
    return (
        (LOAD_WORD, 0, 0, offset),
        (IF_EQUAL, 0, 3, high),
        (LOAD_WORD, 0, 0, offset + 4),
        (IF_EQUAL, 0, 1, low),
        (RETURN, 0, 0, WHOLE),
        (RETURN, 0, 0, 0),
    )


def all_but(nonce: bytes, offset: int) -> Code:
    """The filter that takes what `only` refuses, frames too short to hold a nonce included."""
    high, low = struct.unpack(">II", nonce)
    return (
        (LOAD_LENGTH, 0, 0, 0),
        (IF_AT_LEAST, 0, 5, offset + 8),
        (LOAD_WORD, 0, 0, offset),
        (IF_EQUAL, 0, 3, high),
        (LOAD_WORD, 0, 0, offset + 4),
        (IF_EQUAL, 0, 1, low),
        (RETURN, 0, 0, 0),
        (RETURN, 0, 0, WHOLE),
    )


def attach(sock: socket.socket, code: Code) -> None:
    """Have the kernel run `code` on what arrives at `sock`. Raises OSError."""
    steps = array.array("B", b"".join(struct.pack("HBBI", *step) for step in code))
    address, _length = steps.buffer_info()
    sock.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack("HP", len(code), address))


def passed(sock: socket.socket) -> tuple[int, int]:
    """Frames that passed a packet socket's filter since the last call, and those of them its buffer had no room for."""
    frames, drops = struct.unpack("II", sock.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8))
    return frames, drops


def turned_away(sock: socket.socket) -> int:
    """Datagrams that a UDP socket did not get, by its filter or for want of room; 0 before Linux 4.12."""
    try:
        info = sock.getsockopt(socket.SOL_SOCKET, SO_MEMINFO, 64)
    except OSError:
        return 0
    found: int = struct.unpack_from("I", info, 4 * SK_MEMINFO_DROPS)[0]
    return found
