"""What one end of an RDMA ping is, whoever provides the verbs: its memory, its messages, and how a verb fails.

A message carries the run's token, its sender's side and the number of the test, repeated to its size, so that what
arrives is known to be ours and whole. No verb is called here.
"""

from __future__ import annotations

import ctypes
import mmap
import socket
import struct
from typing import Any, NamedTuple

LARGEST = 8192
RECEIVES = 4
WRITTEN_AT = LARGEST
RECEIVED_AT = 2 * LARGEST
BYTES = RECEIVED_AT + RECEIVES * LARGEST
QUEUE_DEPTH = 16
MTU_CODES = {256: 1, 512: 2, 1024: 3, 2048: 4, 4096: 5}
# infiniband/verbs.h, the same in every libibverbs: they are the kernel's ABI
QPT_RC, WR_RDMA_WRITE, WR_SEND, SIGNALED = 2, 0, 2, 2
ACCESS = 1 | 2  # local and remote write
# 4.096 us << 14 is 67 ms; a count of 7 never gave up on soft RoCE (measured), 6 did after 0.5 s
TIMEOUT, RETRIES, RNR_RETRIES, RNR_TIMER, HOPS = 14, 6, 6, 12, 64
SENT, WROTE, RECEIVED = 1, 2, 16
HEAD = struct.Struct(">IBBH")


class Refused(Exception):
    """A verb that failed in `phase`, with the kernel's errno (0: none told) and the library's words."""

    def __init__(self, phase: str, errno: int, text: str) -> None:
        super().__init__(text)
        self.phase, self.errno, self.text = phase, errno, text

    def fields(self) -> dict[str, Any]:
        """The failure as a message tells it."""
        return {"phase": self.phase, "errno": self.errno, "text": self.text[:200]}


class Place(NamedTuple):
    """Where an end is: an HCA's port and the GID to use, as text and as its index in the table."""

    device: str
    port: int
    gid_index: int
    gid: str


class Peer(NamedTuple):
    """The other end: where its queue pair is and where it may be written to."""

    gid: str
    qpn: int
    psn: int
    rkey: int
    address: int


class Done(NamedTuple):
    """One completion: `work` is SENT, WROTE, or RECEIVED plus the slot; `status` is the verbs' (0: success)."""

    work: int
    status: int
    length: int


class Memory:
    """The bytes of an end, in pages of their own: to send from, to be written to, and RECEIVES slots to receive in."""

    def __init__(self) -> None:
        self._pages = mmap.mmap(-1, BYTES)
        self._held: Any = ctypes.c_char.from_buffer(self._pages)
        self.address = ctypes.addressof(self._held)

    def put(self, data: bytes, at: int = 0) -> None:
        """What the next message or write takes."""
        self._pages[at : at + len(data)] = data

    def at(self, start: int, size: int) -> bytes:
        """The bytes at a place."""
        return self._pages[start : start + size]

    def written(self, size: int) -> bytes:
        """What the peer has written so far."""
        return self._pages[WRITTEN_AT : WRITTEN_AT + size]

    def received(self, slot: int, size: int) -> bytes:
        """A message in one of the slots."""
        start = RECEIVED_AT + slot * LARGEST
        return self._pages[start : start + min(max(size, 0), LARGEST)]

    def close(self) -> None:
        """Give the pages back; nothing may be registered over them any more."""
        self._held = None
        self._pages.close()


def message(token: int, side: int, test: int, size: int) -> bytes:
    """The bytes of a test's message; `size` is a multiple of 8."""
    return HEAD.pack(token, side, test, size & 0xFFFF) * (size // HEAD.size)


def test_of(data: bytes, token: int, side: int) -> int | None:
    """The number of the test that a message of this run and side belongs to; None for any other."""
    if len(data) < HEAD.size:
        return None
    found_token, found_side, test, _size = HEAD.unpack(data[: HEAD.size])
    return test if (found_token, found_side) == (token, side) else None


def same_gid(one: str, other: str) -> bool:
    """Whether two spellings are one GID."""
    try:
        return socket.inet_pton(socket.AF_INET6, one) == socket.inet_pton(socket.AF_INET6, other)
    except (OSError, ValueError):
        return False
