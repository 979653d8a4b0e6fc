"""A port's GID table from sysfs, fast also with 1024 slots: one listing, one read a slot, empty slots skipped.

The kernel shows an empty slot as an all-zero GID, and answers EINVAL for its type and netdev; it does the
same for slots whose netdev lives in another network namespace. Which GID NCCL would take is not decided here.
"""

from __future__ import annotations

import socket
from typing import Any

from .facts import load, names, read_text, unknown

ZERO = "0000:0000:0000:0000:0000:0000:0000:0000"
MAPPED = bytes(10) + b"\xff\xff"
OTHER_NAMESPACE = "the kernel does not say (EINVAL: as for a netdev in another network namespace)"
EINVAL = 22


def read_gids(port: str) -> list[dict[str, Any]]:
    """The filled slots by index (model.fabric.Gid); raises OSError when the table can't be listed."""
    found = []
    for index in sorted(int(name) for name in names(f"{port}/gids") if name.isdigit()):
        text = _gid(f"{port}/gids/{index}")
        if text != ZERO:
            found.append(gid(port, index, text))
    return found


def _gid(path: str) -> str:
    """A slot's text; a slot that refuses to be read (EINVAL, or gone meanwhile) counts as empty."""
    try:
        return load(path) or ZERO
    except OSError:
        return ZERO


def gid(port: str, index: int, text: str) -> dict[str, Any]:
    """One filled slot: `ipv4` where it maps one, `link_local` for fe80::/10; raises OSError for no address."""
    packed = socket.inet_pton(socket.AF_INET6, text)
    return {
        "index": index,
        "gid": text,
        "type": _attribute(f"{port}/gid_attrs/types/{index}"),
        "netdev": _attribute(f"{port}/gid_attrs/ndevs/{index}"),
        "ipv4": socket.inet_ntop(socket.AF_INET, packed[12:]) if packed.startswith(MAPPED) else None,
        "link_local": packed[0] == 0xFE and packed[1] & 0xC0 == 0x80,
    }


def _attribute(path: str) -> Any:
    try:
        return load(path) or unknown(f"{path}: empty")
    except OSError as error:
        return unknown(OTHER_NAMESPACE) if error.errno == EINVAL else read_text(path)
