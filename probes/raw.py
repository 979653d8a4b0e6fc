"""Bytes of files as they are, bounded: for readers to which white space, binary layout or size matters.

Never waits for a writer (pipes) and never takes more than it was told. Text facts are read by `facts`.
"""

from __future__ import annotations

import os

CHUNK = 1 << 20
MAX_OFFSET = 1 << 50


def head(path: str, limit: int) -> bytes:
    """At most the first `limit` bytes; raises OSError that names the path."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    data = bytearray()
    try:
        while len(data) < limit and (chunk := os.read(descriptor, min(CHUNK, limit - len(data)))):
            data += chunk
    except OSError as error:
        error.filename = path
        raise
    finally:
        os.close(descriptor)
    return bytes(data)


def part(descriptor: int, offset: int, size: int) -> bytes:
    """`size` bytes from `offset` of an open file, fewer at its end; raises OSError, or ValueError for no such place."""
    if not 0 <= offset <= MAX_OFFSET or size < 0:
        raise ValueError(f"no file has {size} bytes at {offset}")
    data = bytearray()
    while len(data) < size and (chunk := os.pread(descriptor, min(CHUNK, size - len(data)), offset + len(data))):
        data += chunk
    return bytes(data)
