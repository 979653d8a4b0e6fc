"""The dynamic loader's cache, /etc/ld.so.cache: which file a library's name leads to for this machine's programs.

Layout from glibc (sysdeps/generic/dl-cache.h): the header "glibc-ld.so.cache1.1", 48 bytes, then entries of 24 bytes;
in files made for old programs it stands behind an older table. Only looks names up; loads nothing.
"""

from __future__ import annotations

import os
import struct

from .facts import clean
from .raw import head

MAGIC = b"glibc-ld.so.cache1.1"
MAX_BYTES = 16 << 20
MAX_ENTRIES = 200_000
HEADER_SIZE = 48
COUNT_AT = len(MAGIC)
ENTRY = struct.Struct("=iIIIQ")
MAX_TEXT = 4096
# the high byte of an entry's flags: the ABI it is for (FLAG_X8664_LIB64, FLAG_AARCH64_LIB64)
ABIS = {"x86_64": 0x0300, "aarch64": 0x0A00}
ABI_MASK = 0xFF00


def cached(path: str, machine: str = "") -> dict[str, str]:
    """Library name to absolute path, the first entry of a name wins; empty for no cache or one that is broken."""
    try:
        return entries(head(path, MAX_BYTES), machine or os.uname().machine)
    except (OSError, ValueError, struct.error):
        return {}


def entries(data: bytes, machine: str) -> dict[str, str]:
    """The entries for `machine` (any, where its ABI is not known); raises ValueError or struct.error."""
    start = data.find(MAGIC)
    if start < 0:
        raise ValueError("no cache of glibc's present layout")
    (count,) = struct.unpack_from("=I", data, start + COUNT_AT)
    if count > MAX_ENTRIES:
        raise ValueError(f"more than {MAX_ENTRIES} entries")
    wanted, found = ABIS.get(machine), dict[str, str]()
    for place in range(count):
        flags, key, value, _os, _hwcap = ENTRY.unpack_from(data, start + HEADER_SIZE + place * ENTRY.size)
        if wanted is None or flags & ABI_MASK == wanted:
            name, path = _text(data, start + key), _text(data, start + value)
            if path.startswith("/"):
                found.setdefault(name, path)
    return found


def _text(data: bytes, offset: int) -> str:
    """The text at an offset; raises ValueError where it does not end."""
    end = data.find(b"\0", offset, offset + MAX_TEXT)
    if end < 0:
        raise ValueError("a text that does not end")
    return clean(os.fsdecode(data[offset:end]))
