"""Link settings, FEC and pause of one interface through the SIOCETHTOOL ioctl: the way before ethtool's netlink.

Only the GET commands that any user may send; the kernel's numbers are handed on as they are. Layout:
linux/ethtool.h; lanes are not part of it.
"""

from __future__ import annotations

import fcntl
import socket
import struct
from array import array

SIOCETHTOOL = 0x8946
GPAUSEPARAM, GLINKSETTINGS, GFECPARAM = 0x12, 0x4C, 0x50
NAME_SIZE = 16
SETTINGS = struct.Struct("=IIBBBBBBBb32x")
PARAMETERS = struct.Struct("=IIII")
MASKS, MOST_WORDS = 3, 127


def link_settings(name: str) -> tuple[int, int, int]:
    """Speed (Mbit/s, 0xffffffff for none), duplex, autonegotiation as the kernel's numbers; raises OSError.

    The kernel first says how long its masks of link modes are, and answers when there is room for them.
    """
    words = -SETTINGS.unpack_from(_call(name, SETTINGS.pack(GLINKSETTINGS, *[0] * 9)))[-1]
    if not 0 < words <= MOST_WORDS:
        raise OSError(f"the kernel names {words} words of link modes")
    asked = SETTINGS.pack(GLINKSETTINGS, *[0] * 8, words) + bytes(4 * MASKS * words)
    _command, speed, duplex, _port, _phy, autoneg, *_rest = SETTINGS.unpack_from(_call(name, asked))
    return speed, duplex, autoneg


def active_fec(name: str) -> int:
    """The bits of the active encodings; raises OSError."""
    return int(PARAMETERS.unpack_from(_call(name, PARAMETERS.pack(GFECPARAM, 0, 0, 0)))[1])


def pause(name: str) -> tuple[int, int]:
    """Whether global pause frames are obeyed, and sent; raises OSError."""
    _command, _auto, receive, send = PARAMETERS.unpack_from(_call(name, PARAMETERS.pack(GPAUSEPARAM, 0, 0, 0)))
    return receive, send


def _call(name: str, command: bytes) -> bytes:
    """What the kernel writes over `command`; raises OSError, ValueError for a name that is none."""
    encoded = name.encode()
    if not encoded or len(encoded) >= NAME_SIZE:
        raise ValueError(f"not an interface name: {name!r}")
    data = array("B", command)
    request = struct.pack(f"{NAME_SIZE}sP16x", encoded, data.buffer_info()[0])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as wire:
        fcntl.ioctl(wire, SIOCETHTOOL, request)
    return data.tobytes()
