"""What systemd-networkd heard by LLDP: files of its own under /run, readable by all, one per interface index.

Each holds frames one after another, every one after its length in 8 bytes, little endian, below 4096 (systemd,
src/network/networkctl.c next_lldp_neighbor; it reads what networkd-lldp-rx.c writes, up to version 257). By default it
keeps only those of switches and routers. Index and file belong together in the machine's own network namespace alone.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

from .lldp_frames import ETHERTYPE, neighbour
from .machine import host_network
from .raw import head

FOLDER = "/run/systemd/netif/lldp"
HEADER = 14  # two MAC addresses and the EtherType
LONGEST = 4096
MAX_FILE = 1 << 18
MAX_NEIGHBOURS = 64


def is_there(root: str = "") -> bool:
    """Whether networkd keeps LLDP neighbours here, and they are of this process's own network."""
    return os.access(root + FOLDER, os.R_OK) and host_network(root) is True


def neighbours(interfaces: Sequence[dict[str, Any]], root: str = "") -> list[dict[str, Any]]:
    """model.fabric.LldpNeighbour of what is kept for each interface; raises OSError for a file that can't be read."""
    found = []
    for one in interfaces:
        path = f"{root}{FOLDER}/{one['ifindex']}"
        if os.access(path, os.F_OK):
            heard = [said for frame in frames(head(path, MAX_FILE)) if (said := neighbour(frame[HEADER:])) is not None]
            found += [{"netdev": one["name"], **said} for said in heard[:MAX_NEIGHBOURS]]
    return found


def frames(data: bytes) -> Iterator[bytes]:
    """The LLDP frames of a file, up to the first that is cut or too long."""
    at = 0
    while len(data) - at >= 8:
        size = int.from_bytes(data[at : at + 8], "little")
        frame = data[at + 8 : at + 8 + size] if size < LONGEST else b""
        if len(frame) < max(HEADER, size):
            return
        if frame[12:HEADER] == ETHERTYPE.to_bytes(2, "big"):
            yield frame
        at += 8 + size
