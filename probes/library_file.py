"""What the file of a library says without being loaded: NCCL's version, the variables it knows, the SHA-256 of it all.

NCCL's text "NCCL version 2.30.7+cuda13.3" stands in the read-only data of every build (src/init.cc; seen in the wheel
of 2.30.7: 252 MB of which .rodata is 0.5 MB), so the ELF file's sections are read and only that one is searched.
"""

from __future__ import annotations

import os
import re
import stat
import struct
import time
from typing import Any

from .facts import unknown
from .raw import part

VERSION = re.compile(rb"NCCL version (2\.\d{1,3}\.\d{1,3}[\w.+-]{0,40})\0")
VARIABLE = re.compile(rb"NCCL_[A-Z0-9_]{2,100}")
MAX_VARIABLES = 4096
SECTION = re.compile(rb"\.rodata(\.[\w.]+)?")
# where the file has no table of sections (stripped): so much of its beginning
MAX_SEARCHED = 16 << 20
MAX_SECTIONS = 512
ELF_HEADER = struct.Struct("<4sBB10xHHIQQQIHHHHHH")
SECTION_HEADER = struct.Struct("<IIQQQQIIQQ")
MAX_HASHED = 600 << 20
HASH_LIMIT_S = 3.0
HASH_CHUNK = 1 << 20


def nccl_version(path: str) -> Any:
    """The version this file of NCCL says of itself ("2.30.7+cuda13.3"); raises OSError or ValueError."""
    descriptor = _opened(path)
    try:
        for offset, size in _searched(descriptor):
            if found := VERSION.search(part(descriptor, offset, min(size, MAX_SEARCHED))):
                return found[1].decode("ascii")
    finally:
        os.close(descriptor)
    return unknown(f"{path}: no NCCL version is written in it")


def nccl_variables(path: str) -> list[str]:
    """The names beginning with NCCL_ in this file's read-only data, sorted; raises OSError or ValueError."""
    found: set[bytes] = set()
    descriptor = _opened(path)
    try:
        for offset, size in _searched(descriptor):
            found.update(VARIABLE.findall(part(descriptor, offset, min(size, MAX_SEARCHED))))
    finally:
        os.close(descriptor)
    return sorted(name.decode("ascii") for name in found)[:MAX_VARIABLES]


def _opened(path: str) -> int:
    """A descriptor of a regular file; raises OSError for none, ValueError for anything else."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise ValueError(f"{path} is no file")
    return descriptor


def _searched(descriptor: int) -> list[tuple[int, int]]:
    """Offset and size of what to search: the read-only data, else the file's beginning."""
    try:
        return read_only_data(descriptor) or [(0, MAX_SEARCHED)]
    except (ValueError, struct.error):
        return [(0, MAX_SEARCHED)]


def read_only_data(descriptor: int) -> list[tuple[int, int]]:
    """Offset and size of every .rodata section of a 64-bit little-endian ELF file; raises ValueError, struct.error."""
    header = ELF_HEADER.unpack(part(descriptor, 0, ELF_HEADER.size))
    (magic, bits, order), table, (width, count, names_at) = header[:3], header[8], header[13:]
    if (magic, bits, order, width) != (b"\x7fELF", 2, 1, SECTION_HEADER.size) or not names_at < count <= MAX_SECTIONS:
        raise ValueError("no ELF file of 64 bits with a table of sections")
    data = part(descriptor, table, count * width)
    sections = [SECTION_HEADER.unpack_from(data, place * width) for place in range(count)]
    names = part(descriptor, sections[names_at][4], min(sections[names_at][5], MAX_SEARCHED))
    return [(one[4], one[5]) for one in sections if SECTION.fullmatch(names[one[0] :].split(b"\0", 1)[0])]


def sha256(path: str, limit_s: float = HASH_LIMIT_S) -> Any:
    """SHA-256 of the whole file in hex, within `limit_s` seconds and 600 MiB; raises OSError or ValueError."""
    descriptor = _opened(path)
    try:
        size = os.fstat(descriptor).st_size
        if size > MAX_HASHED:
            return unknown(f"{path}: {size} bytes, above the {MAX_HASHED} that are hashed")
        return _hashed(descriptor, time.monotonic() + limit_s) or unknown(f"{path}: not hashed within {limit_s:g} s")
    finally:
        os.close(descriptor)


def _hashed(descriptor: int, end: float) -> str:
    """The digest in hex, "" when the time is up; hashlib is loaded here since few scans want it."""
    import hashlib

    digest = hashlib.sha256()
    while chunk := os.read(descriptor, HASH_CHUNK):
        if time.monotonic() > end:
            return ""
        digest.update(chunk)
    return digest.hexdigest()
