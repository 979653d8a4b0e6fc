"""A port's GID table from sysfs: one listing, one read a slot through the folder's descriptor, empty slots skipped.

The kernel shows an empty slot as an all-zero GID, and answers EINVAL for its type and netdev; it does the
same for slots whose netdev lives in another network namespace (drivers/infiniband/core/sysfs.c). There is no
cheaper truth: RDMA netlink holds no GID, and libibverbs must open the device first. Which GID NCCL would take is
not decided here.
"""

from __future__ import annotations

import errno
import os
import re
import socket
from typing import Any, NamedTuple

from .facts import load, unknown, why

ZERO = b"0000:0000:0000:0000:0000:0000:0000:0000"
MAPPED = bytes(10) + b"\xff\xff"
OTHER_NAMESPACE = "the kernel does not say (EINVAL: as for a netdev in another network namespace)"
SLOT_NAME = re.compile(r"[0-9]{1,5}")
SLOT_BYTES = 64


class Table(NamedTuple):
    """The filled slots by index (model.rdma.Gid), and how many slots there are."""

    gids: list[dict[str, Any]]
    slots: int


def read_table(port: str) -> Table:
    """The GID table of the port at `port`; raises OSError where it can't be listed or went away meanwhile."""
    folder = os.open(f"{port}/gids", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with os.scandir(folder) as entries:
            slots = sorted(int(one.name) for one in entries if SLOT_NAME.fullmatch(one.name))
        filled = [(slot, text) for slot in slots if (text := _slot(folder, slot)) != ZERO]
    finally:
        os.close(folder)
    return Table([gid(port, slot, text.decode("ascii", "replace")) for slot, text in filled], len(slots))


def _slot(folder: int, slot: int) -> bytes:
    """A slot's text; one that refuses to be read (EINVAL) counts as empty, one that is gone raises OSError."""
    try:
        descriptor = os.open(str(slot), os.O_RDONLY | os.O_CLOEXEC, dir_fd=folder)
        try:
            return os.read(descriptor, SLOT_BYTES).strip() or ZERO
        finally:
            os.close(descriptor)
    except OSError as error:
        if error.errno in (errno.ENODEV, errno.ENOENT):
            raise OSError(error.errno, "the device went away while its GID table was read") from error
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
        text = load(path)
    except OSError as error:
        return unknown(OTHER_NAMESPACE if error.errno == errno.EINVAL else why(error))
    return text if 0 < len(text) <= SLOT_BYTES else unknown(f"{path}: {len(text)} characters")
